/**
 * What expressions can name: variables, functions, macros and types. An environment is immutable; `extend` makes one that knows
 * more, as cheaply as what it adds.
 */
import { check, type Declarations } from './checker.ts';
import { ConstantError, compileChecked } from './compiler.ts';
import type { FunctionDeclaration, Library, Macro, Overload } from './functions.ts';
import { type Issue, Issues, Source } from './issues.ts';
import { checkLiterals } from './literal-checks.ts';
import { macroKey, parse } from './parser.ts';
import { Program } from './program.ts';
import { standardLibrary } from './standard-library.ts';
import { type CelType, typeOf } from './types.ts';

export interface EnvironmentOptions {
  readonly libraries?: readonly Library[];
  readonly variables?: Readonly<Record<string, CelType>>;
  /** Object types that expressions may write out (`Object{...}`), by name. */
  readonly objectType?: (name: string) => CelType | undefined;
}

/** A program, or what is wrong: `text` for people, `issues` by place. */
export type Compilation =
  | { readonly program: Program }
  | {
      readonly program: undefined;
      readonly text: string;
      readonly issues: readonly Issue[];
      /** Whether the expression is well formed, but bound to fail (`int('x')`). */
      readonly failsAlways: boolean;
    };

interface Known {
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly macros: ReadonlyMap<string, Macro>;
  readonly types: ReadonlyMap<string, CelType>;
  readonly objectType: ((name: string) => CelType | undefined) | undefined;
}

const nothing: Known = {
  variables: new Map(),
  functions: new Map(),
  macros: new Map(),
  types: new Map(),
  objectType: undefined,
};

export class Environment implements Declarations {
  readonly #known: Known;

  private constructor(known: Known) {
    this.#known = known;
  }

  /** With the standard library, and whatever `options` adds. */
  static standard(options: EnvironmentOptions = {}): Environment {
    const { libraries = [] } = options;
    return new Environment(nothing).extend({ ...options, libraries: [standardLibrary(), ...libraries] });
  }

  extend({ libraries = [], variables = {}, objectType }: EnvironmentOptions): Environment {
    const known = { ...this.#known, objectType: objectType ?? this.#known.objectType };
    if (Object.keys(variables).length > 0) {
      known.variables = new Map([...known.variables, ...Object.entries(variables)]);
    }
    if (libraries.length > 0) {
      known.functions = withFunctions(known.functions, libraries);
      const macros = libraries.flatMap((library) => library.macros ?? []);
      const keyed = macros.map((macro) => [macroKey(macro.name, macro.member, macro.argumentCount), macro] as const);
      known.macros = new Map([...known.macros, ...keyed]);
      const types = libraries.flatMap((library) => library.types ?? []);
      known.types = new Map([...known.types, ...types.map((type) => [type.name, type] as const)]);
    }
    return new Environment(known);
  }

  identifier(name: string): CelType | undefined {
    const { variables, types, objectType } = this.#known;
    const variable = variables.get(name);
    if (variable) return variable;
    const type = types.get(name) ?? objectType?.(name);
    return type && typeOf(type);
  }

  function(name: string): FunctionDeclaration | undefined {
    return this.#known.functions.get(name);
  }

  objectType(name: string): CelType | undefined {
    const named = this.#known.types.get(name);
    return named?.kind === 'object' && named.field ? named : this.#known.objectType?.(name);
  }

  compile(text: string): Compilation {
    const source = new Source(text);
    const issues = new Issues(source);
    const expression = parse(source, this.#known.macros, issues);
    if (!expression) return failure(issues);
    const checked = check(expression, this, issues);
    if (issues.count === 0) checkLiterals(expression, issues);
    if (issues.count > 0) return failure(issues);
    const names = {
      type: (name: string) => this.#known.types.get(name) ?? this.#known.objectType?.(name),
      variable: (name: string) => this.#known.variables.get(name),
    };
    try {
      return { program: new Program(checked, compileChecked(checked, names)) };
    } catch (error) {
      if (!(error instanceof ConstantError)) throw error;
      return { program: undefined, text: error.message, issues: [], failsAlways: true };
    }
  }
}

const failure = (issues: Issues): Compilation => ({
  program: undefined,
  text: issues.toString(),
  issues: issues.list(),
  failsAlways: false,
});

/** Overloads of one function may come from several libraries. */
function withFunctions(
  known: ReadonlyMap<string, FunctionDeclaration>,
  libraries: readonly Library[],
): ReadonlyMap<string, FunctionDeclaration> {
  const functions = new Map(known);
  for (const added of libraries.flatMap((library) => library.functions ?? [])) {
    const before = functions.get(added.name);
    functions.set(added.name, before ? { ...before, ...added, overloads: merged(before.overloads, added) } : added);
  }
  return functions;
}

function merged(before: readonly Overload[], { overloads }: FunctionDeclaration): readonly Overload[] {
  const replaced = new Set(overloads.map(({ id }) => id));
  return [...before.filter(({ id }) => !replaced.has(id)), ...overloads];
}

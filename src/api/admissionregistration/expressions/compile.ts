/**
 * Compiling the expressions of webhooks and admission policies: the variables they know, the types they must give, and what is wrong with
 * them in upstream's words. The same for validation, which refuses what does not compile, and for admission, which runs it.
 */

import {
  boolType,
  type CelType,
  dynType,
  type Environment,
  listOf,
  mapOf,
  nullType,
  objectType,
  type Program,
  sameType,
  stringType,
} from '../../../apimachinery/cel/index.ts';
import {
  applyConfigurationType,
  jsonPatchType,
  mutationOptions,
} from '../../../apimachinery/cel/kubernetes/mutation-types.ts';
import { authorizerType, resourceCheckType } from '../../../apimachinery/cel/library/authorization.ts';
import { baseEnvironment } from '../../../apimachinery/cel/library/environment.ts';
import { type FieldError, type FieldPath, invalid } from '../../../apimachinery/field-error.ts';
import { namespaceType, requestType } from './types.ts';

export interface Scope {
  /** Whether there are parameters. */
  readonly params: boolean;
  readonly authorizer: boolean;
  /** Whether patches can be written out. */
  readonly patches?: boolean;
}

export interface VariableTypes {
  readonly [name: string]: CelType;
}

/** What an expression may give; any value when absent. */
export type ResultTypes = readonly CelType[] | undefined;

export const conditionResult: ResultTypes = [boolType];
export const messageResult: ResultTypes = [stringType];
export const annotationResult: ResultTypes = [stringType, nullType];
export const applyResult: ResultTypes = [applyConfigurationType];
export const jsonPatchResult: ResultTypes = [listOf(jsonPatchType)];

export type CompiledExpression = { readonly text: string; readonly type: CelType | undefined } & (
  | { readonly program: Program; readonly problem?: undefined }
  | { readonly program?: undefined; readonly problem: string }
);

/** What is wrong with an expression; `value` where it was not compiled as it stands there. */
export function expressionErrors(at: FieldPath, { problem, text }: CompiledExpression, value = text): FieldError[] {
  return problem === undefined ? [] : [invalid(at, value, problem)];
}

/** Without variables of the policy's own. */
export function compileExpression(text: string, scope: Scope, results: ResultTypes): CompiledExpression {
  return compileIn(environmentOf(scope), text, results);
}

export interface Compiler {
  compile(text: string, scope: Scope, results: ResultTypes): CompiledExpression;
}

/**
 * The compiler of one policy, whose variables may use those before them (`variables.name`). Variables come first, then everything
 * else.
 */
export class PolicyCompiler implements Compiler {
  /** In their order. */
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly #variables = new Map<string, CompiledExpression>();
  readonly #type: CelType;
  readonly #types: VariableTypes;

  /** `types`: of what is dynamic otherwise. */
  constructor(types: VariableTypes = {}) {
    this.#types = types;
    this.variables = this.#variables;
    this.#type = objectType('kubernetes.variables', {
      field: (name) => {
        const variable = this.#variables.get(name);
        return variable && { type: selectable(variable.type) };
      },
    });
  }

  addVariable(name: string, text: string, scope: Scope): CompiledExpression {
    const compiled = this.compile(text, scope, undefined);
    this.#variables.set(name, compiled);
    return compiled;
  }

  compile(text: string, scope: Scope, results: ResultTypes): CompiledExpression {
    return compileIn(this.#environment(scope), text, results);
  }

  /** What is wrong with an expression, whatever it gives; undefined for nothing. */
  check(text: string, scope: Scope): string | undefined {
    const compiled = this.#environment(scope).compile(text);
    return compiled.program ? undefined : compiled.text;
  }

  #environment(scope: Scope): Environment {
    return environmentOf(scope).extend({ variables: { ...this.#types, variables: this.#type } });
  }
}

function compileIn(environment: Environment, text: string, results: ResultTypes): CompiledExpression {
  const compiled = environment.compile(text);
  if (!compiled.program) {
    const stage = compiled.failsAlways ? 'program instantiation failed' : 'compilation failed';
    return { text, type: undefined, problem: `${stage}: ${compiled.text}` };
  }
  const { program } = compiled;
  const { resultType: type } = program;
  if (results === undefined || results.some((result) => sameType(result, type))) return { text, type, program };
  const wanted =
    results.length === 1
      ? `must evaluate to ${typeText(results[0]!)}`
      : `must evaluate to one of [${results.map(typeText).join(' ')}]`;
  return { text, type: undefined, problem: `${wanted} but got ${typeText(type)}` };
}

/** A type by its name at run time, unlike in the checker's messages. */
function typeText({ name, parameters }: CelType): string {
  return parameters.length === 0 ? name : `${name}(${parameters.map(typeText).join(', ')})`;
}

/** Of what a variable gives, expressions know scalars and what holds them; anything else could be anything. */
function selectable(type: CelType | undefined): CelType {
  switch (type?.kind) {
    case 'bool':
    case 'bytes':
    case 'double':
    case 'duration':
    case 'int':
    case 'null':
    case 'string':
    case 'timestamp':
    case 'uint':
      return type;
    case 'list':
      return listOf(selectable(type.parameters[0]));
    case 'map':
      return mapOf(selectable(type.parameters[0]), selectable(type.parameters[1]));
    default:
      return dynType;
  }
}

function environmentOf({ params, authorizer, patches = false }: Scope): Environment {
  if (!params && !authorizer && !patches) return knownEnvironment();
  return knownEnvironment().extend({
    variables: {
      ...(params ? { params: dynType } : {}),
      ...(authorizer ? { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType } : {}),
    },
    ...(patches ? mutationOptions : {}),
  });
}

const knownEnvironment: () => Environment = once(() =>
  baseEnvironment('stored').extend({
    variables: { object: dynType, oldObject: dynType, request: requestType, namespaceObject: namespaceType },
  }),
);

function once<T>(compute: () => T): () => T {
  let memo: { readonly value: T } | undefined;
  return () => {
    memo ??= { value: compute() };
    return memo.value;
  };
}

/**
 * Turns a checked expression into closures, one per node, so that evaluating walks no tree and asks no node for its kind.
 *
 * What an evaluation costs is part of this contract, for budgets are upstream's: constants (literals, and lists, maps and
 * conversions of constants, which are worked out here) are free; an identifier and each select from it costs one, except where the
 * chain is a branch of `?:` or an index, whose root is free; lists cost 10, maps 30, objects 40; calls what they declare; `&&`, `||`,
 * `?:` and loops nothing but their parts.
 */

import type { Call, Comprehension, Expression, ListLiteral, MapLiteral, ObjectLiteral, Select } from './ast.ts';
import { followLinks, type Link } from './attributes.ts';
import { callWith, dispatch } from './calls.ts';
import type { Checked, ResolvedCall } from './checker.ts';
import {
  both,
  either,
  fill,
  fold,
  type Local,
  notStrictlyFalse,
  optionalList,
  orElse,
  plainList,
  readLocal,
  readVariable,
} from './evaluation.ts';
import type { Evaluate } from './frame.ts';
import { LiteralMap } from './literal-values.ts';
import { equal } from './operators.ts';
import { costs } from './ranges.ts';
import { compilePattern } from './regular-expressions.ts';
import type { CelType } from './types.ts';
import {
  ArrayList,
  CelError,
  CelList,
  type CelResult,
  CelUint,
  type CelValue,
  isCelError,
  noSuchOverload,
} from './values.ts';

/** A node, compiled. */
interface Step {
  readonly evaluate: Evaluate;
  /** The value, where it is known now. */
  readonly constant?: CelValue;
  /** Set for identifiers and for what selects and indices hang on. */
  readonly chain?: Chain;
}

interface Chain {
  readonly root: Evaluate;
  readonly links: readonly Link[];
  /** What the root costs on its own: nothing where it is a `?:`. */
  readonly rootCost: 0 | 1;
}

/** Thrown for what can only fail, such as `duration('x')`: the expression makes no program. */
export class ConstantError extends Error {}

export interface Code {
  readonly evaluate: Evaluate;
  readonly slots: { readonly variables: number; readonly locals: number };
}

export interface Names {
  /** The type named, if it is one. */
  type(name: string): CelType | undefined;
  /** The type of a variable. */
  variable(name: string): CelType | undefined;
}

export function compileChecked(checked: Checked, names: Names): Code {
  const compiler = new Compiler(checked, names);
  const { evaluate } = compiler.compile(checked.expression);
  return { evaluate, slots: compiler.slots };
}

const constant = (value: CelValue): Step => ({ constant: value, evaluate: () => value });

const conversions: ReadonlySet<string> = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
);

class Compiler {
  readonly #checked: Checked;
  readonly #names: Names;
  readonly #variables = new Map<string, number>();
  #scopes: ReadonlyMap<string, Local>[] = [];
  #locals = 0;

  constructor(checked: Checked, names: Names) {
    this.#checked = checked;
    this.#names = names;
  }

  get slots(): Code['slots'] {
    return { variables: this.#variables.size, locals: this.#locals };
  }

  compile(expression: Expression): Step {
    switch (expression.kind) {
      case 'literal':
        return constant(expression.value);
      case 'identifier':
        return this.#identifier(this.#checked.names.get(expression.id) ?? expression.name);
      case 'select':
        return this.#select(expression);
      case 'call':
        return this.#call(expression, this.#checked.calls.get(expression.id)!);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'object':
        return this.#object(expression);
      case 'comprehension':
        return this.#comprehension(expression);
    }
  }

  #identifier(name: string): Step {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const local = this.#scopes[i]!.get(name);
      if (local) return chainStep({ root: readLocal(local), links: [], rootCost: 1 });
    }
    const type = this.#names.variable(name);
    if (!type) return constant(this.#names.type(name)!);
    const slot = this.#variables.get(name) ?? this.#variables.size;
    this.#variables.set(name, slot);
    return chainStep({ root: readVariable(name, type, slot), links: [], rootCost: 1 });
  }

  #select(expression: Select): Step {
    const name = this.#checked.names.get(expression.id);
    if (name !== undefined) return this.#identifier(name);
    const operand = this.compile(expression.operand);
    return extended(operand, { key: expression.field, optional: false, testOnly: expression.testOnly });
  }

  #call(expression: Call, resolved: ResolvedCall): Step {
    const { name, args } = expression;
    switch (name) {
      case '_&&_':
        return { evaluate: both(this.compile(args[0]!).evaluate, this.compile(args[1]!).evaluate) };
      case '_||_':
        return { evaluate: either(this.compile(args[0]!).evaluate, this.compile(args[1]!).evaluate) };
      case '_?_:_':
        return this.#conditional(args);
      case '_[_]':
      case '_[?_]':
        return this.#index(args, name === '_[?_]');
      case '_?._': {
        const [, field] = args;
        const key = field?.kind === 'literal' ? field.value : '';
        return extended(this.compile(args[0]!), { key, optional: true, testOnly: false });
      }
      case '@not_strictly_false':
        return { evaluate: notStrictlyFalse(this.compile(args[0]!).evaluate) };
    }
    return this.#ordinaryCall(resolved, [...(resolved.target ? [resolved.target] : []), ...args]);
  }

  #ordinaryCall(resolved: ResolvedCall, args: readonly Expression[]): Step {
    const [only] = resolved.overloads.length === 1 ? resolved.overloads : [];
    const steps = args.map((arg) => this.compile(arg));
    if (resolved.name === 'or' && isOverload(resolved, 'optional_or_optional')) {
      return { evaluate: orElse(steps[0]!.evaluate, steps[1]!.evaluate, (optional) => optional) };
    }
    if (resolved.name === 'orValue' && isOverload(resolved, 'optional_orValue_value')) {
      return { evaluate: orElse(steps[0]!.evaluate, steps[1]!.evaluate, ({ value }) => value!) };
    }
    if (only?.id === 'in_list' && steps[1]!.constant instanceof CelList) {
      const step = membership(steps[0]!.evaluate, steps[1]!.constant);
      if (step) return step;
    }
    if (steps.length === 1 && steps[0]!.constant !== undefined && conversions.has(resolved.name)) {
      const value = dispatch(resolved)([steps[0]!.constant]);
      if (isCelError(value)) throw new ConstantError(value.message);
      return constant(value);
    }
    const pattern = steps[1]?.constant;
    if (resolved.name === 'matches' && typeof pattern === 'string') return this.#matches(resolved, steps, pattern);
    if ((resolved.name === 'find' || resolved.name === 'findAll') && typeof pattern === 'string') {
      const compiled = compilePattern(pattern);
      if (compiled instanceof CelError) throw new ConstantError(compiled.message);
    }
    const evaluates = steps.map(({ evaluate }) => evaluate);
    return { evaluate: callWith(resolved, evaluates) };
  }

  #matches(resolved: ResolvedCall, steps: readonly Step[], pattern: string): Step {
    const compiled = compilePattern(pattern);
    if (compiled instanceof CelError) throw new ConstantError(compiled.message);
    const call = (text: string) => compiled.matcher(text).find();
    const overloads = resolved.overloads.map((overload) => ({ ...overload, call }));
    return {
      evaluate: callWith(
        { ...resolved, overloads },
        steps.map(({ evaluate }) => evaluate),
      ),
    };
  }

  #conditional(args: readonly Expression[]): Step {
    const [condition, whenTrue, whenFalse] = args.map((arg) => this.compile(arg));
    const test = condition!.evaluate;
    const yes = withoutRootCost(whenTrue!);
    const no = withoutRootCost(whenFalse!);
    const root: Evaluate = (frame) => {
      const holds = test(frame);
      if (holds === true) return yes(frame);
      if (holds === false) return no(frame);
      return isCelError(holds) ? holds : noSuchOverload();
    };
    return chainStep({ root, links: [], rootCost: 0 });
  }

  #index(args: readonly Expression[], optional: boolean): Step {
    const operand = this.compile(args[0]!);
    const index = this.compile(args[1]!);
    const key = index.constant === undefined ? withoutRootCost(index) : index.constant;
    return extended(operand, { key, optional, testOnly: false });
  }

  #list({ elements, optionals }: ListLiteral): Step {
    const steps = elements.map((element) => this.compile(element));
    const constants = steps.map((step) => step.constant);
    if (optionals.length === 0 && constants.every((value) => value !== undefined)) {
      return constant(new ArrayList(constants));
    }
    const evaluates = steps.map(({ evaluate }) => evaluate);
    const optional = new Set(optionals);
    return {
      evaluate: (frame) => {
        const result = optional.size === 0 ? plainList(frame, evaluates) : optionalList(frame, evaluates, optional);
        frame.spend(costs.list);
        return result;
      },
    };
  }

  #map({ entries }: MapLiteral): Step {
    const steps = entries.map(({ key, value, optional }) => ({
      key: this.compile(key),
      value: this.compile(value),
      optional,
    }));
    const evaluates = steps.map(({ key, value, optional }) => ({
      key: key.evaluate,
      value: value.evaluate,
      optional,
    }));
    const isConstant = steps.every((entry) => entry.key.constant !== undefined && entry.value.constant !== undefined);
    const evaluate: Evaluate = (frame) => {
      const result = fill(frame, new LiteralMap(), evaluates);
      frame.spend(costs.map);
      return result;
    };
    if (!isConstant || steps.some(({ optional }) => optional)) return { evaluate };
    const map = new LiteralMap();
    for (const { key, value } of steps) {
      const error = map.set(key.constant!, value.constant!);
      if (error) return { evaluate };
    }
    return constant(map);
  }

  #object({ id, fields }: ObjectLiteral): Step {
    const type = this.#checked.types.get(id);
    const steps = fields.map(({ name, value, optional }) => ({
      key: () => name,
      value: this.compile(value).evaluate,
      optional,
    }));
    return {
      evaluate: (frame) => {
        const result = fill(frame, new LiteralMap(type), steps);
        frame.spend(costs.object);
        return result;
      },
    };
  }

  #comprehension(loop: Comprehension): Step {
    const range = this.compile(loop.range).evaluate;
    const initial = this.compile(loop.initial);
    const accumulator: Local = { slot: this.#locals++, initial: initial.evaluate };
    const first = this.#locals++;
    const second = loop.variable2 === undefined ? undefined : this.#locals++;
    this.#scopes.push(new Map([[loop.accumulator, accumulator]]));
    const variables = new Map<string, Local>([[loop.variable, { slot: first }]]);
    if (second !== undefined) variables.set(loop.variable2!, { slot: second });
    this.#scopes.push(variables);
    const condition = this.compile(loop.condition);
    const step = this.compile(loop.step).evaluate;
    this.#scopes.pop();
    const result = this.compile(loop.result).evaluate;
    this.#scopes.pop();
    const proceed = condition.constant === true ? undefined : condition.evaluate;
    const slots = { accumulator: accumulator.slot, first, second };
    return { evaluate: fold({ range, proceed, step, result, slots }) };
  }
}

const isOverload = ({ overloads }: ResolvedCall, id: string) => overloads.some((overload) => overload.id === id);

function chainStep(chain: Chain): Step {
  const value = chain.links.length === 0 ? chain.root : followLinks(chain.root, chain.links);
  const isTest = chain.links.at(-1)?.testOnly ?? false;
  if (chain.rootCost === 0 || isTest) return { evaluate: value, chain };
  const evaluate: Evaluate = (frame) => {
    const result = value(frame);
    frame.spend(costs.selectOrIdentifier);
    return result;
  };
  return { evaluate, chain };
}

/** A chain by one link more; what is no chain yet becomes the root of one. */
function extended(operand: Step, link: Link): Step {
  const isTest = operand.chain?.links.at(-1)?.testOnly ?? false;
  const chain = operand.chain && !isTest ? operand.chain : { root: operand.evaluate, links: [], rootCost: 1 as const };
  return chainStep({ ...chain, links: [...chain.links, link] });
}

const withoutRootCost = ({ chain, evaluate }: Step): Evaluate =>
  chain ? chainStep({ ...chain, rootCost: 0 }).evaluate : evaluate;

/** `x in [constants]`, which is free; undefined where the list holds what has no simple equality. */
function membership(element: Evaluate, list: CelList): Step | undefined {
  if (list.size === 0) return constant(false);
  const texts = new Set<CelResult>();
  const others: CelValue[] = [];
  for (let i = 0; i < list.size; i++) {
    const item = list.at(i);
    if (typeof item === 'string') texts.add(item);
    else if (item === null || (typeof item === 'object' && !(item instanceof CelUint))) return undefined;
    else others.push(item);
  }
  const evaluate: Evaluate = (frame) => {
    const value = element(frame);
    if (isCelError(value) || texts.has(value)) return isCelError(value) ? value : true;
    return typeof value !== 'string' && others.some((other) => equal(value, other) === true);
  };
  return { evaluate };
}

/**
 * What an expression may cost, before any value is known: a range from the sizes that the caller's declarations allow. The figures
 * are upstream's, for a rule is refused by its estimate.
 *
 * Worked example: `self.names.all(n, n.size() < 10)` where `names` has at most 5 elements costs 2 to reach the list, 1 for the
 * result, and 5 times the condition (2) and the step (4): at most 33.
 */
import {
  accumulatorName,
  type Call,
  type Comprehension,
  type Expression,
  type ListLiteral,
  type MapLiteral,
} from './ast.ts';
import type { Checked, ResolvedCall } from './checker.ts';
import type { CallEstimate, EstimatedCall, EstimatedNode, Overload } from './functions.ts';
import { costs, fixed, plus, times, unbounded, union, unknownRange } from './ranges.ts';
import { codePointCount } from './strings.ts';
import { type CelType, dynType, isOptionalType, type SizeRange } from './types.ts';

/** The sizes that declarations allow, by path (`['self', 'names', '@items']`) and type; undefined where nothing is declared. */
export type DeclaredSizes = (node: EstimatedNode) => SizeRange | undefined;

export function estimateCost(checked: Checked, declaredSizes: DeclaredSizes): SizeRange {
  return new Estimator(checked, declaredSizes).cost(checked.expression);
}

/** The sizes of what a list or map holds. */
interface EntrySize {
  readonly kind: 'list' | 'map';
  readonly key: SizeRange;
  readonly value: SizeRange;
}

interface LocalVariable {
  readonly path: readonly string[] | undefined;
  readonly size: SizeRange | undefined;
  readonly entrySize: EntrySize | undefined;
}

const nothing = fixed(0);
const one = fixed(1);
/** Where union begins. */
const neverYet: SizeRange = { min: unbounded, max: 0 };
const isLogical = (name: string) => name === '_&&_' || name === '_||_';

class Estimator {
  readonly #checked: Checked;
  readonly #declaredSizes: DeclaredSizes;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, SizeRange>();
  readonly #entrySizes = new Map<number, EntrySize>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: Checked, declaredSizes: DeclaredSizes) {
    this.#checked = checked;
    this.#declaredSizes = declaredSizes;
  }

  cost(expression: Expression): SizeRange {
    switch (expression.kind) {
      case 'literal':
        return nothing;
      case 'identifier':
        return this.#named(expression, expression.name);
      case 'select': {
        const name = this.#checked.names.get(expression.id);
        if (name !== undefined) return this.#named(expression, name);
        const operand = this.cost(expression.operand);
        if (expression.testOnly) return operand;
        this.#paths.set(expression.id, [...this.#path(expression.operand), expression.field]);
        const { kind } = this.#type(expression.operand);
        return kind === 'map' || kind === 'object' || kind === 'parameter' ? plus(operand, one) : operand;
      }
      case 'call':
        return this.#call(expression);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'object':
        return expression.fields.reduce((sum, { value }) => plus(sum, this.cost(value)), fixed(costs.object));
      case 'comprehension':
        return isBinding(expression) ? this.#binding(expression) : this.#loop(expression);
    }
  }

  #named(expression: Expression, name: string): SizeRange {
    const local = this.#local(name);
    this.#paths.set(expression.id, local ? (local.path ?? []) : [name]);
    return one;
  }

  #type(expression: Expression): CelType {
    return this.#checked.types.get(expression.id) ?? dynType;
  }

  #path(expression: Expression): readonly string[] {
    if (expression.kind === 'identifier') {
      const local = this.#local(expression.name);
      if (local) return local.path ?? [];
    }
    return this.#paths.get(expression.id) ?? [];
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #bind(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name) ?? [];
    stack.push(variable);
    this.#locals.set(name, stack);
  }

  #unbind(name: string): void {
    this.#locals.get(name)?.pop();
  }

  /** As functions' estimates see it; accumulators come from nowhere that is declared. */
  #node(expression: Expression): EstimatedNode {
    const path = this.#path(expression);
    const known = path.length > 0 && path[0] !== accumulatorName ? path : undefined;
    return { path: known, type: this.#type(expression), expression, size: this.#size(expression) };
  }

  #size(expression: Expression): SizeRange | undefined {
    const computed = this.#sizes.get(expression.id) ?? literalSize(expression);
    if (computed) return computed;
    const type = this.#type(expression);
    const path = this.#path(expression);
    // What comes from nowhere has no path, least of all that of everything.
    const known = path.length > 0 ? path : undefined;
    const declared = this.#declaredSizes({ path: known, type, expression, size: undefined });
    if (declared) {
      this.#sizes.set(expression.id, declared);
      return declared;
    }
    if (isScalar(type)) return one;
    return expression.kind === 'identifier' ? this.#local(expression.name)?.size : undefined;
  }

  #sizeOrUnknown(expression: Expression): SizeRange {
    return this.#size(expression) ?? unknownRange;
  }

  #entrySize(expression: Expression): EntrySize | undefined {
    const known = this.#entrySizes.get(expression.id);
    if (known || expression.kind !== 'identifier') return known;
    return this.#local(expression.name)?.entrySize;
  }

  #call(expression: Call): SizeRange {
    const { id, name, args } = expression;
    if (name === 'dyn') {
      const cost = plus(this.cost(args[0]!), one);
      this.#copySizes(expression, args[0]!);
      return cost;
    }
    const resolved = this.#checked.calls.get(id);
    const argCosts = args.map((arg) => this.cost(arg));
    if (!resolved) return nothing;
    const targetCost = resolved.target ? this.cost(resolved.target) : nothing;
    let cost = neverYet;
    let resultSize: SizeRange | undefined;
    for (const overload of resolved.overloads) {
      const estimate = this.#overload(expression, resolved, overload, argCosts);
      cost = union(cost, estimate.cost);
      if (estimate.resultSize) resultSize = resultSize ? union(resultSize, estimate.resultSize) : estimate.resultSize;
      if (overload.id === 'index_list' || overload.id === 'index_map') {
        resultSize = this.#entrySize(args[0]!)?.value;
        const inside = overload.id === 'index_list' ? '@items' : '@values';
        this.#paths.set(id, [...this.#path(args[0]!), inside]);
      }
      resultSize ??= this.#size(expression);
    }
    if (resultSize) this.#sizes.set(id, resultSize);
    return plus(targetCost, cost);
  }

  #overload(
    expression: Call,
    { name, target, declaration }: ResolvedCall,
    overload: Overload,
    argCosts: readonly SizeRange[],
  ): CallEstimate {
    const { args } = expression;
    const sum = argCosts.reduce(plus, nothing);
    if (isLogical(name)) return { cost: { min: argCosts[0]!.min, max: sum.max } };
    if (name === '_?_:_') return this.#conditional(expression, argCosts);
    if (overload.id === 'add_list') this.#joinEntrySizes(expression);
    const call: EstimatedCall = {
      target: target && this.#node(target),
      args: args.map((arg) => this.#node(arg)),
      sizeOf: (node) => node.size ?? this.#declaredSizes(node) ?? unknownRange,
      elementsOf,
    };
    const estimate = this.#equality(name, call) ??
      overload.estimate?.(call) ??
      declaration.estimate?.(call) ?? { cost: one };
    return { ...estimate, cost: plus(estimate.cost, sum) };
  }

  /** Types whose equality is not a matter of sizes say so. */
  #equality(name: string, { args }: EstimatedCall): CallEstimate | undefined {
    const [left, right] = args;
    if (name !== '_==_' || left!.type.name !== right!.type.name) return undefined;
    const { equality } = left!.type;
    if (!equality) return undefined;
    return { cost: equality.estimate?.({ left: left!.size, right: right!.size }) ?? one };
  }

  #conditional(expression: Call, [condition, whenTrue, whenFalse]: readonly SizeRange[]): CallEstimate {
    const [, yes, no] = expression.args;
    const resultSize = union(this.#sizeOrUnknown(yes!), this.#sizeOrUnknown(no!));
    const entrySize = joined(this.#entrySize(yes!), this.#entrySize(no!));
    if (entrySize) this.#entrySizes.set(expression.id, entrySize);
    return { cost: plus(condition!, union(whenTrue!, whenFalse!)), resultSize };
  }

  #joinEntrySizes({ id, args }: Call): void {
    const entrySize = joined(this.#entrySize(args[0]!), this.#entrySize(args[1]!));
    if (entrySize) this.#entrySizes.set(id, entrySize);
  }

  #list({ id, elements }: ListLiteral): SizeRange {
    let sum = fixed(costs.list);
    let value = elements.length === 0 ? nothing : neverYet;
    for (const element of elements) {
      sum = plus(sum, this.cost(element));
      value = union(value, this.#sizeOrUnknown(element));
    }
    this.#entrySizes.set(id, { kind: 'list', key: one, value });
    return sum;
  }

  #map({ id, entries }: MapLiteral): SizeRange {
    let sum = fixed(costs.map);
    let key = entries.length === 0 ? nothing : neverYet;
    let value = key;
    for (const entry of entries) {
      sum = plus(plus(sum, this.cost(entry.key)), this.cost(entry.value));
      key = union(key, this.#sizeOrUnknown(entry.key));
      value = union(value, this.#sizeOrUnknown(entry.value));
    }
    this.#entrySizes.set(id, { kind: 'map', key, value });
    return sum;
  }

  #loop(loop: Comprehension): SizeRange {
    const { range, initial, variable, variable2 } = loop;
    let sum = plus(this.cost(range), this.cost(initial));
    this.#bindTo(loop.accumulator, initial);
    const entrySize = this.#entrySize(range);
    const kind = entrySize?.kind ?? this.#type(range).kind;
    const path = this.#path(range);
    const key = { path: [...path, kind === 'list' ? '@indices' : '@keys'], size: entrySize?.key, entrySize: undefined };
    const value = {
      path: [...path, kind === 'list' ? '@items' : '@values'],
      size: entrySize?.value,
      entrySize: undefined,
    };
    this.#bind(variable, variable2 !== undefined || kind !== 'list' ? key : value);
    if (variable2 !== undefined) this.#bind(variable2, value);
    const each = plus(this.cost(loop.condition), this.cost(loop.step));
    this.#unbind(variable);
    if (variable2 !== undefined) this.#unbind(variable2);
    sum = plus(sum, this.cost(loop.result));
    this.#unbind(loop.accumulator);
    const count = this.#sizeOrUnknown(range);
    if (initial.kind === 'literal') this.#sizes.set(loop.id, this.#sizeOrUnknown(initial));
    else if (initial.kind === 'list' || initial.kind === 'map') {
      this.#sizes.set(loop.id, count);
      const held = this.#entrySize(loop.step);
      if (held) this.#entrySizes.set(loop.id, held);
    }
    return plus(sum, times(count, each));
  }

  #binding(loop: Comprehension): SizeRange {
    const begun = plus(this.cost(loop.range), this.cost(loop.initial));
    this.#bindTo(loop.accumulator, loop.initial);
    const sum = plus(begun, this.cost(loop.result));
    this.#unbind(loop.accumulator);
    this.#copySizes(loop, loop.result);
    return sum;
  }

  #bindTo(name: string, expression: Expression): void {
    this.#bind(name, {
      path: this.#path(expression),
      size: this.#size(expression),
      entrySize: this.#entrySize(expression),
    });
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#size(from);
    if (size) this.#sizes.set(to.id, size);
    const entrySize = this.#entrySize(from);
    if (entrySize) this.#entrySizes.set(to.id, entrySize);
  }
}

/** A loop that never runs, but names a value. */
function isBinding({ range, condition, accumulator }: Comprehension): boolean {
  const never = condition.kind === 'literal' && condition.value === false;
  return never && range.kind === 'list' && range.elements.length === 0 && accumulator !== accumulatorName;
}

function joined(left: EntrySize | undefined, right: EntrySize | undefined): EntrySize | undefined {
  if (!left || !right) return undefined;
  return { kind: left.kind, key: union(left.key, right.key), value: union(left.value, right.value) };
}

function literalSize(expression: Expression): SizeRange | undefined {
  if (expression.kind === 'list') return fixed(expression.elements.length);
  if (expression.kind === 'map') return fixed(expression.entries.length);
  if (expression.kind !== 'literal') return undefined;
  const { value } = expression;
  if (typeof value === 'string') return fixed(codePointCount(value));
  return fixed(value instanceof Uint8Array ? value.length : 1);
}

const scalars: ReadonlySet<string> = new Set('bool double duration int timestamp uint'.split(' '));

const isScalar = (type: CelType): boolean =>
  isOptionalType(type) ? isScalar(type.parameters[0]!) : scalars.has(type.kind);

/** A list's elements, or a map's keys. */
function elementsOf({ path, type }: EstimatedNode): EstimatedNode | undefined {
  const [element] = type.parameters;
  if (!element) return undefined;
  return { path: path && [...path, '@items'], type: element, expression: undefined, size: undefined };
}

/**
 * What cel-go adds to lists (`ext.Lists`, version 3): `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `reverse`, `lists.range`.
 * Costs are counted after a call, so what a call could do before it is refused is bounded here: a range is not written out, and
 * comparing each with each is not begun where no budget would pay for it.
 */
import { accumulatorName, unusedVariableName } from '../ast.ts';
import { typeOfValue } from '../conversions.ts';
import {
  ArrayList,
  type CallEstimate,
  CelError,
  CelList,
  type CelResult,
  type CelValue,
  costs,
  type EstimatedNode,
  type Expression,
  type ExpressionBuilder,
  type FunctionDeclaration,
  fixed,
  intType,
  isCelError,
  type Library,
  listOf,
  listType,
  type Macro,
  MacroError,
  type Overload,
  plus,
  type SizeRange,
  scaled,
  sizeForCost,
  times,
  typeParameter,
  unbounded,
} from '../index.ts';
import { compare, equal } from '../operators.ts';
import { beyondBudget, firstOf, overBudget } from './call-costs.ts';
import { orderedTypes } from './lists.ts';

const anyList = listOf(typeParameter('T'));

export const listExtension: Library = {
  macros: [sortByMacro()],
  functions: [
    {
      name: 'slice',
      overloads: [member('list_slice', [anyList, intType, intType], slice)],
      cost: (_, result) => allocating(sizeForCost(result)),
      estimate: (call) => {
        const start = literalOr(call.args[0]!, 0);
        const end = literalOr(call.args[1]!, call.sizeOf(firstOf(call)).max);
        return allocatingEstimate(fixed(Math.max(end - start, 0)));
      },
    },
    {
      name: 'flatten',
      overloads: [
        member('list_flatten', [listOf(anyList)], (list: CelList) => flattened(list, 1n)),
        member('list_flatten_int', [listType, intType], flattened, listType),
      ],
      cost: ([list, depth]) => allocating(sizeForCost(list!), depth === undefined ? 1 : Number(depth)),
      estimate: (call) => {
        const depth = call.args[0] ? literalOr(call.args[0], unbounded) : 1;
        return allocatingEstimate(call.sizeOf(firstOf(call)), depth);
      },
    },
    sorting(),
    sortingByKeys(),
    {
      name: 'lists.range',
      overloads: [
        { id: 'lists_range', parameters: [intType], result: listOf(intType), call: (n: bigint) => new Range(n) },
      ],
      cost: (_, result) => allocating(sizeForCost(result)),
      estimate: ({ args }) => allocatingEstimate(fixed(literalOr(args[0]!, unbounded))),
    },
    {
      name: 'reverse',
      overloads: [member('list_reverse', [anyList], reversed)],
      cost: (_, result) => allocating(sizeForCost(result)),
      estimate: (call) => allocatingEstimate(call.sizeOf(firstOf(call))),
    },
    {
      name: 'distinct',
      overloads: [member('list_distinct', [anyList], distinct)],
      cost: ([list]) => comparing(list as CelList),
      estimate: (call) => {
        const size = call.sizeOf(firstOf(call));
        return allocatingEstimate(times(size, size), 2);
      },
    },
  ],
};

function member(id: string, parameters: Overload['parameters'], call: Overload['call'], result = anyList): Overload {
  return { id, member: true, parameters, result, call };
}

const allocating = (size: number, factor = 1) => Math.floor(size * factor) + 1 + costs.list;

const allocatingEstimate = (size: SizeRange, factor = 1): CallEstimate => ({
  cost: plus(scaled(size, factor), fixed(1 + costs.list)),
  resultSize: size,
});

/** Each element with each: twice the square, and a little more for texts. */
function comparing(list: CelList): number {
  const first = list.size === 0 ? undefined : list.at(0);
  const walked = typeof first === 'string' || first instanceof Uint8Array;
  return allocating(list.size * list.size, walked ? 2 + costs.traversal : 2);
}

/** The number that stands in the source, zero if it is negative; `otherwise` where none does. */
function literalOr(node: EstimatedNode, otherwise: number): number {
  const { expression } = node;
  if (expression?.kind !== 'literal' || typeof expression.value !== 'bigint') return otherwise;
  return expression.value < 0n ? 0 : Number(expression.value);
}

function slice(list: CelList, start: bigint, end: bigint): CelResult {
  const wanted = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) return new CelError(`${wanted}, negative indexes not supported`);
  if (start > end) return new CelError(`${wanted}, start index must be less than or equal to end index`);
  if (BigInt(list.size) < end) return new CelError(`${wanted}, list is length ${list.size}`);
  return rearranged(list, Number(start), Number(end), (index) => index);
}

function reversed(list: CelList): CelResult {
  return rearranged(list, 0, list.size, (index) => list.size - 1 - index);
}

/** Positions `start` to `end` of a list whose elements are taken from where `from` says. */
function rearranged(list: CelList, start: number, end: number, from: (index: number) => number): CelResult {
  const elements: CelValue[] = [];
  for (let i = start; i < end; i++) {
    const element = list.at(from(i));
    if (isCelError(element)) return element;
    elements.push(element);
  }
  return new ArrayList(elements);
}

function flattened(list: CelList, depth: bigint): CelResult {
  if (depth < 0n) return new CelError('level must be non-negative');
  const elements: CelValue[] = [];
  const fault = collect(list, depth, elements);
  return fault ?? new ArrayList(elements);
}

function collect(list: CelList, depth: bigint, into: CelValue[]): CelError | undefined {
  for (let i = 0; i < list.size; i++) {
    const element = list.at(i);
    if (isCelError(element)) return element;
    if (beyondBudget(into.length)) return overBudget();
    if (!(element instanceof CelList) || depth === 0n) into.push(element);
    else {
      const fault = collect(element, depth - 1n, into);
      if (fault) return fault;
    }
  }
  return undefined;
}

function distinct(list: CelList): CelResult {
  if (list.size === 0) return list;
  if (beyondBudget(list.size * list.size)) return overBudget();
  const elements: CelValue[] = [];
  for (let i = 0; i < list.size; i++) {
    const element = list.at(i);
    if (isCelError(element)) return element;
    if (!elements.some((other) => equal(element, other) === true)) elements.push(element);
  }
  return new ArrayList(elements);
}

/** The numbers from 0 up to but without n, none of them kept in memory. */
class Range extends CelList {
  override readonly type = listOf(intType);
  readonly size: number;
  constructor(end: bigint) {
    super();
    this.size = end < 0n ? 0 : Number(end);
  }
  at(index: number): CelResult {
    return BigInt(index);
  }
}

function sorting(): FunctionDeclaration {
  return {
    name: 'sort',
    overloads: orderedTypes.map(([, type]) => ({
      ...member(`list_${type.name}_sort`, [listOf(type)], (list: CelList) => sortedBy(list, list), listOf(type)),
      estimate: (call) => sortingEstimate(call.sizeOf(firstOf(call)), type.kind),
    })),
    cost: ([list]) => comparing(list as CelList),
  };
}

function sortingByKeys(): FunctionDeclaration {
  return {
    name: '@sortByAssociatedKeys',
    overloads: orderedTypes.map(([, type]) => ({
      ...member(`list_${type.name}_sortByAssociatedKeys`, [anyList, listOf(type)], sortedBy),
      estimate: (call) => sortingEstimate(call.sizeOf(call.args[0]!), type.kind),
    })),
    cost: ([, keys]) => comparing(keys as CelList),
  };
}

function sortingEstimate(size: SizeRange, kind: string): CallEstimate {
  const walked = kind === 'string' || kind === 'bytes';
  return allocatingEstimate(times(size, size), walked ? 2 + costs.traversal : 2);
}

/** The elements in the order of their keys, which are all of one type. */
function sortedBy(list: CelList, keys: CelList): CelResult {
  if (list.size !== keys.size) {
    return new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.size} and ${keys.size} elements respectively`,
    );
  }
  const keyed: CelValue[] = [];
  for (let i = 0; i < keys.size; i++) {
    const key = keys.at(i);
    if (isCelError(key)) return key;
    keyed.push(key);
  }
  if (keyed.some((key) => typeOfValue(key).name !== typeOfValue(keyed[0]!).name)) {
    return new CelError('list elements must have the same type');
  }
  if (keyed.length > 0 && isCelError(compare(keyed[0]!, keyed[0]!))) {
    return new CelError('list elements must be comparable');
  }
  const order = keyed.map((_, index) => index);
  order.sort((left, right) => {
    const found = compare(keyed[left]!, keyed[right]!);
    return isCelError(found) ? 0 : found;
  });
  return rearranged(list, 0, list.size, (index) => order[index]!);
}

const sortedKinds: ReadonlySet<Expression['kind']> = new Set(['list', 'select', 'identifier', 'comprehension', 'call']);
const inputName = '@__sortBy_input__';

/** `list.sortBy(e, key)` binds the list once, maps it to its keys, and sorts by them. */
function sortByMacro(): Macro {
  return {
    name: 'sortBy',
    member: true,
    argumentCount: 2,
    expand(build, [variable, key], target) {
      if (!sortedKinds.has(target.kind)) {
        const words = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression';
        return new MacroError(target, words);
      }
      if (variable?.kind !== 'identifier') return new MacroError(variable!, 'argument is not an identifier');
      const sorted = build.memberCall(
        '@sortByAssociatedKeys',
        build.identifier(inputName),
        keysOf(build, variable.name, key!),
      );
      return build.comprehension({
        range: build.list(),
        variable: unusedVariableName,
        accumulator: inputName,
        initial: target,
        condition: build.literal(false),
        step: build.identifier(inputName),
        result: sorted,
      });
    },
  };
}

function keysOf(build: ExpressionBuilder, variable: string, key: Expression): Expression {
  return build.comprehension({
    range: build.identifier(inputName),
    variable,
    accumulator: accumulatorName,
    initial: build.list(),
    condition: build.literal(true),
    step: build.call('_+_', build.accumulator(), build.list(key)),
    result: build.accumulator(),
  });
}

/**
 * The shapes that costs of library functions come in. A function states its cost twice: what a call did cost, and what a call may
 * cost at most as far as sizes are known before it runs; both are upstream's figures, for a policy that fits its budget there must
 * fit it here.
 */
import {
  type CallEstimate,
  CelError,
  CelList,
  CelMap,
  type CelResult,
  costs,
  type EstimatedCall,
  type EstimatedNode,
  type FunctionDeclaration,
  fixed,
  plus,
  type SizeRange,
  scaled,
  sizeForCost,
  times,
} from '../index.ts';

export type CallCosts = Required<Pick<FunctionDeclaration, 'cost' | 'estimate'>>;

/** The same for every call. */
export const constantCost = (cost: number): CallCosts => ({
  cost: () => cost,
  estimate: () => ({ cost: fixed(cost) }),
});

export const unitCost: CallCosts = constantCost(1);

/** `passes` walks over the first value of a call, its target if it has one. */
export function walkCost(passes = 1, resultSize?: (walked: SizeRange) => SizeRange): CallCosts {
  const factor = passes * costs.traversal;
  return {
    cost: ([first]) => Math.ceil(sizeForCost(first!) * factor),
    estimate: (call) => {
      const size = call.sizeOf(firstOf(call));
      return withResultSize(scaled(size, factor), resultSize?.(size));
    },
  };
}

/** The value that a call is about. */
export const firstOf = (call: EstimatedCall): EstimatedNode => call.target ?? call.args[0]!;

const withResultSize = (cost: SizeRange, resultSize: SizeRange | undefined): CallEstimate =>
  resultSize ? { cost, resultSize } : { cost };

/** One walk over a list: each element costs one, and a text or bytes its length besides; a text is walked once. */
export const elementsCost: CallCosts = {
  cost: ([first]) => deepTraversalCost(first!),
  estimate: (call) => {
    const node = firstOf(call);
    const size = call.sizeOf(node);
    const element = call.elementsOf(node);
    if (!element) return { cost: scaled(size, costs.traversal) };
    const hasLength = element.type.kind === 'string' || element.type.kind === 'bytes';
    const each = hasLength ? plus(fixed(1), scaled(call.sizeOf(element), costs.traversal)) : fixed(1);
    return { cost: times(size, each) };
  },
};

/**
 * Work beyond this costs more than any budget of the API allows, so it is not begun: costs are otherwise counted after a call,
 * and a list that holds another many times over is small to build and endless to walk.
 */
const greatestBudget = 10_000_000;

export const beyondBudget = (work: number): boolean => work > greatestBudget;
export const overBudget = (): CelError => new CelError('operation cancelled: actual cost limit exceeded');

/** A walk over a value and all that it holds, texts measured in bytes; it ends where no budget would pay for more. */
function deepTraversalCost(value: CelResult): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * costs.traversal);
  if (value instanceof Uint8Array) return Math.floor(value.length * costs.traversal);
  let cost = 0;
  if (value instanceof CelList) {
    for (let i = 0; i < value.size && !beyondBudget(cost); i++) cost += deepTraversalCost(value.at(i));
    return cost;
  }
  if (value instanceof CelMap) {
    for (const key of value.keys()) {
      cost += deepTraversalCost(key) + deepTraversalCost(value.get(key)!);
      if (beyondBudget(cost)) break;
    }
    return cost;
  }
  return 1;
}

/** A regular expression over a text: the one's length times the other's. */
export const regexCost: CallCosts = {
  cost: ([text, pattern]) =>
    Math.ceil((1 + sizeForCost(text!)) * costs.traversal) * Math.ceil(sizeForCost(pattern!) * costs.regex),
  estimate: (call) => {
    const text = call.sizeOf(call.target!);
    const walk = scaled(plus(text, fixed(1)), costs.traversal);
    const pattern = scaled(call.sizeOf(call.args[0]!), costs.regex);
    return { cost: times(walk, pattern), resultSize: { min: 0, max: text.max } };
  },
};

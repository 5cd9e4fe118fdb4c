/**
 * `list + list`, which macros do once per element. A list that grows by little is given room to grow in: all stages of its growth
 * share one array, and each sees as many elements as it had. Long lists are not copied at all, for `x + x` costs one unit
 * however long `x` is.
 *
 *     const one = joined([a], [b]);   // array: a b
 *     const two = joined(one, [c]);   // array: a b c; `one` still has two elements
 *     const other = joined(one, [d]); // `one` is not the newest stage: an array of its own
 */
import { CelError, CelList, type CelResult } from './values.ts';

/** What is shorter is copied. */
const copied = 32;
/** Lists joined deeper than this are copied into one. */
const deepest = 64;
/** More than any request holds; without a bound, `x + x` often enough makes a list that nothing gets to the end of. */
const longest = 5_000_000;

export function joined(left: CelList, right: CelList): CelList | CelError {
  if (left.size === 0) return right;
  if (right.size === 0) return left;
  if (right.size <= copied && left instanceof GrowingList) return left.with(right);
  if (right.size <= copied && left.size <= copied) return GrowingList.of(left).with(right);
  if (left.size + right.size > longest) return new CelError(`list is longer than ${longest} elements`);
  const depth = 1 + Math.max(depthOf(left), depthOf(right));
  return depth > deepest ? GrowingList.of(left).with(right) : new JoinedList(left, right, depth);
}

class GrowingList extends CelList {
  readonly size: number;
  readonly #elements: CelResult[];

  private constructor(elements: CelResult[], size: number) {
    super();
    this.#elements = elements;
    this.size = size;
  }

  static of(list: CelList): GrowingList {
    const elements = Array.from({ length: list.size }, (_, index) => list.at(index));
    return new GrowingList(elements, elements.length);
  }

  with(more: CelList): GrowingList {
    const isNewest = this.size === this.#elements.length;
    const elements = isNewest ? this.#elements : this.#elements.slice(0, this.size);
    for (let i = 0; i < more.size; i++) elements.push(more.at(i));
    return new GrowingList(elements, this.size + more.size);
  }

  at(index: number): CelResult {
    return this.#elements[index]!;
  }
}

class JoinedList extends CelList {
  readonly size: number;
  readonly depth: number;
  readonly #left: CelList;
  readonly #right: CelList;

  constructor(left: CelList, right: CelList, depth: number) {
    super();
    this.#left = left;
    this.#right = right;
    this.depth = depth;
    this.size = left.size + right.size;
  }

  at(index: number): CelResult {
    return index < this.#left.size ? this.#left.at(index) : this.#right.at(index - this.#left.size);
  }
}

const depthOf = (list: CelList) => (list instanceof JoinedList ? list.depth : 0);

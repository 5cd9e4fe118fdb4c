/**
 * A map from strings to values that keeps its keys in order and answers "how many between" and "visit those between" fast.
 * It is a B+ tree of two levels: a list of leaves, each with up to `leafCapacity` keys in order. A million keys are some
 * thousand leaves, so the upper level is one small array, and a lookup is two binary searches.
 *
 * Worked example with a capacity of 4, after inserting a..f:  leaves [a b] [c d e f];  inserting "cc" splits the second one:
 * [a b] [c cc] [d e f]. Removing a and b drops the first leaf.
 *
 * Order is that of JavaScript's `<` (UTF-16 code units). Whoever needs another one maps the keys first.
 */

const leafCapacity = 512;

interface Leaf<V> {
  readonly keys: string[];
  readonly values: V[];
}

export class SortedMap<V> {
  #leaves: Leaf<V>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const leaf = this.#leaves[this.#leafOf(key)];
    if (!leaf) return undefined;
    const slot = lowerBound(leaf.keys, key);
    return leaf.keys[slot] === key ? leaf.values[slot] : undefined;
  }

  set(key: string, value: V): void {
    const index = this.#leafOf(key);
    const leaf = this.#leaves[index];
    if (!leaf) {
      this.#leaves.push({ keys: [key], values: [value] });
      this.#size = 1;
      return;
    }
    const slot = lowerBound(leaf.keys, key);
    if (leaf.keys[slot] === key) {
      leaf.values[slot] = value;
      return;
    }
    leaf.keys.splice(slot, 0, key);
    leaf.values.splice(slot, 0, value);
    this.#size++;
    if (leaf.keys.length > leafCapacity) this.#split(index, leaf);
  }

  delete(key: string): boolean {
    const index = this.#leafOf(key);
    const leaf = this.#leaves[index];
    if (!leaf) return false;
    const slot = lowerBound(leaf.keys, key);
    if (leaf.keys[slot] !== key) return false;
    leaf.keys.splice(slot, 1);
    leaf.values.splice(slot, 1);
    this.#size--;
    if (leaf.keys.length === 0) this.#leaves.splice(index, 1);
    else this.#mergeSmall(index, leaf);
    return true;
  }

  /** How many keys are >= start and < end. */
  countBetween(start: string, end: string): number {
    if (!(start < end) || this.#leaves.length === 0) return 0;
    const first = this.#leafOf(start);
    const last = this.#leafOf(end);
    let count = lowerBound(this.#leaves[last]!.keys, end) - lowerBound(this.#leaves[first]!.keys, start);
    for (let index = first; index < last; index++) count += this.#leaves[index]!.keys.length;
    return count;
  }

  /**
   * Visits the values of keys >= start and < end in order, until `visit` returns false. The map must not be changed meanwhile.
   */
  visitBetween(start: string, end: string, visit: (value: V, key: string) => boolean | undefined): void {
    if (!(start < end)) return;
    let index = this.#leafOf(start);
    let leaf = this.#leaves[index];
    let slot = leaf ? lowerBound(leaf.keys, start) : 0;
    for (; leaf; leaf = this.#leaves[++index], slot = 0) {
      const { keys, values } = leaf;
      // Comparing each key with the end would take longer than all else.
      const isLast = keys.at(-1)! >= end;
      const stop = isLast ? lowerBound(keys, end) : keys.length;
      for (; slot < stop; slot++) if (visit(values[slot]!, keys[slot]!) === false) return;
      if (isLast) return;
    }
  }

  /** The leaf that holds `key` or would take it: the last whose first key is <= key, else the first. */
  #leafOf(key: string): number {
    let low = 0;
    let high = this.#leaves.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#leaves[middle]!.keys[0]! <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Keys often arrive in rising order: so the last leaf is split near its end and stays nearly full. */
  #split(index: number, leaf: Leaf<V>): void {
    const isLast = index === this.#leaves.length - 1;
    const at = isLast ? Math.floor(leafCapacity * 0.9) : leafCapacity >>> 1;
    this.#leaves.splice(index + 1, 0, { keys: leaf.keys.splice(at), values: leaf.values.splice(at) });
  }

  /** Keeps leaves from withering to a key each after many removals. */
  #mergeSmall(index: number, leaf: Leaf<V>): void {
    const next = this.#leaves[index + 1];
    if (!next || leaf.keys.length + next.keys.length > leafCapacity >>> 1) return;
    leaf.keys.push(...next.keys);
    leaf.values.push(...next.values);
    this.#leaves.splice(index + 1, 1);
  }
}

/** The first slot whose key is >= key. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

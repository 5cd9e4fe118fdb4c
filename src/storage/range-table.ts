/**
 * Finds, for a key, all ranges that contain it without asking each range. The bounds of all ranges cut the line of keys into
 * segments; each segment knows the ranges that cover it; a lookup is one binary search.
 *
 *   ranges  A [a, m)  B [c, e)      segments  [a, c) A   [c, e) A B   [e, m) A   [m, ...) none
 *
 * The segments are built anew on the first lookup after a change: ranges come and go seldom, lookups are per event.
 */

interface Range<T> {
  readonly start: string;
  readonly end: string;
  readonly item: T;
}

export class RangeTable<T> {
  readonly #ranges = new Map<T, Range<T>>();
  #bounds: string[] | undefined;
  #covering: T[][] = [];

  get size(): number {
    return this.#ranges.size;
  }

  items(): Iterable<T> {
    return this.#ranges.keys();
  }

  add(start: string, end: string, item: T): void {
    this.#ranges.set(item, { start, end, item });
    this.#bounds = undefined;
  }

  delete(item: T): void {
    if (this.#ranges.delete(item)) this.#bounds = undefined;
  }

  /** The items whose range contains `key`, in the order they were added. */
  find(key: string): readonly T[] {
    const bounds = this.#bounds ?? this.#build();
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (bounds[middle]! <= key) low = middle + 1;
      else high = middle;
    }
    return this.#covering[low - 1] ?? [];
  }

  #build(): string[] {
    const ranges = [...this.#ranges.values()].filter(({ start, end }) => start < end);
    const bounds = [...new Set(ranges.flatMap(({ start, end }) => [start, end]))].sort((a, b) => (a < b ? -1 : 1));
    const positions = new Map(bounds.map((bound, position) => [bound, position]));
    this.#covering = bounds.map(() => []);
    for (const { start, end, item } of ranges) {
      for (let at = positions.get(start)!; at < positions.get(end)!; at++) this.#covering[at]!.push(item);
    }
    this.#bounds = bounds;
    return bounds;
  }
}

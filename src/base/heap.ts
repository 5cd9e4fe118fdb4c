/**
 * A binary heap that knows each item by a key: the least item first, and any item found, replaced or removed in O(log n). Items
 * that compare equal come out in no particular order, so an order that matters must be part of `before`.
 */
export class KeyedHeap<T> {
  readonly #keyOf: (item: T) => string;
  readonly #before: (a: T, b: T) => boolean;
  readonly #items: T[] = [];
  readonly #positions = new Map<string, number>();

  constructor(keyOf: (item: T) => string, before: (a: T, b: T) => boolean) {
    this.#keyOf = keyOf;
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  get(key: string): T | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#items[position];
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item, in place of another of the same key. */
  set(item: T): void {
    const key = this.#keyOf(item);
    let position = this.#positions.get(key);
    if (position === undefined) {
      position = this.#items.length;
      this.#items.push(item);
      this.#positions.set(key, position);
    } else this.#items[position] = item;
    this.#settle(position);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(this.#keyOf(first));
    return first;
  }

  remove(key: string): T | undefined {
    const position = this.#positions.get(key);
    if (position === undefined) return undefined;
    const item = this.#items[position]!;
    const last = this.#items.pop()!;
    this.#positions.delete(key);
    if (position < this.#items.length) {
      this.#items[position] = last;
      this.#positions.set(this.#keyOf(last), position);
      this.#settle(position);
    }
    return item;
  }

  /** In no particular order. */
  values(): Iterable<T> {
    return this.#items;
  }

  #settle(start: number): void {
    let position = start;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (!this.#before(this.#items[position]!, this.#items[parent]!)) break;
      this.#swap(position, parent);
      position = parent;
    }
    for (;;) {
      const left = 2 * position + 1;
      const right = left + 1;
      let least = position;
      if (left < this.#items.length && this.#before(this.#items[left]!, this.#items[least]!)) least = left;
      if (right < this.#items.length && this.#before(this.#items[right]!, this.#items[least]!)) least = right;
      if (least === position) return;
      this.#swap(position, least);
      position = least;
    }
  }

  #swap(a: number, b: number): void {
    const itemA = this.#items[a]!;
    const itemB = this.#items[b]!;
    this.#items[a] = itemB;
    this.#items[b] = itemA;
    this.#positions.set(this.#keyOf(itemB), a);
    this.#positions.set(this.#keyOf(itemA), b);
  }
}

/**
 * Which fields of a type have to be looked at for one value: those it has, and those that are there without being given, in the order of the
 * table. A Pod's types have hundreds of fields, of which a Pod has some dozens, so the value's own keys are looked up, not the table's.
 *
 *     table a b c d e, of which c is always there;  value { d, a, x }  ->  a c d
 */

export interface Placed<F> {
  readonly field: F;
  /** In the table. */
  readonly position: number;
  readonly always: boolean;
}

export class FieldWalk<F extends { readonly name: string }> {
  readonly #byName: ReadonlyMap<string, Placed<F>>;
  readonly #always: readonly Placed<F>[];

  /** `isAlways`: whether the field matters also where the value does not have it. */
  constructor(fields: readonly F[], isAlways: (field: F) => boolean) {
    const placed = fields.map((field, position) => ({ field, position, always: isAlways(field) }));
    this.#byName = new Map(placed.map((place) => [place.field.name, place]));
    this.#always = placed.filter(({ always }) => always);
  }

  of(value: object): readonly Placed<F>[] {
    const found: Placed<F>[] = [];
    let given = 0;
    let last = -1;
    let inOrder = true;
    for (const name in value) {
      const place = this.#byName.get(name);
      if (place === undefined) continue;
      if (place.always) given++;
      if (place.position < last) inOrder = false;
      last = place.position;
      found.push(place);
    }
    if (given < this.#always.length) {
      for (const place of this.#always) if (!Object.hasOwn(value, place.field.name)) found.push(place);
      inOrder = false;
    }
    if (!inOrder) found.sort(byPosition);
    return found;
  }
}

function byPosition(a: Placed<unknown>, b: Placed<unknown>): number {
  return a.position - b.position;
}

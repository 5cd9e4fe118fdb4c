/**
 * Objects of one making have the same fields: the Pods of a ReplicaSet differ in what these say. Their owners' field sets are
 * kept once and shared, which spares half the memory of a small object and the time to move it about. Holds the last set seen of
 * each manager and kind, and never more than a bounded number.
 */
import type { FieldSet } from '../../apimachinery/managed-fields/field-set.ts';
import { reconciledFields } from '../../apimachinery/managed-fields/schema-change.ts';
import type { Shape } from '../../apimachinery/managed-fields/shape.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';

const capacity = 2000;

export class FieldSetPool {
  readonly #sets = new Map<string, FieldSet>();
  /** Sets in which nothing has to be reconciled with this shape. */
  readonly #current = new WeakMap<FieldSet, Shape>();

  /** An equal set, frozen: the one last seen under this key, or the given one from now on. */
  share(key: string, fields: FieldSet): FieldSet {
    if (Object.isFrozen(fields)) return fields;
    const known = this.#sets.get(key);
    if (known !== undefined && jsonEqual(known, fields)) return known;
    if (this.#sets.size >= capacity) this.#sets.clear();
    this.#sets.set(key, deepFreeze(fields));
    return fields;
  }

  /** `reconciledFields`, once for each shared set. */
  readonly reconciled = (shape: Shape, fields: FieldSet): FieldSet => {
    if (this.#current.get(fields) === shape) return fields;
    const now = reconciledFields(shape, fields);
    if (now !== fields || !Object.isFrozen(fields)) return now;
    this.#current.set(fields, shape);
    return fields;
  };
}

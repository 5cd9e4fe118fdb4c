/**
 * Objects of one making: the Pods of a ReplicaSet differ in little more than their names. What they have in common is kept once and shared,
 * which spares half the memory of a small object and the time to move it about, and what was found out about it need not be found out again.
 * Both pools hold the last that was seen of each making, and never more than a bounded number.
 */
import type { FieldSet } from '../../apimachinery/managed-fields/field-set.ts';
import { reconciledFields } from '../../apimachinery/managed-fields/schema-change.ts';
import type { Shape } from '../../apimachinery/managed-fields/shape.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { deepFreeze, shareEqualParts } from '../../base/deep-freeze.ts';
import type { StoredKind } from '../served-resource.ts';
import type { StandingObject } from '../watch-cache/member-bytes.ts';

const capacity = 2000;
/** What all sets that are kept may weigh together: a usual one weighs less than a hundred, and a client may make one of a million fields. */
const mostWeight = 200_000;

/** The owners' field sets: equal in what they say, whatever the objects say. */
export class FieldSetPool {
  readonly #sets = new Map<string, { readonly fields: FieldSet; readonly weight: number }>();
  #weight = 0;
  /** Sets in which nothing has to be reconciled with this shape. */
  readonly #current = new WeakMap<FieldSet, Shape>();

  /** An equal set: the one last seen under this key, or the given one, from now on and frozen where it is not too large to be kept. */
  share(key: string, fields: FieldSet): FieldSet {
    if (Object.isFrozen(fields)) return fields;
    const known = this.#sets.get(key);
    if (known !== undefined && jsonEqual(known.fields, fields)) return known.fields;
    const weight = weightOf([key, fields]);
    if (weight <= heaviest) this.#keep(key, { fields: deepFreeze(fields), weight });
    return fields;
  }

  #keep(key: string, kept: { readonly fields: FieldSet; readonly weight: number }): void {
    this.#weight -= this.#sets.get(key)?.weight ?? 0;
    if (this.#sets.size >= capacity || this.#weight + kept.weight > mostWeight) {
      this.#sets.clear();
      this.#weight = 0;
    }
    this.#sets.set(key, kept);
    this.#weight += kept.weight;
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

/** A spec with which an object was created. */
export interface KnownSpec {
  readonly spec: object;
  /** What beside the spec the rules looked at when they found it valid (`KindBehaviour.validates`). */
  readonly beside: unknown;
  /** Whether its client was warned of something. */
  readonly warned: boolean;
  /** The object and its bytes, where the store has some. */
  readonly standing: StandingObject | undefined;
}

type Specified = KubeObject & { spec?: object };

const specCapacity = 250;
/** A uid that the server gave is shorter; what a client calls one may be of any length, and is held as long as what is kept under it. */
const longestUid = 64;
/** What is larger is not kept: many of it would be too much for nothing. In values, and of a whole object in bytes. */
const heaviest = 4000;
const mostBytes = 64 * 1024;

/**
 * Specs of new objects, of kinds that say what their rules look at, after admission and all that fills in: one that says the same as the last of
 * its making becomes the very same, is validated, frozen and encoded once, and lies once in memory.
 */
export class SpecPool {
  readonly #known = new Map<string, KnownSpec>();

  /** The spec known to be good which this object's is from now on; undefined where it has another. Nobody may change the object after this. */
  share(kind: StoredKind, object: KubeObject): KnownSpec | undefined {
    const key = keyOf(kind, object);
    const known = key === undefined ? undefined : this.#known.get(key);
    const specified = object as Specified;
    if (!known || !specified.spec) return undefined;
    specified.spec = shareEqualParts(specified.spec, known.spec);
    return specified.spec === known.spec ? known : undefined;
  }

  /** After the object was created: what is stored is frozen. */
  keep(kind: StoredKind, object: KubeObject, found: Omit<KnownSpec, 'spec'>): void {
    const key = keyOf(kind, object);
    const { spec } = object as Specified;
    if (key === undefined || !spec || !Object.isFrozen(spec) || weightOf([spec, found.beside]) > heaviest) return;
    if (this.#known.size >= specCapacity) this.#known.clear();
    const standing = (found.standing?.encoded.bytes.length ?? 0) > mostBytes ? undefined : found.standing;
    this.#known.set(key, { ...found, spec, standing });
  }
}

/** Undefined for an object of which others say nothing. */
function keyOf({ name, behaviour }: StoredKind, object: KubeObject): string | undefined {
  if (behaviour.validates === undefined || behaviour.validatesName?.(object)) return undefined;
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller);
  const { uid = '' } = owner ?? {};
  return uid.length > longestUid ? undefined : `${name}\0${object.metadata.namespace ?? ''}\0${uid}`;
}

/** How many values there are, long strings and long names counted as several; stops where it is too many. */
function weightOf(value: unknown, limit = heaviest): number {
  if (typeof value === 'string') return 1 + (value.length >> 5);
  if (typeof value !== 'object' || value === null) return 1;
  let weight = 1;
  for (const key in value) {
    weight += key.length >> 5;
    weight += weightOf((value as Readonly<Record<string, unknown>>)[key], limit - weight);
    if (weight > limit) break;
  }
  return weight;
}

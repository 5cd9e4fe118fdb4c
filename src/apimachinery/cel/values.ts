/**
 * What an expression's values are in JavaScript:
 *
 * | CEL                | here                                                                      |
 * |--------------------|---------------------------------------------------------------------------|
 * | null, bool, string | `null`, `boolean`, `string` (sizes and indices count code points)          |
 * | int, uint          | `bigint` within 64 bits, `CelUint`                                         |
 * | double             | `number`                                                                  |
 * | bytes              | `Uint8Array`                                                              |
 * | list, map, object  | `CelList`, `CelMap`: abstract, so that JSON is read only where it is touched |
 * | timestamp          | `CelTimestamp`                                                            |
 * | duration           | `CelDuration`                                                             |
 * | type               | `CelType`                                                                 |
 * | optional           | `CelOptional`                                                             |
 * | anything else      | a subclass of `CelOpaque`                                                 |
 *
 * An error is a value too (`CelError`), never thrown: `false && error` is false, and throwing costs more than the
 * rest of a typical evaluation. A function receives no errors (unless it is declared lenient) and may return one.
 * Values are immutable.
 */
import { type CelType, listType, mapType } from './types.ts';

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelType
  | CelList
  | CelMap
  | CelOptional
  | CelOpaque;

/** What evaluating gives. */
export type CelResult = CelValue | CelError;

export class CelError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export const isCelError = (result: CelResult): result is CelError => result instanceof CelError;

export const noSuchOverload = (): CelError => new CelError('no such overload');

export class CelUint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** A moment between the years 1 and 9999, to the nanosecond. */
export class CelTimestamp {
  /** Seconds since 1970, negative before. */
  readonly seconds: number;
  /** 0 to 999,999,999, counted forward from `seconds`. */
  readonly nanos: number;
  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

/** A span of time in nanoseconds, within 64 bits. */
export class CelDuration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/**
 * A list. Subclasses with a meaning of their own for equality or `+` (a set, a list of objects keyed by a field)
 * override `equals` and `concat`; both sides of `==` are asked only on the left.
 */
export abstract class CelList {
  readonly type: CelType = listType;
  abstract readonly size: number;
  /** The element at `index`, which is within [0, size). */
  abstract at(index: number): CelResult;

  /** Overrides equality; undefined leaves it to the comparison element by element. */
  equals?(other: CelList): CelResult;
  /** Overrides `this + other`. */
  concat?(other: CelList): CelResult;
}

export type CelMapKey = boolean | bigint | string | CelUint;

/** A map, or an object with fields. Keys of different numeric types that are equal are the same key. */
export abstract class CelMap {
  readonly type: CelType = mapType;
  abstract readonly size: number;
  /** The value under `key`, undefined if there is none. Any value may be asked for. */
  abstract get(key: CelValue): CelResult | undefined;
  /** Whether `key` is there, without reading its value. */
  abstract has(key: CelValue): boolean;
  abstract keys(): Iterable<CelMapKey>;

  /** Overrides equality, asked on the left; undefined leaves it to the comparison key by key. */
  equals?(other: CelMap): CelResult;
}

/** `optional.of(value)`, or `optional.none()` where value is undefined. */
export class CelOptional {
  static readonly none: CelOptional = new CelOptional(undefined);
  readonly value: CelValue | undefined;
  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

/** A value that only functions look into. */
export abstract class CelOpaque {
  abstract readonly type: CelType;
  /** Asked only with a value of the same type's name. */
  abstract equals(other: CelOpaque): boolean;
  /** What `size(x)` counts for the purpose of cost; 1 if absent. */
  sizeForCost?(): number;
}

/** A list that was built by an expression or a function. */
export class ArrayList extends CelList {
  readonly elements: readonly CelValue[];
  constructor(elements: readonly CelValue[]) {
    super();
    this.elements = elements;
  }
  get size(): number {
    return this.elements.length;
  }
  at(index: number): CelValue {
    return this.elements[index]!;
  }
}

export const emptyList: CelList = new ArrayList([]);

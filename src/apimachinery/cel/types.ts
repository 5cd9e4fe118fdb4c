/**
 * The types of the Common Expression Language, as the checker infers them and as an expression sees them in `type(x)`.
 *
 * A type is immutable and compared by structure (`sameType`). Objects know their fields through a lookup, so that a
 * schema is turned into types only as far as expressions reach into it, and a recursive schema stays finite. How types
 * are inferred is the checker's business (`unification.ts`), how JSON is read under a type is `adapt.ts`'s.
 */
import type { CelResult } from './values.ts';

export type CelKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'object'
  | 'opaque'
  | 'parameter'
  | 'string'
  | 'timestamp'
  | 'type'
  | 'uint';

/** A field as an expression names it. `property` is its name in JSON, where that differs (`__namespace__`: `namespace`). */
export interface ObjectField {
  readonly type: CelType;
  readonly property?: string;
}

/** What `==` costs between values of a type where that is not a matter of their sizes. */
export interface EqualityCost {
  readonly atRunTime: number;
  /** The estimate given the sizes of both sides, or undefined for {min: 1, max: 1}. */
  readonly estimate?: (sizes: { left: SizeRange | undefined; right: SizeRange | undefined }) => SizeRange;
}

/** An inclusive range of sizes or costs; 2^64 stands for "unbounded". */
export interface SizeRange {
  readonly min: number;
  readonly max: number;
}

export interface TypeDetails {
  readonly parameters?: readonly CelType[];
  /** Declared fields of an object type; absent on an object type whose fields no expression may select. */
  readonly field?: (name: string) => ObjectField | undefined;
  /** Reads JSON that was declared to be of this type, in place of the default reading of its kind. */
  readonly adapt?: (json: unknown) => CelResult;
  readonly equality?: EqualityCost;
}

export class CelType {
  readonly kind: CelKind;
  /** The name at run time: `int`, `list`, `google.protobuf.Timestamp`, `net.IP`. */
  readonly name: string;
  readonly parameters: readonly CelType[];
  readonly field: ((name: string) => ObjectField | undefined) | undefined;
  readonly adapt: ((json: unknown) => CelResult) | undefined;
  readonly equality: EqualityCost | undefined;

  constructor(kind: CelKind, name: string, details: TypeDetails = {}) {
    this.kind = kind;
    this.name = name;
    this.parameters = details.parameters ?? [];
    this.field = details.field;
    this.adapt = details.adapt;
    this.equality = details.equality;
  }

  /** As messages print it: `map(string, list(int))`. */
  toString(): string {
    if (this.kind === 'timestamp' || this.kind === 'duration' || this.kind === 'null') return this.kind;
    if (this.kind === 'error') return '!error!';
    if (this.parameters.length === 0) return this.name;
    return `${this.name}(${this.parameters.join(', ')})`;
  }
}

/** Goes with everything as `dyn` does, but no loop runs over it. */
export const anyType = new CelType('dyn', 'any');
export const boolType = new CelType('bool', 'bool');
export const bytesType = new CelType('bytes', 'bytes');
export const doubleType = new CelType('double', 'double');
export const durationType = new CelType('duration', 'google.protobuf.Duration');
export const dynType = new CelType('dyn', 'dyn');
export const errorType = new CelType('error', '!error!');
export const intType = new CelType('int', 'int');
export const nullType = new CelType('null', 'null_type');
export const stringType = new CelType('string', 'string');
export const timestampType = new CelType('timestamp', 'google.protobuf.Timestamp');
export const typeType = new CelType('type', 'type');
export const uintType = new CelType('uint', 'uint');

export const listOf = (element: CelType, details: TypeDetails = {}): CelType =>
  new CelType('list', 'list', { ...details, parameters: [element] });

export const mapOf = (key: CelType, value: CelType, details: TypeDetails = {}): CelType =>
  new CelType('map', 'map', { ...details, parameters: [key, value] });

/** The type of a type: `type(1)` is a `type(int)`. */
export const typeOf = (type: CelType): CelType => new CelType('type', 'type', { parameters: [type] });

/** A type whose values only functions look into (`net.IP`, or `optional_type(int)` with a parameter). */
export const opaqueType = (name: string, details: TypeDetails = {}): CelType => new CelType('opaque', name, details);

/** A type with named fields; without `field` no expression can select any (`kubernetes.Quantity`). */
export const objectType = (name: string, details: TypeDetails = {}): CelType => new CelType('object', name, details);

/** A type variable in a function's declaration (`T` in `list(T).first() -> T`). */
export const typeParameter = (name: string): CelType => new CelType('parameter', name);

const optionalTypeName = 'optional_type';
export const optionalOf = (value: CelType): CelType => opaqueType(optionalTypeName, { parameters: [value] });
export const isOptionalType = (type: CelType): boolean => type.kind === 'opaque' && type.name === optionalTypeName;

export const listType = listOf(dynType);
export const mapType = mapOf(dynType, dynType);

export function sameType(left: CelType, right: CelType): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  const count = left.parameters.length;
  if (count !== right.parameters.length) return false;
  for (let i = 0; i < count; i++) if (!sameType(left.parameters[i]!, right.parameters[i]!)) return false;
  return true;
}

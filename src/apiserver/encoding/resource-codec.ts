/**
 * How the objects of one resource in one version are read and written. Resources of the tables share one codec; a custom resource
 * brings its own, made of its schema. Whoever has a `ResourceCodec` need not know which of the two it is.
 */

import { builtinSchema } from '../../api/schema.ts';
import type { Decoded, FieldValidation } from '../../apimachinery/codec.ts';
import type { KnownText } from '../../apimachinery/known-text.ts';
import { type Shape, Shapes } from '../../apimachinery/managed-fields/shape.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf, type GroupVersionKind } from '../../apimachinery/resource.ts';
import type { TypeSchema } from '../../apimachinery/schema.ts';
import { once } from '../../base/once.ts';
import { builtinCodec } from './json.ts';
import type { YamlConverter } from './yaml-thread.ts';

export interface BodyRequest {
  readonly fieldValidation: FieldValidation;
  readonly format?: 'json' | 'yaml' | undefined;
  /** Reads YAML; by default here and now. */
  readonly yaml?: YamlConverter | undefined;
  /** What a body in JSON may have as it is. */
  readonly known?: KnownText | undefined;
}

/** Kubernetes' protobuf, which only the kinds of the tables have. */
export interface ProtobufCodec {
  decode(body: Uint8Array, request: Pick<BodyRequest, 'fieldValidation'>): Decoded;
  /** A message without its envelope. */
  encode(object: KubeObject): Buffer;
}

export interface ResourceCodec {
  readonly gvk: GroupVersionKind;
  /** A request's body in canonical form. Throws 400. */
  decode(body: Uint8Array | string, request: BodyRequest): Decoded;
  /** The same for a value made in this process, of which a copy is made. */
  decodeValue(value: object, request: Pick<BodyRequest, 'fieldValidation'>): Decoded;
  /** What `encodeStored` made, however long ago, as an object of this version; the caller's own, not frozen. */
  decodeStored(bytes: Uint8Array): KubeObject;
  /** The same for a store that keeps objects. The given object is frozen and stays as it is. */
  current(stored: KubeObject): KubeObject;
  /** Canonical JSON as the store keeps it: in the version in which the resource is stored. */
  encodeStored(object: KubeObject): Buffer;
  /** The object as a store of objects keeps it. */
  toStored(object: KubeObject): KubeObject;
  /** Canonical JSON in this version. `kind` and `apiVersion` must be set. */
  encode(object: KubeObject): Buffer;
  readonly protobuf: ProtobufCodec | undefined;
  /** What server-side apply sees. */
  readonly shape: Shape;
  /** What strategic merge patches go by; undefined where there are none. */
  readonly type: TypeSchema | undefined;
}

/** The codec of a kind of the tables. `typeId` where the kind does not tell it. */
export function tableCodec(gvk: GroupVersionKind, typeId?: string): ResourceCodec {
  return new TableCodec(gvk, typeId);
}

class TableCodec implements ResourceCodec {
  readonly gvk: GroupVersionKind;
  readonly protobuf: ProtobufCodec;
  readonly #typeId: string | undefined;
  #type: TypeSchema | undefined;

  constructor({ group, version, kind }: GroupVersionKind, typeId?: string) {
    this.gvk = { group, version, kind };
    this.#typeId = typeId;
    this.protobuf = {
      decode: (body, { fieldValidation }) =>
        builtinCodec().decodeProtobuf(body, { expected: this.gvk, fieldValidation }),
      encode: (object) => builtinCodec().encodeMessage(object, this.type.id),
    };
  }

  get type(): TypeSchema {
    const typeId = this.#typeId;
    this.#type ??=
      typeId === undefined
        ? builtinSchema().typeOf(apiVersionOf(this.gvk), this.gvk.kind)!
        : builtinSchema().type(typeId);
    return this.#type;
  }

  get shape(): Shape {
    return builtinShapes().of(this.type.id);
  }

  decode(body: Uint8Array | string, request: BodyRequest): Decoded {
    return builtinCodec().decode(body, { expected: this.gvk, ...request });
  }

  decodeValue(value: object, { fieldValidation }: Pick<BodyRequest, 'fieldValidation'>): Decoded {
    return builtinCodec().decodeValue(value, { expected: this.gvk, fieldValidation });
  }

  decodeStored(bytes: Uint8Array): KubeObject {
    const object = builtinCodec().decodeStored(bytes, this.type.id);
    return { ...object, kind: this.gvk.kind, apiVersion: apiVersionOf(this.gvk) } as unknown as KubeObject;
  }

  current(stored: KubeObject): KubeObject {
    return stored;
  }

  encodeStored(object: KubeObject): Buffer {
    return this.encode(object);
  }

  toStored(object: KubeObject): KubeObject {
    return object;
  }

  encode(object: KubeObject): Buffer {
    return Buffer.from(builtinCodec().encodeAs(object, this.type.id));
  }
}

/** The shape of a type of the tables. */
export function shapeOfType(typeId: string): Shape {
  return builtinShapes().of(typeId);
}

/** Shapes of immutable tables: sharing them changes nothing but the time it takes to make them. */
const builtinShapes: () => Shapes = once(() => new Shapes(builtinSchema()));

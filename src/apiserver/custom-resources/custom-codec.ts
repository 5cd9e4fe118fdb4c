/**
 * Custom objects between bytes and data. What the kind tables know of them is their metadata; the rest goes by the schema of its version:
 * what that does not know is pruned and told, what is unset gets its default. An object of the store is in the version in which it was
 * written, so it is defaulted by that version's schema, as upstream does it, and then becomes one of the codec's version.
 *
 * Versions that differ in more than their names are converted before they come here: see `conversion/`.
 */

import { builtinCodec } from '../../api/schema.ts';
import { type Decoded, decodeUntyped, type FieldValidation, failWith, warningsOf } from '../../apimachinery/codec.ts';
import { DecodeError } from '../../apimachinery/decode-exact.ts';
import { jsonText, parseJson } from '../../apimachinery/exact-json.ts';
import type { Shape } from '../../apimachinery/managed-fields/shape.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from '../../apimachinery/resource.ts';
import { badRequest, internalError } from '../../apimachinery/status.ts';
import { applyDefaults } from '../../apimachinery/structural-schema/defaulting.ts';
import type { CoerceOptions } from '../../apimachinery/structural-schema/object-metadata.ts';
import type { StructuralSchema } from '../../apimachinery/structural-schema/schema.ts';
import type { BodyRequest, ResourceCodec } from '../encoding/resource-codec.ts';
import { customObjects } from './custom-objects.ts';

export interface CustomCodecOptions {
  readonly gvk: GroupVersionKind;
  /** The version in which new bytes are written. */
  readonly storageVersion: string;
  /** Of every version of the definition, served or not, by its name. */
  readonly schemas: VersionSchemas;
  readonly shape: () => Shape;
}

export interface VersionSchemas {
  get(version: string): StructuralSchema | undefined;
}

type Fields = Record<string, unknown>;

const metadataType = 'meta/v1.ObjectMeta';

export function customCodec(options: CustomCodecOptions): ResourceCodec {
  return new CustomCodec(options);
}

class CustomCodec implements ResourceCodec {
  readonly gvk: GroupVersionKind;
  readonly protobuf = undefined;
  readonly type = undefined;
  readonly #apiVersion: string;
  readonly #storageApiVersion: string;
  readonly #schemas: VersionSchemas;
  readonly #shape: () => Shape;

  constructor({ gvk, storageVersion, schemas, shape }: CustomCodecOptions) {
    this.gvk = gvk;
    this.#shape = shape;
    this.#apiVersion = apiVersionOf(gvk);
    this.#storageApiVersion = apiVersionOf({ group: gvk.group, version: storageVersion });
    this.#schemas = schemas;
  }

  get shape(): Shape {
    return this.#shape();
  }

  decode(body: Uint8Array | string, { fieldValidation, format, yaml }: BodyRequest): Decoded {
    const { object, stated, strictErrors } = decodeUntyped(body, {
      kind: this.gvk.kind,
      format,
      yaml,
      needsKind: true,
    });
    return this.#conclude(object, { stated, strictErrors, fieldValidation });
  }

  decodeValue(value: object, { fieldValidation }: Pick<BodyRequest, 'fieldValidation'>): Decoded {
    const object = draft(value) as Fields;
    const { kind, apiVersion } = object;
    if (kind === undefined || kind === '') {
      throw badRequest(
        `the object provided is unrecognized (must be of type ${this.gvk.kind}): Object 'Kind' is missing in '${jsonText(value)}' (<empty>)`,
      );
    }
    const stated = { ...parseApiVersion(String(apiVersion ?? '')), kind: String(kind) };
    return this.#conclude(object, { stated, strictErrors: [], fieldValidation });
  }

  decodeStored(bytes: Uint8Array): KubeObject {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    return this.#fromStorage(parseJson(text) as Fields);
  }

  current(stored: KubeObject): KubeObject {
    return this.#fromStorage(draft(stored) as unknown as Fields);
  }

  encodeStored(object: KubeObject): Buffer {
    return encodeCustom(object, this.#storageApiVersion);
  }

  toStored(object: KubeObject): KubeObject {
    return this.#storageApiVersion === this.#apiVersion ? object : { ...object, apiVersion: this.#storageApiVersion };
  }

  encode(object: KubeObject): Buffer {
    return encodeCustom(object, object.apiVersion ?? this.#apiVersion);
  }

  #conclude(
    object: Fields,
    {
      stated,
      strictErrors,
      fieldValidation,
    }: {
      readonly stated: GroupVersionKind;
      readonly strictErrors: readonly string[];
      readonly fieldValidation: FieldValidation;
    },
  ): Decoded {
    const fail = failWith(stated, this.gvk.kind);
    const isOurs = stated.kind === this.gvk.kind && stated.group === this.gvk.group;
    const schema = isOurs ? this.#schemas.get(stated.version) : undefined;
    const errors = [...strictErrors, ...coerced(object, schema, { preservesUnknown: !isOurs }, fail)];
    if (fieldValidation === 'Strict' && errors.length > 0) {
      throw fail(new DecodeError(`strict decoding error: ${errors.join(', ')}`));
    }
    const apiVersion = apiVersionOf(stated);
    if (apiVersion !== this.#apiVersion) {
      throw badRequest(
        `the API version in the data (${apiVersion}) does not match the expected API version (${this.#apiVersion})`,
      );
    }
    applyDefaults(object, schema);
    return {
      object: arranged(object, apiVersion),
      gvk: stated,
      warnings: fieldValidation === 'Warn' ? errors.flatMap(warningsOf) : [],
    };
  }

  #fromStorage(object: Fields): KubeObject {
    const { version, group } = parseApiVersion(String(object.apiVersion));
    const written = this.#schemas.get(version);
    if (!written || group !== this.gvk.group) {
      throw internalError(`request to convert CR from an invalid group/version: ${String(object.apiVersion)}`);
    }
    customObjects().coerce(object, written, { dropsInvalid: true });
    applyDefaults(object, written);
    if (version !== this.gvk.version) customObjects().coerce(object, this.#schemas.get(this.gvk.version));
    const current = arranged(object, this.#apiVersion) as unknown as Draft<KubeObject>;
    // Objects from before generations were counted.
    current.metadata.generation ??= 1;
    return current;
  }
}

/** Throws 400 for metadata that is none. */
function coerced(
  object: Fields,
  schema: StructuralSchema | undefined,
  options: CoerceOptions,
  fail: (error: Error) => Error,
): string[] {
  try {
    return customObjects().coerce(object, schema, options);
  } catch (error) {
    throw error instanceof DecodeError ? fail(error) : error;
  }
}

/** Canonical order begins with what all objects have. */
function arranged(object: Fields, apiVersion: string): Fields {
  const { kind, apiVersion: _, metadata = {}, ...rest } = object;
  return { kind, apiVersion, metadata, ...rest };
}

/** Canonical JSON of a custom object, as one of this version. */
export function encodeCustom(object: KubeObject, apiVersion: string): Buffer {
  const { kind, apiVersion: _, metadata, ...rest } = object as KubeObject & Fields;
  const head = `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
  const tail = jsonText(rest).slice(1);
  const separator = tail === '}' ? '' : ',';
  return Buffer.from(`{${head},"metadata":${builtinCodec().encodeAs(metadata, metadataType)}${separator}${tail}`);
}

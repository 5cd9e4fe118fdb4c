/**
 * The metadata of custom resources and of the objects embedded in them. It is every object's metadata, whatever a schema says: it is
 * read by the kind tables, what they do not know falls away and is reported, and a value of the wrong type is refused.
 */

import { countKeys, Misfit, TableDecoder } from '../decode.ts';
import { DecodeError, decodeExact } from '../decode-exact.ts';
import { jsonText } from '../exact-json.ts';
import { errorText, type FieldError, type FieldPath, path as fieldPath, invalid, required } from '../field-error.ts';
import { parseExact } from '../json-text.ts';
import { draft, type ObjectMeta } from '../meta.ts';
import { dns1035Label } from '../names.ts';
import { isObject } from '../patch/merge-patch.ts';
import type { SchemaRegistry } from '../schema.ts';
import { dropNulls } from './defaulting.ts';
import { additionalSchema, prune, unknownFieldText } from './pruning.ts';
import type { StructuralSchema } from './schema.ts';

const metadataType = 'meta/v1.ObjectMeta';

export interface CoerceOptions {
  /** For objects already stored: what does not fit is dropped instead of refused. */
  readonly dropsInvalid?: boolean | undefined;
  /** The definition's `spec.preserveUnknownFields`: metadata is all that is looked at. */
  readonly preservesUnknown?: boolean | undefined;
}

/** Metadata of the object at hand or of one embedded in it is malformed. */
export class MetadataError extends DecodeError {
  readonly error: FieldError;

  constructor(error: FieldError) {
    super(errorText(error));
    this.error = error;
  }
}

/** Validates metadata by the rules of all objects; `name` may be missing. */
export type ValidateMetadata = (metadata: ObjectMeta, at: FieldPath) => readonly FieldError[];

/** Keeps compiled decoders of a registry and no other state. */
export class CustomObjects {
  readonly #registry: SchemaRegistry;
  readonly #decoder: TableDecoder;
  readonly #embedding = new WeakMap<StructuralSchema, boolean>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
    this.#decoder = new TableDecoder(registry);
  }

  /**
   * Brings an object that came from outside into its schema's form, in place: metadata canonical, unknown fields and nulls gone. Returns
   * what field validation has to say: `unknown field "spec.foo"`. Throws `DecodeError` where metadata is malformed.
   */
  coerce(
    object: Record<string, unknown>,
    schema: StructuralSchema | undefined,
    { dropsInvalid = false, preservesUnknown = false }: CoerceOptions = {},
  ): string[] {
    const strictErrors: string[] = [];
    const metadata = Object.hasOwn(object, 'metadata')
      ? this.#read(object.metadata, { path: 'metadata', dropsInvalid, strictErrors })
      : undefined;
    if (!preservesUnknown) {
      strictErrors.push(...prune(object, schema, { isObject: true }).map(unknownFieldText));
      dropNulls(object, schema);
    }
    const embedded: string[] = [];
    if (schema) this.#coerceEmbedded(object, schema, { at: fieldPath(), dropsInvalid, strictErrors: embedded });
    if (metadata) object.metadata = metadata;
    return [...strictErrors, ...embedded.sort()];
  }

  /** What is wrong with the objects embedded in a value. `isObject` where the value itself is a whole object. */
  validateEmbedded(
    value: unknown,
    schema: StructuralSchema,
    options: { readonly validateMetadata: ValidateMetadata; readonly at?: FieldPath; readonly isObject?: boolean },
  ): FieldError[] {
    const errors: FieldError[] = [];
    const visit: Visit = (part, at) => {
      if (isObject(part)) errors.push(...this.#validateObject(part, at, options.validateMetadata));
    };
    if (options.isObject && !schema.embeddedResource) visit(value, options.at ?? fieldPath());
    this.#walk(value, schema, options.at ?? fieldPath(), visit);
    return errors;
  }

  /** The same for an object that the schema embeds or that is whole itself, in place. Throws `MetadataError`. */
  coerceEmbedded(value: unknown, schema: StructuralSchema, at: FieldPath): void {
    this.#coerceEmbedded(value, schema, { at, dropsInvalid: false, strictErrors: [] });
  }

  #coerceEmbedded(
    value: unknown,
    schema: StructuralSchema,
    { at: start, ...options }: Omit<ReadOptions, 'path'> & { readonly at: FieldPath },
  ): void {
    this.#walk(value, schema, start, (part, at) => {
      if (!isObject(part)) return;
      const object = part as Record<string, unknown>;
      for (const name of ['apiVersion', 'kind']) {
        if (!Object.hasOwn(object, name) || typeof object[name] === 'string') continue;
        if (!options.dropsInvalid) throw new MetadataError(invalid(at.child(name), object[name], 'must be a string'));
        delete object[name];
      }
      if (Object.hasOwn(object, 'metadata')) this.#coerceMetadata(object, at.child('metadata'), options);
    });
  }

  #coerceMetadata(object: Record<string, unknown>, at: FieldPath, options: Omit<ReadOptions, 'path'>): void {
    try {
      object.metadata = this.#read(object.metadata, { ...options, path: at.toString() }) ?? object.metadata;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw new MetadataError(invalid(at, object.metadata, error.message));
    }
  }

  /** Canonical metadata; undefined where there is nothing to be saved of it. */
  #read(value: unknown, options: ReadOptions): Record<string, unknown> | undefined {
    try {
      return this.#decode(value, options);
    } catch (error) {
      if (!(error instanceof DecodeError) || !options.dropsInvalid) throw error;
    }
    if (!isObject(value)) return undefined;
    const fitting = Object.entries(value).filter(([key, field]) => this.#fits({ [key]: field }));
    return this.#decode(Object.fromEntries(fitting), options);
  }

  #decode(value: unknown, { path, strictErrors }: ReadOptions): Record<string, unknown> {
    try {
      const { value: metadata, visitedKeys } = this.#decoder.read(value, metadataType, { copiesRaw: true });
      if (visitedKeys === countKeys(value)) return metadata;
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
    }
    const exact = decodeExact(this.#registry, parseExact(jsonText(value)), metadataType, path);
    strictErrors.push(...exact.strictErrors);
    return this.#decoder.read(exact.value, metadataType).value;
  }

  #fits(metadata: unknown): boolean {
    try {
      this.#decode(metadata, { path: '', dropsInvalid: false, strictErrors: [] });
      return true;
    } catch (error) {
      if (error instanceof DecodeError) return false;
      throw error;
    }
  }

  /** Visits the embedded objects in a value, from above. Most schemas embed none. */
  #walk(value: unknown, schema: StructuralSchema, at: FieldPath, visit: Visit): void {
    if (typeof value !== 'object' || value === null || !this.#embeds(schema)) return;
    if (schema.embeddedResource) visit(value, at);
    if (Array.isArray(value)) {
      const { items } = schema;
      if (items) for (const [index, item] of value.entries()) this.#walk(item, items, at.index(index), visit);
      return;
    }
    const additional = additionalSchema(schema);
    for (const [key, part] of Object.entries(value)) {
      const property = schema.properties.get(key);
      if (property) this.#walk(part, property, at.child(key), visit);
      else if (additional) this.#walk(part, additional, at.key(key), visit);
    }
  }

  #embeds(schema: StructuralSchema): boolean {
    const known = this.#embedding.get(schema);
    if (known !== undefined) return known;
    const parts = [...schema.properties.values(), schema.items, additionalSchema(schema)];
    const embeds = schema.embeddedResource || parts.some((part) => part !== undefined && this.#embeds(part));
    this.#embedding.set(schema, embeds);
    return embeds;
  }

  #validateObject(
    object: Readonly<Record<string, unknown>>,
    at: FieldPath,
    validateMetadata: ValidateMetadata,
  ): FieldError[] {
    const errors: FieldError[] = [];
    for (const [name, problem] of [
      ['apiVersion', apiVersionProblem],
      ['kind', kindProblem],
    ] as const) {
      const value = object[name];
      const here = at.child(name);
      const detail =
        typeof value !== 'string' ? 'must be a string' : value === '' ? 'must not be empty' : problem(value);
      if (value === undefined) errors.push(required(here));
      else if (detail !== undefined) errors.push(invalid(here, value, detail));
    }
    if (!Object.hasOwn(object, 'metadata')) return errors;
    const here = at.child('metadata');
    try {
      const metadata = this.#decode(object.metadata, { path: '', dropsInvalid: false, strictErrors: [] });
      errors.push(...validateMetadata(metadata as unknown as ObjectMeta, here));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      errors.push(invalid(here, draft(object.metadata), error.message));
    }
    return errors;
  }
}

interface ReadOptions {
  /** Where the metadata stands, for what field validation says. */
  readonly path: string;
  readonly dropsInvalid: boolean;
  readonly strictErrors: string[];
}

type Visit = (embedded: unknown, at: FieldPath) => void;

function apiVersionProblem(apiVersion: string): string | undefined {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined;
}

function kindProblem(kind: string): string | undefined {
  const messages = dns1035Label(kind.toLowerCase());
  if (messages.length === 0) return undefined;
  return `may have mixed case, but should otherwise match: ${messages.join(',')}`;
}

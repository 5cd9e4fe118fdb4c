/**
 * Between bytes and typed objects, by the kind tables. A request's body is checked as strictly as upstream does and fails with
 * upstream's `BadRequest`; bytes from our own store are read without ceremony. Kinds outside the tables (custom resources) are not
 * its matter, save that their repeated keys are found by `decodeUntyped`.
 *
 * How a body is read: `JSON.parse`, then the fast decoder, then keys counted in the text are compared with keys visited. Only a
 * difference, a misfit or a number that a double cannot hold runs the exact decoder, which knows the words. Members that the caller knows are
 * left out of all that (`known-text.ts`).
 *
 * Length: the ways in which a body is read share their steps and their errors, and belong side by side.
 */

import { ProtobufError } from '../base/protobuf/wire-reader.ts';
import { countKeys, Misfit, TableDecoder } from './decode.ts';
import { DecodeError, decodeExact, duplicateFields } from './decode-exact.ts';
import { TableEncoder, type WritableMember } from './encode.ts';
import { jsonText, parseJson } from './exact-json.ts';
import { quote } from './go-text.ts';
import { JsonSyntaxError, maxJsonDepth, parseExact, scanJson, wellFormed } from './json-text.ts';
import type { KnownText } from './known-text.ts';
import { openEnvelope, wrapMessage } from './protobuf/envelope.ts';
import { MessageReader } from './protobuf/message-reader.ts';
import { MessageWriter } from './protobuf/message-writer.ts';
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from './resource.ts';
import type { SchemaRegistry } from './schema.ts';
import { badRequest, type StatusError } from './status.ts';
import { type YamlConversion, yamlToJson } from './yaml-text.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface DecodeRequest {
  /** What the endpoint takes; also what the body is when it does not say. */
  readonly expected: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** The body's form; JSON when absent. */
  readonly format?: 'json' | 'yaml' | undefined;
  /** Reads YAML; by default here and now, however long it takes. */
  readonly yaml?: ((text: string) => YamlConversion) | undefined;
  /** Members that the body may have as they are: where it does, their very values become the object's. */
  readonly known?: KnownText | undefined;
}

/** An object as the tables have it: known fields in canonical form, `kind` and `apiVersion` set. */
export interface Decoded {
  readonly object: Readonly<Record<string, unknown>>;
  readonly gvk: GroupVersionKind;
  /** For `Warning` headers: unknown and repeated fields under field validation `Warn`. */
  readonly warnings: readonly string[];
}

/** One instance serves one registry; it keeps compiled decoders and encoders and no other state. */
export class Codec {
  readonly registry: SchemaRegistry;
  readonly #decoder: TableDecoder;
  readonly #encoder: TableEncoder;
  readonly #messageReader: MessageReader;
  readonly #messageWriter: MessageWriter;

  constructor(registry: SchemaRegistry) {
    this.registry = registry;
    this.#decoder = new TableDecoder(registry);
    this.#encoder = new TableEncoder(registry);
    this.#messageReader = new MessageReader(registry);
    this.#messageWriter = new MessageWriter(registry);
  }

  /** Decodes a request's body. Throws a `BadRequest` StatusError that says what upstream would say. */
  decode(body: Uint8Array | string, request: DecodeRequest): Decoded {
    return this.#decodeAround(body, request) ?? this.#decodeWhole(body, request);
  }

  #decodeWhole(body: Uint8Array | string, request: DecodeRequest): Decoded {
    const original =
      typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
    const yaml = request.format === 'yaml' ? convertYaml(original, request.expected.kind, request.yaml) : undefined;
    const text = wellFormed(yaml?.json ?? original);
    const fast = parseFast(text);
    const stated = statedKind(
      fast?.value ?? exactOf(text, original, request.expected.kind),
      original,
      request.expected.kind,
    );
    const gvk = withDefaults(stated, request.expected);
    const typeId = this.#typeFor(gvk, request.expected);
    const result = this.#decodeText(text, typeId, fast, failWith(gvk, request.expected.kind));
    const strictErrors = [...(yaml?.strictErrors ?? []), ...result.strictErrors];
    keepOwnersReset(result.value, fast?.value);
    return this.#conclude(result.value, gvk, strictErrors, request);
  }

  /** Reads what is left of a body without the members that are known; undefined where it must be read whole. */
  #decodeAround(body: Uint8Array | string, request: DecodeRequest): Decoded | undefined {
    const { known, format, expected } = request;
    if (!known || typeof body === 'string' || format === 'yaml') return undefined;
    const shortened = known.leaveOutOf(body);
    const scanned = shortened?.scan();
    if (!shortened || !scanned || scanned.inexact || scanned.depth > maxJsonDepth) return undefined;
    const value = parsePlain(wellFormed(shortened.text));
    if (value?.kind !== expected.kind || value.apiVersion !== apiVersionOf(expected)) return undefined;
    const read = this.#tryRead(value, this.#typeFor(expected, expected));
    if (read?.visitedKeys !== scanned.keys) return undefined;
    keepOwnersReset(read.value, value);
    for (const { member } of shortened.holes) {
      const holder = (member.parent ? read.value[member.parent] : read.value) as Record<string, unknown>;
      holder[member.name] = member.value;
    }
    return this.#conclude(read.value, expected, [], request);
  }

  /**
   * The same for a value made in this process: copied by the table, so the caller keeps what is theirs. A Date, a class instance or a
   * function in it is a mistake of the program and throws a TypeError.
   */
  decodeValue(value: object, request: DecodeRequest): Decoded {
    const keys = countOwnKeys(value);
    const gvk = withDefaults(statedKind(value as Record<string, unknown>, '', request.expected.kind), request.expected);
    const typeId = this.#typeFor(gvk, request.expected);
    const copy = this.#tryCopy(value, typeId);
    if (copy) keepOwnersReset(copy.value, value);
    if (copy && copy.visitedKeys === keys) return this.#conclude(copy.value, gvk, [], request);
    const result = this.#decodeText(jsonText(value), typeId, undefined, failWith(gvk, request.expected.kind));
    keepOwnersReset(result.value, value);
    return this.#conclude(result.value, gvk, result.strictErrors, request);
  }

  /**
   * The same for a body in Kubernetes' protobuf. Its field validation has nothing to find: fields nobody knows are passed over, as
   * upstream does.
   */
  decodeProtobuf(body: Uint8Array, request: Omit<DecodeRequest, 'format'>): Decoded {
    const { expected } = request;
    const { apiVersion, kind, message } = openBody(body, expected.kind);
    const gvk = withDefaults({ ...parseApiVersion(apiVersion), kind }, expected);
    const typeId = this.#typeFor(gvk, expected);
    const fail = failWith(gvk, expected.kind);
    return this.#conclude(this.#readMessage(message, typeId, fail), gvk, [], request);
  }

  /** A message without its envelope, as the type's canonical form. Throws `ProtobufError` or `DecodeError`. */
  decodeMessage(message: Uint8Array, typeId: string): Record<string, unknown> {
    return this.#readMessage(message, typeId, rethrow);
  }

  /** Copies a value made in this process in canonical form; unknown fields fall away. Throws `DecodeError` when it does not fit. */
  copyByTable(value: object, typeId: string): Record<string, unknown> {
    countOwnKeys(value);
    return this.#tryCopy(value, typeId)?.value ?? this.#decodeText(jsonText(value), typeId, undefined, rethrow).value;
  }

  /** Reads JSON that was checked before it was stored. Unknown fields fall away: an older schema may have had them. */
  decodeStored(text: Uint8Array | string, typeId: string): Record<string, unknown> {
    const json =
      typeof text === 'string' ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8');
    try {
      return this.#decoder.read(JSON.parse(json), typeId).value;
    } catch (error) {
      if (!(error instanceof Misfit) && !(error instanceof SyntaxError)) throw error;
      return this.#decodeText(json, typeId, undefined, rethrow).value;
    }
  }

  /** The JSON text upstream's API server writes for the object, by its `apiVersion` and `kind`. */
  encodeCanonical(object: { readonly apiVersion?: string | undefined; readonly kind?: string | undefined }): string {
    const type = this.registry.typeOf(object.apiVersion ?? '', object.kind ?? '');
    if (!type) throw new Error(`the kind tables have no kind ${object.kind} in ${object.apiVersion}`);
    return this.#encoder.encode(object, type.id);
  }

  /** The same for a value that does not say what it is: a part of an object, or an object without `kind`. */
  encodeAs(value: object, typeId: string): string {
    return this.#encoder.encode(value, typeId);
  }

  /** The members of what `encodeAs` writes, for whoever has the text of some already. */
  membersOf(value: object, typeId: string): WritableMember[] {
    return this.#encoder.members(value, typeId);
  }

  /** The object's protobuf message without its envelope; byte for byte upstream's. */
  encodeMessage(value: object, typeId: string): Buffer {
    return this.#messageWriter.write(value, typeId);
  }

  /** The object in Kubernetes' protobuf, by its `apiVersion` and `kind`; undefined for what has no such form, as a Table. */
  encodeProtobuf(object: { readonly apiVersion?: string; readonly kind?: string }): Buffer | undefined {
    const { apiVersion = '', kind = '' } = object;
    const type = this.registry.typeOf(apiVersion, kind);
    return type && !type.row.noProto ? wrapMessage(apiVersion, kind, this.encodeMessage(object, type.id)) : undefined;
  }

  #readMessage(message: Uint8Array, typeId: string, fail: (error: Error) => Error): Record<string, unknown> {
    try {
      const value = this.#messageReader.read(message, typeId) as object;
      return this.#tryRead(value, typeId)?.value ?? this.#decodeText(jsonText(value), typeId, undefined, rethrow).value;
    } catch (error) {
      const isBroken =
        error instanceof ProtobufError || error instanceof DecodeError || error instanceof JsonSyntaxError;
      throw isBroken ? fail(error) : error;
    }
  }

  #tryRead(value: object, typeId: string) {
    try {
      return this.#decoder.read(value, typeId);
    } catch (error) {
      if (error instanceof Misfit) return undefined;
      throw error;
    }
  }

  #tryCopy(value: object, typeId: string) {
    try {
      return this.#decoder.read(value, typeId, { copiesRaw: true });
    } catch (error) {
      if (error instanceof Misfit) return undefined;
      throw error;
    }
  }

  /** Fast if it can be, exact if it must. `fail` makes the error of a text that does not fit. */
  #decodeText(text: string, typeId: string, fast: Parsed | undefined, fail: (error: Error) => Error) {
    if (fast && !fast.inexact) {
      try {
        const { value, visitedKeys } = this.#decoder.read(fast.value, typeId);
        if (visitedKeys === fast.keys) return { value, strictErrors: [] };
      } catch (error) {
        if (!(error instanceof Misfit)) throw error;
      }
    }
    try {
      const exact = decodeExact(this.registry, parseExact(text), typeId);
      return { value: this.#decoder.read(exact.value, typeId).value, strictErrors: exact.strictErrors };
    } catch (error) {
      throw error instanceof DecodeError || error instanceof JsonSyntaxError ? fail(error) : error;
    }
  }

  /** The type to decode as: the body's own kind, which must exist and be the one the endpoint takes. */
  #typeFor(gvk: GroupVersionKind, expected: GroupVersionKind): string {
    const fail = failWith(gvk, expected.kind);
    const kind = this.registry.kind(apiVersionOf(gvk), gvk.kind);
    if (!kind) {
      const what = `no kind ${quote(gvk.kind)} is registered for version ${quote(apiVersionOf(gvk))} in scheme ${quote(schemeName)}`;
      throw fail(new DecodeError(what));
    }
    if (gvk.kind !== expected.kind || gvk.group !== expected.group) {
      const target = this.registry.kind(apiVersionOf(expected), expected.kind);
      const internal = target ? `${target.type.slice(0, target.type.indexOf('/'))}.${expected.kind}` : expected.kind;
      throw fail(
        new DecodeError(`converting (${this.registry.type(kind.type).goName}) to (${internal}): unknown conversion`),
      );
    }
    if (gvk.version !== expected.version) {
      throw badRequest(
        `the API version in the data (${apiVersionOf(gvk)}) does not match the expected API version (${apiVersionOf(expected)})`,
      );
    }
    return kind.type;
  }

  #conclude(
    value: Record<string, unknown>,
    gvk: GroupVersionKind,
    strictErrors: readonly string[],
    request: DecodeRequest,
  ): Decoded {
    if (strictErrors.length > 0 && request.fieldValidation === 'Strict') {
      throw failWith(gvk, request.expected.kind)(new DecodeError(`strict decoding error: ${strictErrors.join(', ')}`));
    }
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = value;
    return {
      object: { kind: gvk.kind, apiVersion: apiVersionOf(gvk), ...rest },
      gvk,
      warnings: request.fieldValidation === 'Warn' ? strictErrors.flatMap(warningsOf) : [],
    };
  }
}

/**
 * Reads a body of a kind outside the tables: the plain value, what it says it is, and its repeated keys in the words of field validation.
 * Throws `BadRequest` when the text is no JSON (or YAML) object.
 */
export function decodeUntyped(
  body: Uint8Array | string,
  options: {
    readonly kind: string;
    /** Whether a body without a kind is refused. */
    readonly needsKind?: boolean;
  } & Pick<DecodeRequest, 'format' | 'yaml'>,
): {
  readonly object: Record<string, unknown>;
  readonly stated: GroupVersionKind;
  readonly strictErrors: readonly string[];
} {
  const original =
    typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const yaml = options.format === 'yaml' ? convertYaml(original, options.kind, options.yaml) : undefined;
  const text = wellFormed(yaml?.json ?? original);
  const fast = parseFast(text);
  const value = (fast?.inexact ? parseJson(text) : fast?.value) ?? exactOf(text, original, options.kind);
  const stated = statedKind(value, original, options.kind);
  if (options.needsKind && stated.kind === '')
    throw unrecognized(`Object 'Kind' is missing in '${original}'`, original, options.kind);
  const repeated = fast && countKeys(value) === fast.keys ? [] : duplicateFields(parseExact(text));
  return {
    object: value as Record<string, unknown>,
    stated,
    strictErrors: [...(yaml?.strictErrors ?? []), ...repeated],
  };
}

const yamlErrors = 'yaml: unmarshal errors:\n';

/** Of a list in one error, as YAML has it, each line is a warning of its own. */
export function warningsOf(strictError: string): string[] {
  if (!strictError.startsWith(yamlErrors)) return [strictError];
  return strictError
    .slice(yamlErrors.length)
    .split('\n')
    .map((line) => line.trim());
}

/** What upstream's messages call its registry of kinds. */
const schemeName = 'pkg/api/legacyscheme/scheme.go:30';

interface Parsed {
  readonly value: unknown;
  readonly keys: number;
  readonly inexact: boolean;
}

const longTextFrom = 64 * 1024;

/** Undefined when the text is no JSON or too deep: the exact parser will say why. */
function parseFast(text: string): Parsed | undefined {
  try {
    // A long text may be nested so deeply that parsing it takes many times longer than looking how deep it is.
    const scanned = text.length > longTextFrom ? scanJson(text) : undefined;
    if (scanned && scanned.depth > maxJsonDepth) return undefined;
    const value: unknown = JSON.parse(text);
    const { keys, inexact, depth } = scanned ?? scanJson(text);
    return depth > maxJsonDepth ? undefined : { value, keys, inexact };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Undefined for what is no JSON or no object. */
function parsePlain(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Only reached when `parseFast` failed, so this throws; but should the two parsers ever disagree, the value is used. */
function exactOf(text: string, original: string, kind: string): unknown {
  try {
    parseExact(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw unrecognized(`couldn't get version/kind; json parse error: ${error.message}`, original, kind);
    throw error;
  }
  return JSON.parse(text);
}

/** The one empty list that is not as none: by it a client asks to forget who owns the fields of the object. */
function keepOwnersReset(decoded: Readonly<Record<string, unknown>>, given: unknown): void {
  const owners = (given as { metadata?: { managedFields?: unknown } } | undefined)?.metadata?.managedFields;
  if (!Array.isArray(owners) || owners.length > 0) return;
  (decoded.metadata as { managedFields?: readonly unknown[] }).managedFields = [];
}

/** The `apiVersion` and `kind` of a body as it gives them; what is missing is empty. */
function statedKind(value: unknown, original: string, kind: string): GroupVersionKind {
  const fail = (problem: string) =>
    unrecognized(`couldn't get version/kind; json parse error: json: ${problem}`, original, kind);
  if (value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    throw fail(`cannot unmarshal ${what} into Go value of type ${kindStruct}`);
  }
  const text = (field: 'apiVersion' | 'kind') => {
    const stated = (value as Record<string, unknown> | null)?.[field] ?? '';
    if (typeof stated === 'string') return stated;
    const what = Array.isArray(stated) ? 'array' : typeof stated === 'boolean' ? 'bool' : typeof stated;
    throw fail(`cannot unmarshal ${what} into Go struct field .${field} of type string`);
  };
  const apiVersion = text('apiVersion');
  const stated = text('kind');
  if (apiVersion.split('/').length > 2)
    throw unrecognized(`unexpected GroupVersion string: ${apiVersion}`, original, kind);
  return { ...parseApiVersion(apiVersion), kind: stated };
}

export const kindStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** As upstream: a missing kind is the expected one; a missing version too, and with it the group. */
function withDefaults(stated: GroupVersionKind, expected: GroupVersionKind): GroupVersionKind {
  const kind = stated.kind === '' ? expected.kind : stated.kind;
  if (stated.version === '' && stated.group === '') return { group: expected.group, version: expected.version, kind };
  return { group: stated.group, version: stated.version, kind };
}

function openBody(body: Uint8Array, kind: string) {
  try {
    return openEnvelope(body);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw unrecognized(error.message, body, kind);
  }
}

function convertYaml(
  text: string,
  kind: string,
  convert: NonNullable<DecodeRequest['yaml']> = yamlToJson,
): YamlConversion {
  try {
    return convert(text);
  } catch (error) {
    throw unrecognized((error as Error).message, text, kind);
  }
}

/** For a body whose kind is known, the error of decoding it. */
export function failWith(gvk: GroupVersionKind, kind: string): (error: Error) => StatusError {
  return (error) =>
    because(
      error,
      badRequest(`${gvk.kind} in version ${quote(gvk.version)} cannot be handled as a ${kind}: ${error.message}`),
    );
}

/** The bare reason stays at hand for whoever has other words around it. */
function because(cause: Error, error: StatusError): StatusError {
  error.cause = cause;
  return error;
}

function unrecognized(message: string, body: string | Uint8Array, kind: string): StatusError {
  const refused = `the object provided is unrecognized (must be of type ${kind}): ${message} (${summary(body)})`;
  return because(new Error(message), badRequest(refused));
}

/** The first bytes of a body, in hexadecimal unless it looks like JSON. */
function summary(body: string | Uint8Array): string {
  const bytes = Buffer.from(body as string);
  if (bytes.length === 0) return '<empty>';
  const start = bytes.subarray(0, 30);
  const text = bytes[0] === 0x7b ? start.toString('utf8') : start.toString('hex');
  return bytes.length > 30 ? `${text} ...` : text;
}

function rethrow(error: Error): Error {
  return error;
}

/** Counts the keys of a value made in this process, undefined ones left out; throws a TypeError at what is not plain data. */
function countOwnKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol') throw new ForeignValue(`is a ${typeof value}`);
    return 0;
  }
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countOwnKeys(item);
    return count;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new ForeignValue(`is a ${(value as object).constructor?.name ?? 'class'} instance`);
  for (const key of Object.keys(value)) {
    const entry = (value as Record<string, unknown>)[key];
    if (entry === undefined) continue;
    if (typeof entry !== 'object' && typeof entry !== 'function' && typeof entry !== 'symbol') count++;
    else count += 1 + countBelow(key, entry);
  }
  return count;
}

/** The way to what is wrong is put together on the way out, since hardly ever anything is. */
function countBelow(key: string, entry: unknown): number {
  try {
    return countOwnKeys(entry);
  } catch (error) {
    throw error instanceof ForeignValue ? error.under(key) : error;
  }
}

class ForeignValue extends TypeError {
  readonly #path: string;
  readonly #what: string;

  constructor(what: string, path = '') {
    super(`${path || 'the value'} ${what}, which no API object can hold`);
    this.#what = what;
    this.#path = path;
  }

  under(key: string): ForeignValue {
    return new ForeignValue(this.#what, this.#path === '' ? key : `${key}.${this.#path}`);
  }
}

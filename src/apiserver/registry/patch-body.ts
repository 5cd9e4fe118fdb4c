/**
 * A patch as the request brings it, and what becomes of an object by it. As upstream, a patch is looked at only when there is an
 * object to apply it to; one that cannot be read is a 400, one that makes nonsense of the object a 422 with the nonsense in it.
 */

import type { FieldValidation } from '../../apimachinery/codec.ts';
import { countKeys } from '../../apimachinery/decode.ts';
import { duplicateFields } from '../../apimachinery/decode-exact.ts';
import { hasLongNumber, jsonText, parseJson } from '../../apimachinery/exact-json.ts';
import { invalid as invalidField, path } from '../../apimachinery/field-error.ts';
import { goJson, goValue, quote } from '../../apimachinery/go-text.ts';
import {
  type JsonNode,
  JsonObject,
  JsonSyntaxError,
  maxJsonDepth,
  parseExact,
  plainValue,
  scanJson,
} from '../../apimachinery/json-text.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { applyJsonPatch } from '../../apimachinery/patch/json-patch.ts';
import { applyMergePatch, isObject, jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { restoreProblem } from '../../apimachinery/patch/restore.ts';
import { applyStrategicMergePatch } from '../../apimachinery/patch/strategic-merge-patch.ts';
import {
  badRequest,
  genericServerResponse,
  invalid,
  isInvalid,
  StatusError,
  unsupportedMediaType,
} from '../../apimachinery/status.ts';
import { mediaTypeOf } from '../encoding/media-types.ts';
import type { ResourceCodec } from '../encoding/resource-codec.ts';
import type { ApiRequest } from '../request.ts';
import { attachOwners, detachOwners } from './managed-fields.ts';
import { applyPatchType, bodyLimitBytes } from './write-options.ts';

type Document = Readonly<Record<string, unknown>>;

/** What the patched document must be. */
export interface PatchTarget {
  readonly codec: ResourceCodec;
  readonly fieldValidation: FieldValidation;
}

export interface Patched {
  /** What the patch did not touch may be standing parts. */
  readonly object: Draft<KubeObject>;
  readonly warnings: readonly string[];
}

/** Applies a patch to the JSON of an object, which is never changed. Throws 400, 413, 422. */
export type ApplyPatch = (before: Document) => Patched;

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

type PatchType = (typeof patchTypes)[number];

/** Those that `readPatch` does not read: server-side apply. */
const servedPatchTypes = [...patchTypes, applyPatchType] as const;

/** Strategic merge patches need a table that says how to merge. Throws 415. */
export function checkPatchType(
  { headers }: Pick<ApiRequest, 'headers'>,
  codec: Pick<ResourceCodec, 'type'>,
): PatchType | typeof applyPatchType {
  const mediaType = mediaTypeOf(headers['content-type'] ?? '');
  const served = codec.type ? servedPatchTypes : servedPatchTypes.filter((type) => !type.includes('strategic'));
  const type = served.find((known) => known === mediaType);
  // As upstream, whose routes of built-in kinds know their types, while those of custom resources ask who answers.
  if (!type)
    throw codec.type
      ? genericServerResponse({ code: 415, method: 'PATCH', serverMessage: '415: Unsupported Media Type' })
      : unsupportedMediaType(served);
  return type;
}

/** Reads the whole body, and nothing of what it means. Throws 413, 415. */
export async function readPatch(request: ApiRequest, target: PatchTarget): Promise<ApplyPatch> {
  const type = checkPatchType(request, target.codec);
  if (type === applyPatchType) throw unsupportedMediaType(patchTypes);
  const { body } = request;
  if (body.kind === 'value') {
    const value = draft(body.value);
    if (request.audit?.tellsRequest) request.audit.requestPatch(jsonText(value));
    return (before) => applied(type, { value, strictErrors: [] }, { ...target, before });
  }
  const text = body.kind === 'bytes' ? (await body.read(bodyLimitBytes)).toString('utf8') : '';
  request.audit?.requestPatch(text);
  let patch: ParsedPatch | undefined;
  return (before) => {
    patch ??= exactly(parsers[type](text, target.fieldValidation), text, target.codec);
    return applied(type, patch, { ...target, before });
  };
}

/** Custom objects keep numbers that a double does not; those of the tables have none. */
function exactly(patch: ParsedPatch, text: string, { type }: ResourceCodec): ParsedPatch {
  return type || !hasLongNumber(text) ? patch : { ...patch, value: parseJson(text) };
}

interface ParsedPatch {
  readonly value: unknown;
  /** What field validation has against the patch itself: repeated keys, unknown members of operations. */
  readonly strictErrors: readonly string[];
}

const parsers: Readonly<Record<PatchType, (text: string, fieldValidation: FieldValidation) => ParsedPatch>> = {
  'application/json-patch+json': (text, fieldValidation) => {
    const prefix = fieldValidation === 'Ignore' ? '' : 'error decoding patch: ';
    const node = parseNode(text, (message) => badRequest(prefix + message));
    if (fieldValidation === 'Ignore') return { value: plainValue(node), strictErrors: [] };
    checkOperations(node);
    const strictErrors = [...unknownMembers(node), ...duplicateFields(node)].map((error) => `json patch ${error}`);
    return { value: plainValue(node), strictErrors };
  },
  'application/merge-patch+json': (text, fieldValidation) => {
    const lenient = fieldValidation === 'Ignore';
    const patch = parseObject(text, (message) =>
      badRequest(lenient ? invalidMergePatch : `error decoding patch: ${message}`),
    );
    if (patch.value === null) throw badRequest(invalidMergePatch);
    return lenient ? { ...patch, strictErrors: [] } : patch;
  },
  'application/strategic-merge-patch+json': (text, fieldValidation) => {
    const patch = parseObject(text, badRequest);
    return { value: patch.value ?? {}, strictErrors: fieldValidation === 'Ignore' ? [] : patch.strictErrors };
  },
};

const invalidMergePatch = 'Invalid JSON Patch';

/** An object or null. */
function parseObject(text: string, fail: (message: string) => Error): ParsedPatch {
  const value = parsePlain(text);
  if (value === undefined) {
    const node = parseNode(text, fail);
    return { value: plainValue(node), strictErrors: duplicateFields(node) };
  }
  if (value !== null && !isObject(value)) {
    throw fail(`json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`);
  }
  const repeats = countKeys(value) !== scanJson(text).keys;
  return { value, strictErrors: repeats ? duplicateFields(parseExact(text)) : [] };
}

/** Undefined for what is no JSON or nested too deeply: the exact parser has the words. */
function parsePlain(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return scanJson(text).depth > maxJsonDepth ? undefined : value;
  } catch {
    return undefined;
  }
}

function parseNode(text: string, fail: (message: string) => Error): JsonNode {
  try {
    return parseExact(text);
  } catch (error) {
    throw error instanceof JsonSyntaxError ? fail(error.message) : error;
  }
}

const operationMembers = ['op', 'path', 'from', 'value'];

/** Throws 400 for what is no list of operations. */
function checkOperations(node: JsonNode): void {
  const fail = (what: JsonNode, into: string) =>
    badRequest(`error decoding patch: json: cannot unmarshal ${jsonKind(plainValue(what))} into Go ${into}`);
  if (node === null) return;
  if (!Array.isArray(node)) throw fail(node, 'value of type []handlers.jsonPatchOp');
  for (const operation of node) {
    if (operation === null) continue;
    if (!(operation instanceof JsonObject)) throw fail(operation, 'value of type handlers.jsonPatchOp');
    for (const [member, value] of operation.entries) {
      if (member === 'value' || !operationMembers.includes(member) || value === null || typeof value === 'string')
        continue;
      throw fail(value, `struct field jsonPatchOp.${member} of type string`);
    }
  }
}

function unknownMembers(node: JsonNode): string[] {
  if (!Array.isArray(node)) return [];
  return node.flatMap((operation, index) =>
    operation instanceof JsonObject
      ? operation.entries
          .filter(([member]) => !operationMembers.includes(member))
          .map(([member]) => `unknown field ${quote(`[${index}].${member}`)}`)
      : [],
  );
}

function jsonKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
}

function applied(
  type: PatchType,
  { value, strictErrors }: ParsedPatch,
  { before, ...target }: PatchTarget & { readonly before: Document },
): Patched {
  if (type === 'application/json-patch+json') {
    const after = jsonPatched(before, value, target.codec);
    return decoded(after, strictErrors, {
      ...target,
      before,
      shown: () => patchedText(after, canonical(before, target.codec)),
    });
  }
  if (type === 'application/merge-patch+json') {
    const after = applyMergePatch(before, value);
    return decoded(after, strictErrors, {
      ...target,
      before,
      shown: () => patchedText(after, canonical(before, target.codec)),
    });
  }
  const patch = value as Document;
  const after = asTyped(applyStrategicMergePatch(before, patch, target.codec.type!), before);
  const problem = restoreProblem(after, target.codec.type!, before);
  if (problem !== undefined) throw nonsense(goValue(patch), problem);
  return decoded(after, strictErrors, { ...target, before, shown: () => goValue(patch) });
}

/** The patched document becomes an object of the kind that stands there, whatever the patch calls it. */
function asTyped(after: Document, before: Document): Document {
  const { kind, apiVersion } = before;
  const typed = { ...after };
  if (typeof after.kind === 'string') typed.kind = kind;
  if (typeof after.apiVersion === 'string') typed.apiVersion = apiVersion;
  return typed;
}

/**
 * The patch speaks of the document as it is served, which has more than the object has: what Go always writes (`"status":{}`) is
 * there to be tested and added to. Only a patch that does not fit without it is tried on that.
 */
function jsonPatched(before: Document, patch: unknown, codec: ResourceCodec): Document {
  try {
    return applyJsonPatch(before, patch);
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return applyJsonPatch(canonical(before, codec), patch);
  }
}

interface Decoding extends PatchTarget {
  /** What was patched. */
  readonly before: Document;
  /** What an error shows of the patch. */
  shown(): string;
}

function decoded(after: unknown, strictErrors: readonly string[], decoding: Decoding): Patched {
  const { codec, before, fieldValidation, shown } = decoding;
  const lenient = fieldValidation === 'Ignore';
  try {
    // Owners that the patch did not touch are frozen; they need no second reading.
    const detached = detachOwners(after as object);
    const untouched = codec.type ? untouchedFields(detached.value, before) : [];
    const result = codec.decodeValue(withoutFields(detached.value, untouched), {
      // What is strict is decided below, with what the patch itself is guilty of.
      fieldValidation: lenient ? 'Ignore' : 'Warn',
    });
    const warnings = [...strictErrors, ...result.warnings];
    if (fieldValidation === 'Strict' && warnings.length > 0) {
      throw nonsense(shown(), `strict decoding error: ${warnings.join(', ')}`);
    }
    const object = result.object as unknown as Draft<KubeObject>;
    object.metadata ??= {};
    attachOwners(object, detached);
    for (const field of untouched) (object as Record<string, unknown>)[field] = untouchedPart(field, before[field]);
    return { object, warnings };
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error;
    throw nonsense(shown(), error.cause instanceof Error ? error.cause.message : error.message);
  }
}

/** Fields in which the patch did not touch anything: they are what they were. */
function untouchedFields(after: object, before: Document): readonly string[] {
  return Object.keys(before).filter(
    (field) => typeof before[field] === 'object' && (after as Document)[field] === before[field],
  );
}

/** What nobody can change is as good as a copy (`standing-parts.ts`), but every write changes metadata. */
function untouchedPart(field: string, part: unknown): unknown {
  return field !== 'metadata' && Object.isFrozen(part) ? part : draft(part);
}

function withoutFields(document: object, fields: readonly string[]): object {
  if (fields.length === 0) return document;
  const rest: Record<string, unknown> = { ...document };
  for (const field of fields) rest[field] = undefined;
  return rest;
}

/** 422: the patch makes of the object what cannot be one. */
function nonsense(shown: string, problem: string): StatusError {
  return invalid({ group: '', kind: '' }, '', [invalidField(path('patch'), shown, problem)]);
}

/** With fields in the order in which they are written. */
function canonical(document: Document, codec: ResourceCodec): Document {
  return parseJson(codec.encode(document as unknown as KubeObject).toString()) as Document;
}

/** The patched document as upstream shows it: where the patch has been the keys are sorted, elsewhere they are as they were. */
function patchedText(after: unknown, before: unknown): string {
  if (!isObject(after) || (isObject(before) && jsonEqual(after, before)))
    return goJson(isObject(after) ? before : after);
  const known = isObject(before) ? before : {};
  const members = Object.keys(after)
    .sort()
    .map((key) => `${goJson(key)}:${patchedText(after[key], known[key])}`);
  return `{${members.join(',')}}`;
}

/**
 * Patches: JSON patch, merge patch and strategic merge patch, applied to the object in the version the client speaks. When somebody
 * else was faster the patch is applied anew to what stands there then, a few times.
 */

import { maxJsonDepth, parseExact, scanJson } from '../../apimachinery/json-text.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { applyJsonPatch } from '../../apimachinery/patch/json-patch.ts';
import { applyMergePatch, isObject } from '../../apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../apimachinery/patch/strategic-merge-patch.ts';
import { badRequest, messageOf, unsupportedMediaType } from '../../apimachinery/status.ts';
import { builtinCodec } from '../encoding/json.ts';
import { mediaTypeOf } from '../encoding/media-types.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import type { ServedResource } from '../resources.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { applyPatchType, serverSideApply } from './apply.ts';
import { checkIdentity, toHub } from './body.ts';
import { replyToWrite } from './create.ts';
import { attachOwners, detachOwners } from './managed-fields.ts';
import type { Operation } from './operation.ts';
import { updateObject } from './update.ts';
import { bodyLimitBytes, parseWriteOptions, type WriteOptions } from './write-options.ts';

/** Upstream tries this often after losing a race. */
const raceAttempts = 6;

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  applyPatchType,
] as const;

/** A patch ready to be applied to the JSON of an object; never changes its argument. */
export type ApplyPatch = (document: Readonly<Record<string, unknown>>) => unknown;

export async function patch(operation: Operation): Promise<ApiResponse> {
  const { request, resource, subresource } = operation;
  if (checkPatchType(request) === applyPatchType) return serverSideApply(operation);
  const options = parseWriteOptions(request.query, 'PatchOptions');
  const apply = await readPatch(request, resource);
  let warned = false;
  const { written } = await updateObject(operation, options, {
    attempts: raceAttempts,
    make(current) {
      const next = patched(operation, current, { apply, options, warn: !warned });
      warned = true;
      if (subresource === '') checkIdentity(operation, next);
      return next;
    },
  });
  return replyToWrite(operation, written, 200);
}

interface Patching {
  readonly apply: ApplyPatch;
  readonly options: WriteOptions;
  readonly warn: boolean;
}

function patched(
  { resource, warnings }: Operation,
  current: CacheEntry,
  { apply, options, warn }: Patching,
): Draft<KubeObject> {
  const before = current.objectIn(resource);
  const after = apply(before as unknown as Readonly<Record<string, unknown>>);
  const { fieldValidation } = options;
  const { group, version, kind } = resource.row;
  const detached = detachOwners(after as object);
  const decoded = builtinCodec().decodeValue(detached.value, { expected: { group, version, kind }, fieldValidation });
  if (warn) warnings.push(...decoded.warnings);
  const object = decoded.object as unknown as Draft<KubeObject>;
  object.metadata ??= {};
  attachOwners(object, detached);
  return toHub(resource, object);
}

/** Throws 415. */
export function checkPatchType({ headers }: ApiRequest): string {
  const mediaType = mediaTypeOf(headers['content-type'] ?? '');
  if (!patchTypes.some((type) => type === mediaType)) throw unsupportedMediaType(patchTypes);
  return mediaType;
}

/** The request's patch, checked as far as it can be without the object. Throws 400, 413, 415. */
export async function readPatch(request: ApiRequest, resource: Pick<ServedResource, 'type'>): Promise<ApplyPatch> {
  const mediaType = checkPatchType(request);
  const body = await patchBody(request);
  if (mediaType === 'application/json-patch+json') return (document) => applyJsonPatch(document, body);
  if (!isObject(body)) throw badRequest('the patch must be a JSON object');
  if (mediaType === 'application/merge-patch+json') return (document) => applyMergePatch(document, body);
  return (document) => applyStrategicMergePatch(document, body, resource.type);
}

async function patchBody({ body }: ApiRequest): Promise<unknown> {
  if (body.kind === 'value') return draft(body.value);
  const bytes = body.kind === 'bytes' ? await body.read(bodyLimitBytes) : Buffer.alloc(0);
  const text = bytes.toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    if (scanJson(text).depth <= maxJsonDepth) return value;
  } catch {
    // What is wrong with it the exact parser says below.
  }
  throw badRequest(`error decoding patch: ${exactSyntaxError(text)}`);
}

/** Go's words for what is wrong with the text. */
function exactSyntaxError(text: string): string {
  try {
    parseExact(text);
    return 'the patch is nested too deeply';
  } catch (error) {
    return messageOf(error);
  }
}

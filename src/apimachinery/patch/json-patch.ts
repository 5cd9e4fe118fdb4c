/**
 * JSON Patch (RFC 6902) as the API server takes it: a patch that cannot be read is a 400, one with too many operations a 413, and
 * one that does not apply (a failed test, a missing path) a 422. The document is never changed in place.
 */
import type { Operation } from 'fast-json-patch';
import { jsonPatchLibrary } from '../../base/lazy-module.ts';
import { badRequest, genericServerResponse, requestEntityTooLarge, type StatusError } from '../status.ts';

/** More operations than this are refused: each may copy a large value. */
export const maxJsonPatchOperations = 10_000;

/** Throws `StatusError`. */
export function applyJsonPatch<T>(document: T, patch: unknown): T {
  const operations = readOperations(patch);
  try {
    return jsonPatchLibrary().applyPatch(structuredCopy(document), operations, true, true).newDocument as T;
  } catch (error) {
    throw doesNotApply(error);
  }
}

const operationNames: ReadonlySet<unknown> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);

function readOperations(patch: unknown): Operation[] {
  if (!Array.isArray(patch)) {
    throw badRequest(`json: cannot unmarshal ${jsonKind(patch)} into Go value of type jsonpatch.Patch`);
  }
  for (const operation of patch) {
    if (typeof operation !== 'object' || operation === null || Array.isArray(operation)) {
      throw badRequest(`json: cannot unmarshal ${jsonKind(operation)} into Go value of type jsonpatch.Operation`);
    }
  }
  if (patch.length > maxJsonPatchOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${patch.length}`,
    );
  }
  const unknown = patch.find((operation) => !operationNames.has(operation.op));
  if (unknown) throw doesNotApply(new Error(`Unexpected kind: ${String(unknown.op)}`));
  return structuredCopy(patch) as Operation[];
}

function jsonKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
}

/** Upstream tells the client no more than this; the reason stays in `cause` for the log. */
function doesNotApply(cause: unknown): StatusError {
  const error = genericServerResponse({ code: 422, method: '' });
  error.cause = cause;
  return error;
}

/** Operations and document are JSON; the library takes values over by reference. */
function structuredCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/**
 * JSON Patch (RFC 6902) as the API server takes it: a patch that cannot be read is a 400, one with too many operations a 413, and
 * one that does not apply (a failed test, a missing path) a 422. The document is never changed in place: what operations pass through is
 * copied, once; all else is shared with the original.
 */

import type { Operation } from 'fast-json-patch';
import { jsonPatchLibrary } from '../../base/lazy-module.ts';
import { jsonText, parseJson } from '../exact-json.ts';
import { setOwn } from '../json-text.ts';
import { badRequest, genericServerResponse, requestEntityTooLarge, type StatusError } from '../status.ts';

/** More operations than this are refused: each may copy a large value. */
export const maxJsonPatchOperations = 10_000;

/** A `test` that the document does not pass: the cause of the `StatusError`, for who takes it as a condition. */
export class FailedTestError extends Error {
  override readonly name = 'FailedTestError';
}

/** Throws `StatusError`. */
export function applyJsonPatch<T>(document: T, patch: unknown): T {
  const operations = readOperations(patch);
  const { applyOperation } = jsonPatchLibrary();
  const copies = new Set<unknown>();
  let result = document;
  try {
    for (const [index, operation] of operations.entries()) {
      if (operation.path === '') refuseOfWhole(operation);
      result = copiedAlong(result, operation.path, copies);
      if ('from' in operation) result = copiedAlong(result, operation.from, copies);
      try {
        result = applyOperation(result, operation, true, true, true, index).newDocument;
      } catch (error) {
        const reason = reasonOf(operation, result);
        throw operation.op === 'test' ? new FailedTestError(reason) : new Error(reason, { cause: error });
      }
    }
    return result;
  } catch (error) {
    throw doesNotApply(error);
  }
}

/** Of the whole document there are only tests, and another object or list in its place. */
function refuseOfWhole(operation: Operation): void {
  if (operation.op === 'test') return;
  if (operation.op !== 'replace') throw new Error(nowhere(operation));
  if (typeof operation.value !== 'object' || operation.value === null) {
    throw new Error('replace operation value must be object or array: %!w(<nil>)');
  }
}

/** Upstream's words for an operation that the document does not allow; the library's own would show the document. */
function reasonOf(operation: Operation, document: unknown): string {
  const { op, path } = operation;
  if (typeof path !== 'string') return `${op} operation failed to decode path: missing value`;
  if (op === 'test') return `testing value ${path} failed: test failed`;
  const pointer = op === 'move' || op === 'copy' ? operation.from : path;
  const key = unescaped(path.slice(path.lastIndexOf('/') + 1));
  if (op === 'add' || !isContainer(parentOf(document, pointer))) return nowhere(operation);
  if (op === 'remove')
    return `error in remove for path: '${path}': Unable to remove nonexistent key: ${key}: missing value`;
  if (op === 'replace') return `replace operation does not apply: doc is missing key: ${path}: missing value`;
  return nowhere(operation);
}

function nowhere(operation: Operation): string {
  const { op, path } = operation;
  const pointer =
    op === 'move' || op === 'copy' ? `from path: ${operation.from}` : `path: ${op === 'replace' ? path : `"${path}"`}`;
  return `${op} operation does not apply: doc is missing ${pointer}: missing value`;
}

/** What holds that to which the pointer leads. */
function parentOf(document: unknown, pointer: string): unknown {
  let found = document;
  for (const step of pointer.slice(1).split('/').slice(0, -1)) {
    const key = unescaped(step);
    if (!isContainer(found) || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

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

/**
 * The document with copies of its own of every object and array that the pointer leads into, so that these may be changed. `copies` holds those
 * made before. A pointer that leads nowhere, or is none, is the library's to refuse.
 */
function copiedAlong<T>(document: T, pointer: unknown, copies: Set<unknown>): T {
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return document;
  const copied = <V>(value: V): V => {
    if (typeof value !== 'object' || value === null || copies.has(value)) return value;
    const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as V;
    copies.add(copy);
    return copy;
  };
  const root = copied(document);
  let container: unknown = root;
  for (const step of pointer.slice(1).split('/').slice(0, -1)) {
    const key = unescaped(step);
    if (typeof container !== 'object' || container === null || !Object.hasOwn(container, key)) return root;
    const children = container as Record<string, unknown>;
    const child = copied(children[key]);
    setOwn(children, key, child);
    container = child;
  }
  return root;
}

/** Operations are JSON; the library takes values over by reference. */
function structuredCopy<T>(value: T): T {
  return parseJson(jsonText(value)) as T;
}

/**
 * JSON Patch (RFC 6902) as the API server takes it: a patch that cannot be read is a 400, one with too many operations a 413, and
 * one that does not apply (a failed test, a missing path) a 422. The document is never changed in place: what operations pass through is
 * copied, once; all else is shared with the original. Keys are the document's own, `__proto__` and `constructor` like any other.
 *
 * Where upstream differs from the standard, upstream is followed: an index may count from the end (`-1` is the last element), `replace`
 * adds to an object what it lacks, `copy` takes what is not there for null, `test` finds null where nothing is.
 */
import { jsonText, parseJson } from '../exact-json.ts';
import { maxJsonDepth, setOwn } from '../json-text.ts';
import { badRequest, genericServerResponse, messageOf, requestEntityTooLarge, type StatusError } from '../status.ts';
import { jsonEqual } from './merge-patch.ts';

/** More operations than this are refused: each may look at a large value. */
export const maxJsonPatchOperations = 10_000;
/** All copies of a patch together: a few of them, each of the last one, would otherwise fill any memory. */
export const maxJsonPatchCopyBytes: number = 3 * 1024 * 1024;

/** A `test` that the document does not pass: the cause of the `StatusError`, for who takes it as a condition. */
export class FailedTestError extends Error {
  override readonly name = 'FailedTestError';
}

type Operation = Readonly<Record<'op' | 'path' | 'from' | 'value', unknown>>;

/** Throws `StatusError`. */
export function applyJsonPatch<T>(document: T, patch: unknown): T {
  const operations = readOperations(patch);
  const patched = new PatchedDocument(document);
  try {
    for (const operation of operations) patched.apply(operation);
    if (operations.some(mayDeepen) && isDeeper(patched.root, maxJsonDepth)) throw new Error('exceeded max depth');
  } catch (error) {
    throw doesNotApply(error);
  }
  return patched.root as T;
}

function readOperations(patch: unknown): readonly Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) {
    throw badRequest(`json: cannot unmarshal ${jsonKind(patch)} into Go value of type jsonpatch.Patch`);
  }
  const operations = patch.map((operation: unknown): unknown => operation ?? {});
  for (const operation of operations) {
    if (typeof operation !== 'object' || Array.isArray(operation)) {
      throw badRequest(`json: cannot unmarshal ${jsonKind(operation)} into Go value of type jsonpatch.Operation`);
    }
  }
  if (operations.length > maxJsonPatchOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${operations.length}`,
    );
  }
  return operations as readonly Operation[];
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

type Container = Record<string, unknown> | unknown[];

/** Where a pointer leads: to a key of something that is there, whether or not the key is. */
interface Place {
  readonly container: Container;
  readonly key: string;
}

/** The reasons that it throws are upstream's, and show nothing of the document. */
class PatchedDocument {
  root: unknown;
  /** What was copied or made here, and so may be changed. */
  readonly #own = new Set<unknown>();
  #copiedBytes = 0;

  constructor(document: unknown) {
    this.root = document;
  }

  apply(operation: Operation): void {
    switch (operation.op) {
      case 'add':
        return this.#add(operation);
      case 'remove':
        return this.#remove(operation);
      case 'replace':
        return this.#replace(operation);
      case 'move':
        return this.#move(operation);
      case 'copy':
        return this.#copy(operation);
      case 'test':
        return this.#test(operation);
      default:
        throw new Error(`Unexpected kind: ${typeof operation.op === 'string' ? operation.op : 'unknown'}`);
    }
  }

  #add({ path, value }: Operation): void {
    if (typeof path !== 'string') throw new Error('add operation failed to decode path: missing value');
    const place = this.#placeToWrite(path);
    if (!place) throw new Error(`add operation does not apply: doc is missing path: "${path}": missing value`);
    within(`error in add for path: '${path}'`, () => insert(place, brought(value)));
  }

  #remove({ path }: Operation): void {
    if (typeof path !== 'string') throw new Error('remove operation failed to decode path: missing value');
    const place = this.#placeToWrite(path);
    if (!place) throw new Error(`remove operation does not apply: doc is missing path: "${path}": missing value`);
    within(`error in remove for path: '${path}'`, () => remove(place));
  }

  #replace(operation: Operation): void {
    const path = pointerOf(operation, 'path');
    const value = brought(operation.value);
    if (path === '') {
      if (!isContainer(value)) throw new Error('replace operation value must be object or array: %!w(<nil>)');
      this.root = value;
      return;
    }
    const place = this.#placeToWrite(path);
    if (!place) throw new Error(`replace operation does not apply: doc is missing path: ${path}: missing value`);
    try {
      put(place, value);
    } catch (cause) {
      throw new Error(`replace operation does not apply: doc is missing key: ${path}: missing value`, { cause });
    }
  }

  #move(operation: Operation): void {
    const from = pointerOf(operation, 'from');
    const source = this.#placeToWrite(from);
    if (!source) throw new Error(`move operation does not apply: doc is missing from path: ${from}: missing value`);
    const value = within(`error in move for path: '${source.key}'`, () => {
      const found = valueAt(source);
      remove(source);
      return found;
    });
    const path = pointerOf(operation, 'path');
    const target = this.#placeToWrite(path);
    if (!target)
      throw new Error(`move operation does not apply: doc is missing destination path: ${path}: missing value`);
    within(`error in move for path: '${path}'`, () => insert(target, value));
  }

  #copy(operation: Operation): void {
    const from = pointerOf(operation, 'from');
    const source = this.#place(from);
    if (!source) throw new Error(`copy operation does not apply: doc is missing from path: ${from}: missing value`);
    const value = within(`error in copy for from: '${from}'`, () => valueAt(source));
    const { path } = operation;
    if (typeof path !== 'string') throw new Error('copy operation failed to decode path: missing value');
    const target = this.#placeToWrite(path);
    if (!target)
      throw new Error(`copy operation does not apply: doc is missing destination path: ${path}: missing value`);
    const copy = this.#copyOf(value);
    within('error while adding value during copy', () => insert(target, copy));
  }

  #copyOf(value: unknown): unknown {
    if (value === undefined) return null;
    const text = jsonText(value);
    this.#copiedBytes += Buffer.byteLength(text);
    if (this.#copiedBytes > maxJsonPatchCopyBytes) {
      throw new Error(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${maxJsonPatchCopyBytes}`,
      );
    }
    return isContainer(value) ? parseJson(text) : value;
  }

  #test(operation: Operation): void {
    const path = pointerOf(operation, 'path');
    const { value: wanted } = operation;
    const failed = () => new FailedTestError(`testing value ${path} failed: test failed`);
    if (path === '') {
      if (!jsonEqual(this.root, wanted)) throw failed();
      return;
    }
    const place = this.#place(path);
    if (!place) throw new Error(`test operation does not apply: is missing path: ${path}: missing value`);
    const found = within(`error in test for path: '${path}'`, () => valueAt(place));
    if (!jsonEqual(found ?? null, wanted ?? null)) throw failed();
  }

  /** Undefined where what should hold the key is not there. */
  #place(pointer: string): Place | undefined {
    return this.#walk(pointer, (_, child) => child);
  }

  /** The same, in containers that may be changed. */
  #placeToWrite(pointer: string): Place | undefined {
    return this.#walk(pointer, (place, child) => {
      if (this.#own.has(child)) return child;
      const copy = Array.isArray(child) ? [...child] : { ...child };
      this.#own.add(copy);
      if (place) put(place, copy);
      else this.root = copy;
      return copy;
    });
  }

  #walk(pointer: string, enter: (place: Place | undefined, child: Container) => Container): Place | undefined {
    const steps = pointer.split('/').slice(1);
    const last = steps.pop();
    if (last === undefined || !isContainer(this.root)) return undefined;
    let container = enter(undefined, this.root);
    for (const step of steps) {
      const place = { container, key: unescaped(step) };
      const child = childAt(place);
      if (!isContainer(child)) return undefined;
      container = enter(place, child);
    }
    return { container, key: unescaped(last) };
  }
}

/** Says of an error where it happened. */
function within<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(`${where}: ${messageOf(cause)}`, { cause });
  }
}

/** A value of the patch: JSON, and the document's from now on. */
function brought(value: unknown): unknown {
  return isContainer(value) ? parseJson(jsonText(value)) : (value ?? null);
}

/** Whether it may put containers into others. */
function mayDeepen({ op, value }: Operation): boolean {
  return op === 'move' || op === 'copy' || isContainer(value);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (!isContainer(value)) return false;
  if (levels === 0) return true;
  // Containers come from JSON: what they list is their own.
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

function pointerOf(operation: Operation, member: 'path' | 'from'): string {
  const pointer = operation[member];
  if (typeof pointer === 'string') return pointer;
  const comma = member === 'from' ? ',' : '';
  throw new Error(
    `${String(operation.op)} operation failed to decode ${member}: ${
      pointer === undefined || pointer === null
        ? `operation${comma} missing ${member} field: missing value`
        : `json: cannot unmarshal ${jsonKind(pointer)} into Go value of type string`
    }`,
  );
}

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** Undefined where an object has no such key. Throws for what is no index of a list. */
function valueAt({ container, key }: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(container, key)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function childAt(place: Place): unknown {
  try {
    return valueAt(place);
  } catch {
    return undefined;
  }
}

/** In place of what is there; throws where a list has nothing there. */
function put({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(container, key)] = value;
  else setOwn(container, key, value);
}

/** Into a list, before what is there or at its end. */
function insert({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) return setOwn(container, key, value);
  if (key === '-') return void container.push(value);
  const index = within(`value was not a proper array index: '${key}'`, () => integerOf(key));
  container.splice(positionOf(index, container.length + 1), 0, value);
}

function remove({ container, key }: Place): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(container, key), 1);
    return;
  }
  if (!Object.hasOwn(container, key)) throw new Error(`Unable to remove nonexistent key: ${key}: missing value`);
  delete container[key];
}

function indexOf(list: readonly unknown[], key: string): number {
  return positionOf(integerOf(key), list.length);
}

function integerOf(key: string): number {
  if (!/^[+-]?\d+$/.test(key)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
  return Number(key);
}

/** One of `count` positions, counted from the end where negative. */
function positionOf(index: number, count: number): number {
  if (index < -count || index >= count) {
    throw new Error(`Unable to access invalid index: ${index}: invalid index referenced`);
  }
  return index < 0 ? index + count : index;
}

/**
 * Who owns which fields, kept right by every write: joins the algebra of `apimachinery/managed-fields` to requests and stored
 * kinds. Ownership is reckoned before admission and the strategies, as upstream does: what these change on their own belongs
 * to nobody.
 */

import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import type { JsonObject } from '../../apimachinery/managed-fields/comparison.ts';
import type { FieldSet } from '../../apimachinery/managed-fields/field-set.ts';
import {
  identityOf,
  isReset,
  type Managers,
  managerEntries,
  readManagers,
  storedManagers,
  type Writer,
} from '../../apimachinery/managed-fields/managers.ts';
import { type OwnedKind, updateOwnership } from '../../apimachinery/managed-fields/ownership.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import { equalBut, jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { apiVersionOf, type GroupVersionKind } from '../../apimachinery/resource.ts';
import { BackendError } from '../../storage/store.ts';
import { tableCodec } from '../encoding/resource-codec.ts';
import type { ApiRequest } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import type { Operation } from './operation.ts';
import { resetFields } from './reset-fields.ts';
import type { WriteOptions } from './write-options.ts';

const longestManager = 128;

/** What the client calls itself: its field manager, else the first part of its User-Agent as far as it can be printed. */
function managerName(fieldManager: string, { headers }: Pick<ApiRequest, 'headers'>): string {
  return fieldManager || agentPrefix(headers['user-agent'] ?? '') || 'unknown';
}

function agentPrefix(agent: string): string {
  const slash = agent.indexOf('/');
  const first = slash < 0 ? agent : agent.slice(0, slash);
  if (first.length <= longestManager && /^[\x20-\x7e]*$/.test(first)) return first;
  let name = '';
  let bytes = 0;
  for (const character of first) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > longestManager) break;
    name += character;
  }
  return name;
}

type Detached = { readonly value: object; readonly managedFields: readonly ManagedFieldsEntry[] | undefined };

/**
 * Takes managedFields that came from this server out of an object before it is decoded, so that half of it is not walked and copied to find
 * that it is the same. What the server gave away is frozen; what a client made is left in.
 */
export function detachOwners(value: object): Detached {
  const metadata = (value as Partial<KubeObject> | undefined)?.metadata;
  const managedFields = metadata?.managedFields;
  if (!Array.isArray(managedFields) || !Object.isFrozen(managedFields)) return { value, managedFields: undefined };
  return { value: { ...value, metadata: { ...metadata, managedFields: undefined } }, managedFields };
}

export function attachOwners(object: Draft<KubeObject>, { managedFields }: Detached): void {
  if (managedFields) object.metadata.managedFields = managedFields as Draft<ManagedFieldsEntry>[];
}

/** A copy to work on; owners that nobody can change are shared with the original. */
export function copyObject(object: KubeObject): Draft<KubeObject> {
  const detached = detachOwners(object);
  const copy = draft(detached.value as KubeObject);
  attachOwners(copy, detached);
  return copy;
}

export type Track = (next: Draft<KubeObject>, previous: KubeObject) => void;

/** Writes the owners into an object that is to be created. It is in the hub version. */
export function trackCreation(operation: Operation, object: Draft<KubeObject>, options: WriteOptions): void {
  const given = object.metadata.managedFields as readonly ManagedFieldsEntry[] | undefined;
  delete object.metadata.managedFields;
  const managers = given === undefined || isReset(given) ? nobody : (tryRead(given) ?? nobody);
  const kind = ownedKind(operation);
  setOwners(
    operation,
    object,
    updateOwnership({
      kind,
      live: {},
      next: servedForm(operation.resource, object),
      managers,
      writer: writerOf(operation, options.fieldManager, 'Update'),
      now: operation.environment.nowText(),
    }),
  );
}

/** The owner of a question that nobody stores: whoever asks has written all of it. */
export function trackQuestion(object: Draft<KubeObject>, asked: Question): void {
  const { request, kind, subresource, fieldManager, now } = asked;
  delete object.metadata.managedFields;
  const apiVersion = apiVersionOf(kind);
  const { shape } = tableCodec(kind);
  const owned: OwnedKind = {
    apiVersion,
    shape,
    reset: undefined,
    inVersion: (given) => ({ object: given, shape }),
    shapeIn: () => shape,
    fromVersion: (given) => given,
  };
  const writer = { manager: managerName(fieldManager, request), operation: 'Update', apiVersion, subresource } as const;
  const next = object as unknown as JsonObject;
  const managers = updateOwnership({ kind: owned, live: {}, next, managers: nobody, writer, now });
  const entries = managerEntries(managers, (_, fields) => fields);
  if (entries !== undefined) object.metadata.managedFields = entries as Draft<ManagedFieldsEntry>[];
}

interface Question {
  readonly request: ApiRequest;
  readonly kind: GroupVersionKind;
  readonly subresource: string;
  readonly fieldManager: string;
  readonly now: string;
}

/** The owners after an update of `previous`, both in the hub version. */
export function trackUpdate(operation: Operation, options: Pick<WriteOptions, 'fieldManager'>): Track {
  return (next, previous) => {
    const managers = managersFor(operation, next, previous);
    // Both sides hold the same value, so that the comparison passes over it.
    next.metadata.managedFields = previous.metadata.managedFields as Draft<ManagedFieldsEntry>[] | undefined;
    if (managers.size === 0) {
      delete next.metadata.managedFields;
      return;
    }
    setOwners(
      operation,
      next,
      updateOwnership({
        kind: ownedKind(operation),
        live: servedForm(operation.resource, previous),
        next: servedForm(operation.resource, next),
        managers,
        writer: writerOf(operation, options.fieldManager, 'Update'),
        now: operation.environment.nowText(),
      }),
    );
  };
}

export function setOwners({ kind, environment }: Operation, { metadata }: Draft<KubeObject>, managers: Managers): void {
  const share = (writer: Writer, fields: FieldSet) =>
    environment.fieldSets.share(`${kind.name}\0${identityOf(writer)}`, fields);
  const entries = managerEntries(managers, share);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries as Draft<ManagedFieldsEntry>[];
}

/** Clients may change the owners of an object, or forget all, but not on a subresource; what cannot be read leaves them as they are. */
function managersFor({ subresource }: Operation, next: KubeObject, previous: KubeObject): Managers {
  const given = next.metadata.managedFields;
  const standing = previous.metadata.managedFields;
  if (subresource !== '' || given === undefined) return storedManagers(standing);
  if (isReset(given)) return nobody;
  if (jsonEqual(given, standing)) return storedManagers(standing);
  const read = tryRead(given);
  return read === undefined || read.size === 0 ? storedManagers(standing) : read;
}

function tryRead(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
  try {
    return readManagers(entries);
  } catch {
    return undefined;
  }
}

const nobody: Managers = new Map();

export function writerOf(operation: Operation, fieldManager: string, as: Writer['operation']): Writer {
  return {
    manager: managerName(fieldManager, operation.request),
    operation: as,
    apiVersion: operation.resource.apiVersion,
    subresource: operation.subresource,
  };
}

/** The operation's kind in its own version, with the fields it cannot change. */
export function ownedKind({ resource, kind, subresource, environment }: Operation): OwnedKind {
  const { apiVersion } = resource;
  const shapeOf = ({ codec }: ServedResource) => codec.shape;
  return {
    apiVersion,
    shape: shapeOf(resource),
    reset: resetFields(kind, subresource),
    inVersion(object, wanted) {
      if (wanted === apiVersion) return { object, shape: shapeOf(resource) };
      const version = kind.versions.get(wanted);
      if (!version) return undefined;
      return { object: fromHub(version, toHub(resource, object)), shape: shapeOf(version) };
    },
    shapeIn(wanted) {
      const version = wanted === apiVersion ? resource : kind.versions.get(wanted);
      return version && shapeOf(version);
    },
    reconciled: environment.fieldSets.reconciled,
    fromVersion(object, from) {
      const version = kind.versions.get(from);
      return version ? fromHub(resource, toHub(version, object)) : object;
    },
  };
}

/** The object as the request's version has it. */
export function servedForm(resource: ServedResource, object: KubeObject): JsonObject {
  return fromHub(resource, object as unknown as JsonObject);
}

function fromHub({ conversion }: ServedResource, object: JsonObject): JsonObject {
  if (!conversion || conversion.identity) return object;
  return conversion.fromHub(object as unknown as KubeObject) as unknown as JsonObject;
}

function toHub({ conversion }: ServedResource, object: JsonObject): JsonObject {
  if (!conversion || conversion.identity) return object;
  return conversion.toHub(draft(object as unknown as KubeObject)) as unknown as JsonObject;
}

/** Whether two objects have the same owners of the same fields, whenever these were written. */
export function sameOwners(a: KubeObject, b: KubeObject): boolean {
  const x = a.metadata.managedFields ?? [];
  const y = b.metadata.managedFields ?? [];
  if (x === y) return true;
  return x.length === y.length && x.every((entry, index) => equalBut(whenWritten, entry, y[index]!));
}

const whenWritten: ReadonlySet<string> = new Set(['time']);

/**
 * An object that the backend finds too large is written once more without its managedFields, which can be the larger part of it: who owns
 * which field is then not known, but what was asked for is kept. Not for an apply, whose result is about the owners. `write` may be called
 * twice, the second time with a copy.
 */
export async function shortenedIfTooLarge<T extends KubeObject, R>(
  object: T,
  write: (object: T) => Promise<R>,
): Promise<R> {
  try {
    return await write(object);
  } catch (error) {
    const { managedFields, ...metadata } = object.metadata;
    if (!(error instanceof BackendError && error.tooLarge) || !managedFields?.length) throw error;
    return write({ ...object, metadata });
  }
}

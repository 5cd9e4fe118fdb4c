/**
 * What upstream's many tests named "should support ... API operations" have in common: the resource stands in the discovery
 * documents and every verb works on it, each seen by the others. What is special to a kind is left to its own test.
 */
import assert from 'node:assert/strict';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../../src/apimachinery/resource.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import {
  type Client,
  isAlreadyExists,
  isNotFound,
  type ObjectReference,
  retryOnConflict,
} from '../../src/client/index.ts';
import { follow, whenAll, whenGone } from './cluster.ts';

interface GroupVersion {
  readonly groupVersion: string;
  readonly version: string;
}
interface Group {
  readonly name: string;
  readonly versions: readonly GroupVersion[];
}
interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** What every resource with storage of its own must support. */
const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The resource and these subresources stand in each discovery document from `/apis` down. */
export async function assertDiscovered(
  client: Client,
  type: ResourceType<unknown>,
  subresources: readonly string[] = [],
): Promise<void> {
  const { group, version, resource, kind, namespaced } = type;
  const read = async <T>(path: string) => (await client.raw({ method: 'GET', path })) as T;
  const named = (versions: readonly GroupVersion[]) =>
    versions.some((entry) => entry.version === version && entry.groupVersion === apiVersionOf(type));
  const { groups } = await read<{ readonly groups: readonly Group[] }>('/apis');
  assert.ok(named(groups.find(({ name }) => name === group)?.versions ?? []), `/apis has no ${apiVersionOf(type)}`);
  assert.ok(named((await read<Group>(`/apis/${group}`)).versions), `/apis/${group} has no ${version}`);
  const { resources } = await read<{ readonly resources: readonly Resource[] }>(`/apis/${group}/${version}`);
  const found = resources.find(({ name }) => name === resource);
  assert.deepEqual({ kind: found?.kind, namespaced: found?.namespaced }, { kind, namespaced });
  assert.deepEqual(found?.verbs.toSorted(), allVerbs);
  for (const subresource of subresources)
    assert.ok(
      resources.some(({ name }) => name === `${resource}/${subresource}`),
      `no ${resource}/${subresource}`,
    );
}

export interface Operations<T> {
  /** Created one after the other; all match the selector. */
  readonly objects: readonly T[];
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** One that the selector does not match: it must outlive them. */
  readonly bystander?: T;
  /** What else is to be done with the first of them before it is deleted. */
  readonly meanwhile?: (first: T) => Promise<void>;
}

/** Creates, gets, lists, watches, patches, updates, deletes, and deletes as a collection. */
export async function assertOperations<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  operations: Operations<T>,
): Promise<void> {
  const { objects, labelSelector, fieldSelector, bystander, meanwhile } = operations;
  const kept = bystander && (await client.create(type, bystander));
  const created: T[] = [];
  for (const object of objects) created.push(await client.create(type, object));
  const first = created[0]!;
  const ref = referenceTo(first);
  const { namespace } = ref;
  const selection = { namespace, labelSelector, fieldSelector };
  if (objects[0]!.metadata.name) await assert.rejects(client.create(type, objects[0]!), isAlreadyExists);

  const read = await client.get(type, ref);
  assert.equal(read.metadata.uid, first.metadata.uid);
  assertValidVersion(read);

  const names = created.map(({ metadata }) => metadata.name).sort();
  const listed = await client.list(type, selection);
  assert.deepEqual(listed.items.map(({ metadata }) => metadata.name).sort(), names);
  const everywhere = await client.list(type, { labelSelector, fieldSelector });
  assert.deepEqual(everywhere.items.map(({ metadata }) => metadata.name).sort(), names);

  const { resourceVersion } = listed;
  using changes = await follow(client, type, { ...selection, resourceVersion });
  using allChanges = await follow(client, type, { labelSelector, fieldSelector, resourceVersion });

  const patched = await annotate(client, type, ref, 'patched');
  assert.equal(patched.metadata.annotations?.patched, 'true');
  assertNewer(patched, read);
  const updated = await change(client, type, ref, (current) => withAnnotation(current, 'updated'));
  assert.equal(updated.metadata.annotations?.updated, 'true');
  assert.equal(updated.metadata.annotations?.patched, 'true');
  assertNewer(updated, patched);
  await meanwhile?.(updated);

  // At once, or when a controller has taken its finalizer off.
  await assertDeleted(client, type, first);
  const left = await client.list(type, selection);
  assert.equal(left.items.length, created.length - 1);
  await client.deleteCollection(type, selection);
  await whenAll(client, type, selection, (objects) => objects.length === 0);
  if (kept) assert.equal((await client.get(type, referenceTo(kept))).metadata.uid, kept.metadata.uid);

  for (const watch of [changes, allChanges]) {
    for (const seen of ['patched', 'updated']) {
      const told = await watch.until(
        ({ object: { metadata } }) => metadata.name === ref.name && metadata.annotations?.[seen] === 'true',
      );
      assert.equal(told.type, 'MODIFIED');
    }
    const gone = new Set<string | undefined>();
    while (gone.size < created.length) gone.add((await watch.until(isDeletion)).object.metadata.name);
    assert.deepEqual([...gone].sort(), names);
  }
}

/** `GET` of the subresource answers the whole object under its own kind. */
export async function assertSubresourceRead<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
  subresource = 'status',
): Promise<T> {
  const read = await client.get(type, referenceTo(object), { subresource });
  assert.deepEqual(
    { apiVersion: read.apiVersion, kind: read.kind, uid: read.metadata.uid },
    { apiVersion: apiVersionOf(type), kind: type.kind, uid: object.metadata.uid },
  );
  return read;
}

export function referenceTo({ metadata: { namespace, name } }: KubeObject): ObjectReference {
  return { namespace, name: name! };
}

export function withAnnotation<T extends KubeObject>(object: T, name: string): T {
  const annotations = { ...object.metadata.annotations, [name]: 'true' };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** By merge patch. */
export function annotate<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
  name: string,
): Promise<T> {
  return client.patch(type, ref, { type: 'merge', body: { metadata: { annotations: { [name]: 'true' } } } });
}

/** Reads the object, changes it and writes it back; again when somebody else wrote in between. */
export function change<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  ref: ObjectReference,
  how: (current: T) => T,
  subresource?: string,
): Promise<T> {
  const attempt = async () => client.update(type, how(await client.get(type, ref)), { subresource });
  return retryOnConflict(attempt, { clock: systemClock, random: systemRandom });
}

/** A number that can be compared, as clients since v1.35 rely on. */
export function assertValidVersion({ metadata }: KubeObject): void {
  assert.match(metadata.resourceVersion ?? '', /^[1-9]\d*$/);
}

export function assertNewer(later: KubeObject, earlier: KubeObject): void {
  assertValidVersion(later);
  assert.ok(
    BigInt(later.metadata.resourceVersion!) > BigInt(earlier.metadata.resourceVersion!),
    `${later.metadata.resourceVersion} is not after ${earlier.metadata.resourceVersion}`,
  );
}

const isDeletion = ({ type }: { readonly type: string }) => type === 'DELETED';

const mark = 'e2e-lifecycle';

/** The first half of upstream's lifecycles: an object is read, labelled by a patch, and found by its label. */
export async function assertReadAndPatched<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  created: T,
): Promise<void> {
  const ref = referenceTo(created);
  const read = await client.get(type, ref);
  assert.equal(read.metadata.name, created.metadata.name);
  assert.equal(read.metadata.uid, created.metadata.uid);
  assertValidVersion(read);
  const body = { metadata: { labels: { [mark]: 'patched' } } };
  const patched = await client.patch(type, ref, { type: 'strategic', body });
  assert.equal(patched.metadata.labels?.[mark], 'patched');
  assertNewer(patched, read);
  const { items } = await client.list(type, { labelSelector: `${mark}=patched` });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.uid),
    [created.metadata.uid],
  );
}

export async function assertDeleted<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  await client.delete(type, referenceTo(object));
  await whenGone(client, type, referenceTo(object));
  await assert.rejects(client.get(type, referenceTo(object)), isNotFound);
}

/** The second half: replacements are labelled by updates, found by their label and deleted as a collection, and nothing else is. */
export async function assertUpdatedAndCollected<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  created: readonly T[],
): Promise<void> {
  const { namespace } = created[0]!.metadata;
  const before = await client.list(type, { namespace });
  for (const object of created) {
    const updated = await change(client, type, referenceTo(object), (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, [mark]: 'updated' } },
    }));
    assert.equal(updated.metadata.labels?.[mark], 'updated');
  }
  const labelSelector = `${mark}=updated`;
  assert.equal((await client.list(type, { labelSelector })).items.length, created.length);
  await client.deleteCollection(type, { namespace, labelSelector });
  for (const object of created) await whenGone(client, type, referenceTo(object));
  assert.deepEqual((await client.list(type, { labelSelector })).items, []);
  assert.equal((await client.list(type, { namespace })).items.length, before.items.length - created.length);
}

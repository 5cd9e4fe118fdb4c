/**
 * Custom objects as owners and dependents: the collector and the namespaces learn of a kind when it is defined, not half a minute later,
 * and then treat its objects like any other's.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { type ConfigMap, configMaps, namespaces } from '../../src/api/gen/core-v1.ts';
import type { KubeObject, OwnerReference } from '../../src/apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../../src/apimachinery/resource.ts';
import { startCluster, when, whenGone } from '../conformance/cluster.ts';
import { type Defined, define } from '../conformance/definitions.ts';

const cluster = await startCluster({ scheduler: false });
const { client } = cluster;

function ownedBy(type: ResourceType, owner: KubeObject, rest: Partial<OwnerReference> = {}): OwnerReference {
  const { name = '', uid = '' } = owner.metadata;
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, uid, ...rest };
}

/** A gadget of a kind that was not there a moment ago, and a ConfigMap that it owns. */
async function family(defined: Defined, namespace: string, rest: Partial<OwnerReference> = {}) {
  const type = defined.type();
  const owner = await client.create(type, { metadata: { namespace, name: 'owner' } });
  const child: ConfigMap = await client.create(configMaps, {
    metadata: { namespace, name: 'child', ownerReferences: [ownedBy(type, owner, rest)] },
  });
  return { type, owner, child, at: { namespace, name: 'owner' }, childAt: { namespace, name: 'child' } };
}

describe('objects of a kind that was just defined', async () => {
  const defined = await define(client, { namespaced: true });
  after(() => client.delete(customResourceDefinitions, { name: defined.name }));

  it('take what they own with them', async () => {
    const { type, at, childAt } = await family(defined, await cluster.namespace());
    await client.delete(type, at);
    await whenGone(client, configMaps, childAt);
  });

  it('let it go when they orphan it', async () => {
    const { type, at, childAt } = await family(defined, await cluster.namespace());
    await client.delete(type, at, { propagationPolicy: 'Orphan' });
    await whenGone(client, type, at);
    const left = await when(client, configMaps, childAt, (child) => child?.metadata.ownerReferences === undefined);
    assert.equal(left?.metadata.deletionTimestamp, undefined);
  });

  it('wait in the foreground for what blocks them', async () => {
    const { type, at, childAt } = await family(defined, await cluster.namespace(), { blockOwnerDeletion: true });
    const hold = (finalizers: readonly string[] | null) =>
      client.patch(configMaps, childAt, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['example.com/hold']);
    await client.delete(type, at, { propagationPolicy: 'Foreground' });
    await when(client, configMaps, childAt, (child) => child?.metadata.deletionTimestamp !== undefined);
    const waiting = await client.get(type, at);
    assert.deepEqual(waiting.metadata.finalizers, ['foregroundDeletion']);
    await hold(null);
    await whenGone(client, type, at);
  });

  it('go in the foreground before what does not block them', async () => {
    const { type, at, childAt } = await family(defined, await cluster.namespace());
    const body = { metadata: { finalizers: ['example.com/hold'] } };
    await client.patch(configMaps, childAt, { type: 'merge', body });
    await client.delete(type, at, { propagationPolicy: 'Foreground' });
    await whenGone(client, type, at);
    await client.patch(configMaps, childAt, { type: 'merge', body: { metadata: { finalizers: null } } });
  });

  it('go with an owner of another custom kind', async () => {
    const [other, namespace] = await Promise.all([
      define(client, { kind: 'Widget', namespaced: true }),
      cluster.namespace(),
    ]);
    const { type, owner, at } = await family(defined, namespace);
    const dependent = { namespace, name: 'dependent', ownerReferences: [ownedBy(type, owner)] };
    await client.create(other.type(), { metadata: dependent });
    await client.delete(type, at);
    await whenGone(client, other.type(), dependent);
    await client.delete(customResourceDefinitions, { name: other.name });
  });

  it('are waited for by their namespace until their finalizers are gone', async () => {
    const namespace = await cluster.namespace();
    const { type, at } = await family(defined, namespace);
    const hold = (finalizers: readonly string[] | null) =>
      client.patch(type, at, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['example.com/hold']);
    await client.delete(namespaces, { name: namespace });
    const told = await when(client, namespaces, { name: namespace }, (found) =>
      Boolean(
        found?.status?.conditions?.some((one) => one.type === 'NamespaceFinalizersRemaining' && one.status === 'True'),
      ),
    );
    const remaining = told?.status?.conditions?.find((one) => one.type === 'NamespaceContentRemaining');
    assert.equal(
      remaining?.message,
      `Some resources are remaining: ${type.resource}.${type.group} has 1 resource instances`,
    );
    await hold(null);
    await whenGone(client, namespaces, { name: namespace });
  });
});

it('what refers to a kind that nobody serves is looked at when the kind is defined', async () => {
  const namespace = await cluster.namespace();
  const group = `late-${namespace}.example.com`;
  const ownerReferences = [{ apiVersion: `${group}/v1`, kind: 'Gadget', name: 'gone', uid: crypto.randomUUID() }];
  await client.create(configMaps, { metadata: { namespace, name: 'child', ownerReferences } });
  await define(client, { group, namespaced: true });
  await whenGone(client, configMaps, { namespace, name: 'child' });
});

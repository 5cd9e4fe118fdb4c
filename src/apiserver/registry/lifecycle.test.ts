/** How objects come to be, change and go, by the rules that hold for every kind: over both stores. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../api/gen/apps-v1.ts';
import { leases } from '../../api/gen/coordination-v1.ts';
import { configMaps, type Namespace, namespaces, type Pod, pods } from '../../api/gen/core-v1.ts';
import { draft, type KubeObject } from '../../apimachinery/meta.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type OpenServer, openServerWithDefault, type StoreName } from '../api-server.fixture.ts';

const pod = (name: string, more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'c', image: 'busybox' }], ...more },
});

const configMap = (name: string, metadata: KubeObject['metadata'] = {}) => ({
  metadata: { name, namespace: 'default', ...metadata },
});

for (const storeName of ['memory', 'LMDB'] satisfies StoreName[]) {
  describe(`objects in a ${storeName} store`, () => {
    let opened: OpenServer;
    let client: Client;
    const clock = new FakeClock();
    before(async () => {
      opened = await openServerWithDefault({ storeName, clock });
      client = opened.client;
    });
    after(() => opened.close());
    describeCreation(() => client);
    describeMakings(() => client);
    describeUpdates(() => client);
    describeDeletion(() => client, clock);
    describeNamespaces(() => client);
  });
}

function describeCreation(client: () => Client): void {
  test('what only the server may say is taken from nobody else', async () => {
    const created = await client().create(
      configMaps,
      configMap('system-fields', {
        uid: 'mine',
        creationTimestamp: '2000-01-01T00:00:00Z',
        deletionTimestamp: '2000-01-01T00:00:00Z',
        generation: 7,
        selfLink: '/x',
      }),
    );
    assert.notEqual(created.metadata.uid, 'mine');
    assert.notEqual(created.metadata.creationTimestamp, '2000-01-01T00:00:00Z');
    assert.equal(created.metadata.deletionTimestamp, undefined);
    assert.equal(created.metadata.selfLink, undefined);
  });

  test('a version in a new object is refused', async () => {
    await assert.rejects(client().create(configMaps, configMap('versioned', { resourceVersion: '1' })), {
      message: 'resourceVersion should not be set on objects to be created',
      code: 500,
    });
  });

  test('which version it says to have is asked when all else is well with it, and never in a dry run', async () => {
    await assert.rejects(client().create(configMaps, configMap('Not a name', { resourceVersion: '1' })), { code: 422 });
    const dry = await client().create(configMaps, configMap('dry', { resourceVersion: '1' }), { dryRun: true });
    assert.equal(dry.metadata.name, 'dry');
    for (const resourceVersion of ['0', 'none']) {
      const created = await client().create(configMaps, configMap(`version-${resourceVersion}`, { resourceVersion }));
      assert.match(created.metadata.resourceVersion ?? '', /^[1-9]\d*$/);
    }
  });

  test('all errors are told at once', async () => {
    const object = configMap('Not a name', { labels: { 'a b': 'c d' }, finalizers: ['nonsense'] });
    await assert.rejects(
      client().create(configMaps, object),
      (error: { status: { code: number; details: { causes: { field: string }[] } } }) => {
        assert.equal(error.status.code, 422);
        const fields = error.status.details.causes.map(({ field }) => field);
        assert.deepEqual([...new Set(fields)], ['metadata.name', 'metadata.labels', 'metadata.finalizers[0]']);
        return true;
      },
    );
  });

  test('a namespace that is not that of the URL is refused', async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    const body = { metadata: { name: 'elsewhere', namespace: 'other' } };
    await assert.rejects(client().raw({ method: 'POST', path, body }), {
      code: 400,
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    });
  });

  test('a dry run leaves nothing behind and finds what a real one would', async () => {
    const answered = await client().create(configMaps, configMap('dry'), { dryRun: true });
    assert.ok(answered.metadata.uid);
    await assert.rejects(client().get(configMaps, { namespace: 'default', name: 'dry' }), isNotFound);
    await client().create(configMaps, configMap('dry'));
    await assert.rejects(client().create(configMaps, configMap('dry'), { dryRun: true }), { code: 409 });
  });
}

/** Of the same owner, as the Pods of a ReplicaSet. */
function describeMakings(client: () => Client): void {
  const uid = '5c4d6f0e-6f0a-4b1e-9c53-2a8f9d1c7b11';
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true };
  const made = (name: string, more: Partial<Pod['spec']> = {}, annotations: Record<string, string> = {}): Pod => ({
    metadata: { name, namespace: 'default', ownerReferences: [owner], annotations },
    spec: { containers: [{ name: 'c', image: 'busybox' }], ...more },
  });
  const create = (object: Pod) => client().create(pods, object);

  test('objects of one making share what they say, and nothing that they do not', async () => {
    const [first, second] = [await create(made('made-1')), await create(made('made-2'))];
    assert.equal(second.spec, first.spec);
    const other = await create(made('made-3', { hostname: 'other' }));
    assert.deepEqual({ ...other.spec, hostname: undefined }, { ...first.spec, hostname: undefined });
    assert.equal(other.spec.hostname, 'other');
    assert.equal((await client().get(pods, { namespace: 'default', name: 'made-3' })).spec.hostname, 'other');
    assert.deepEqual((await create(made('made-4'))).spec, first.spec);
    const changed = draft(second);
    changed.spec.activeDeadlineSeconds = 5;
    await client().update(pods, changed as Pod);
    assert.equal(
      (await client().get(pods, { namespace: 'default', name: 'made-1' })).spec.activeDeadlineSeconds,
      undefined,
    );
  });

  test('what is wrong besides what they have in common is found in each of them', async () => {
    await create(made('judged-1'));
    const key = 'container.apparmor.security.beta.kubernetes.io/c';
    await assert.rejects(create(made('judged-2', {}, { [key]: 'nonsense' })), { code: 422 });
    await assert.rejects(create(made('Judged_3')), { code: 422 });
    await assert.rejects(create(made('judged-4', { containers: [{ name: 'C', image: 'busybox' }] })), { code: 422 });
  });

  test('a volume that has a claim of its own is judged by the name of each', async () => {
    const volumeClaimTemplate = {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    } as const;
    const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate } }];
    await create(made('claiming', { volumes }));
    await assert.rejects(create(made('c'.repeat(250), { volumes })), { code: 422 });
  });
}

function describeUpdates(client: () => Client): void {
  test('the words of a conflict are those that clients match on', async () => {
    const created = await client().create(configMaps, configMap('conflicting'));
    await client().update(configMaps, { ...created, data: { a: '1' } });
    await assert.rejects(client().update(configMaps, { ...created, data: { a: '2' } }), {
      message:
        'Operation cannot be fulfilled on configmaps "conflicting": the object has been modified; please apply your changes to the latest version and try again',
    });
  });

  test('an update that changes nothing writes nothing', async () => {
    const created = await client().create(configMaps, { ...configMap('unchanged'), data: { a: '1' } });
    const updated = await client().update(configMaps, draft(created) as typeof created);
    assert.equal(updated.metadata.resourceVersion, created.metadata.resourceVersion);
  });

  test('a JSON patch speaks of the object as it is served, where an empty status stands too', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: pod('x').spec };
    const deployment = {
      metadata: { name: 'served', namespace: 'default' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    };
    await client().create(deployments, deployment);
    const ref = { namespace: 'default', name: 'served' };
    const patch = (body: unknown) =>
      client().patch(deployments, ref, { type: 'json', body }, { subresource: 'status' });
    const patched = await patch([
      { op: 'test', path: '/status', value: {} },
      { op: 'add', path: '/status/replicas', value: 2 },
    ]);
    assert.deepEqual(patched.status, { replicas: 2 });
    await assert.rejects(patch([{ op: 'test', path: '/status', value: {} }]), { code: 422 });
  });

  test('an update without a version overwrites, where the kind allows it', async () => {
    await client().create(configMaps, configMap('unconditional'));
    const updated = await client().update(configMaps, { ...configMap('unconditional'), data: { a: '1' } });
    assert.deepEqual(updated.data, { a: '1' });
    await client().create(leases, { metadata: { name: 'lease', namespace: 'default' }, spec: {} });
    await assert.rejects(client().update(leases, { metadata: { name: 'lease', namespace: 'default' }, spec: {} }), {
      code: 422,
      message:
        'leases.coordination.k8s.io "lease" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    });
  });

  test('concurrent updates without a version all succeed, one after another', async () => {
    await client().create(configMaps, configMap('contended'));
    const names = Array.from({ length: 10 }, (_, i) => `key-${i}`);
    const ref = { namespace: 'default', name: 'contended' };
    await Promise.all(
      names.map((name) =>
        client()
          .patch(configMaps, ref, { type: 'merge', body: { data: { [name]: 'x' } } })
          .catch(() => {}),
      ),
    );
    const { data = {} } = await client().get(configMaps, ref);
    assert.ok(Object.keys(data).length >= 6, `only ${Object.keys(data).length} patches came through`);
  });

  test('another uid is another object', async () => {
    const created = await client().create(configMaps, configMap('recreated'));
    await assert.rejects(
      client().update(configMaps, { metadata: { ...configMap('recreated').metadata, uid: 'other' } }),
      {
        message: `Operation cannot be fulfilled on configmaps "recreated": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/recreated, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${created.metadata.uid}`,
      },
    );
  });

  test('an update creates where the kind allows it, and is refused where not', async () => {
    const lease = { metadata: { name: 'by-update', namespace: 'default' }, spec: { holderIdentity: 'me' } };
    assert.ok((await client().update(leases, lease)).metadata.uid);
    await assert.rejects(client().update(configMaps, configMap('by-update')), isNotFound);
    const gone = { ...lease, metadata: { ...lease.metadata, name: 'gone', uid: 'of-the-past' } };
    await assert.rejects(client().update(leases, gone), { code: 409 });
  });

  test('spec counts a generation, status does not, and neither touches the other', async () => {
    const selector = { matchLabels: { app: 'a' } };
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const metadata = { name: 'counted', namespace: 'default' };
    const created = await client().create(deployments, {
      metadata,
      spec: { replicas: 1, selector, template },
      status: { replicas: 9 },
    });
    assert.equal(created.metadata.generation, 1);
    assert.equal(created.status?.replicas, undefined);
    const scaled = await client().update(deployments, {
      ...created,
      spec: { ...created.spec, replicas: 2 },
      status: { replicas: 9 },
    });
    assert.equal(scaled.metadata.generation, 2);
    assert.equal(scaled.status?.replicas, undefined);
    const observed = await client().updateStatus(deployments, {
      ...scaled,
      spec: { ...scaled.spec, replicas: 5 },
      status: { replicas: 2 },
    });
    assert.equal(observed.metadata.generation, 2);
    assert.equal(observed.spec.replicas, 2);
    assert.equal(observed.status?.replicas, 2);
  });
}

function describeDeletion(client: () => Client, clock: FakeClock): void {
  test('finalizers keep a deleted object until the last one is taken away', async () => {
    const ref = { namespace: 'default', name: 'finalized' };
    await client().create(configMaps, configMap('finalized', { finalizers: ['example.com/a'] }));
    await client().delete(configMaps, ref);
    const going = await client().get(configMaps, ref);
    assert.ok(going.metadata.deletionTimestamp);
    assert.equal(going.metadata.deletionGracePeriodSeconds, 0);
    const more = { ...going, metadata: { ...going.metadata, finalizers: ['example.com/a', 'example.com/b'] } };
    await assert.rejects(client().update(configMaps, more), { code: 422 });
    await client().update(configMaps, { ...going, metadata: { ...going.metadata, finalizers: [] } });
    await assert.rejects(client().get(configMaps, ref), isNotFound);
  });

  test('the propagation policy becomes a finalizer for the garbage collector', async () => {
    for (const [policy, finalizer] of [
      ['Orphan', 'orphan'],
      ['Foreground', 'foregroundDeletion'],
    ] as const) {
      const ref = { namespace: 'default', name: `owner-${policy.toLowerCase()}` };
      await client().create(configMaps, configMap(ref.name));
      await client().delete(configMaps, ref, { propagationPolicy: policy });
      const going = await client().get(configMaps, ref);
      assert.deepEqual(going.metadata.finalizers, [finalizer]);
      assert.ok(going.metadata.deletionTimestamp);
      await client().delete(configMaps, ref, { propagationPolicy: 'Background' });
      await assert.rejects(client().get(configMaps, ref), isNotFound);
    }
  });

  test('preconditions are kept, in the words of the API', async () => {
    const created = await client().create(configMaps, configMap('guarded'));
    const ref = { namespace: 'default', name: 'guarded' };
    await assert.rejects(client().delete(configMaps, ref, { preconditions: { uid: 'other' } }), {
      message: `Operation cannot be fulfilled on ConfigMap "guarded": the UID in the precondition (other) does not match the UID in record (${created.metadata.uid}). The object might have been deleted and then recreated`,
    });
    await assert.rejects(client().delete(configMaps, ref, { preconditions: { resourceVersion: '1' } }), { code: 409 });
  });

  test('a Pod without a node goes at once', async () => {
    await client().create(pods, pod('unscheduled'));
    const answer = await client().delete(pods, { namespace: 'default', name: 'unscheduled' });
    assert.equal(answer.kind, 'Pod');
    await assert.rejects(client().get(pods, { namespace: 'default', name: 'unscheduled' }), isNotFound);
  });

  test('a Pod on a node is given its grace period, which can only be shortened', async () => {
    const ref = { namespace: 'default', name: 'running' };
    await client().create(pods, pod('running', { nodeName: 'n', terminationGracePeriodSeconds: 30 }));
    const begunMs = clock.now();
    await client().delete(pods, ref);
    const first = await client().get(pods, ref);
    assert.equal(first.metadata.deletionGracePeriodSeconds, 30);
    assert.equal(Date.parse(first.metadata.deletionTimestamp!), begunMs + 30_000);
    assert.equal(first.metadata.generation, 2);
    await clock.advance(5000);
    await client().delete(pods, ref, { gracePeriodSeconds: 60 });
    assert.equal((await client().get(pods, ref)).metadata.resourceVersion, first.metadata.resourceVersion);
    await client().delete(pods, ref, { gracePeriodSeconds: 10 });
    const second = await client().get(pods, ref);
    assert.equal(second.metadata.deletionGracePeriodSeconds, 10);
    assert.equal(Date.parse(second.metadata.deletionTimestamp!), begunMs + 10_000);
    await client().delete(pods, ref, { gracePeriodSeconds: 0 });
    await assert.rejects(client().get(pods, ref), isNotFound);
  });

  test('a dry run deletes nothing', async () => {
    await client().create(configMaps, configMap('kept'));
    await client().delete(configMaps, { namespace: 'default', name: 'kept' }, { dryRun: true });
    await client().get(configMaps, { namespace: 'default', name: 'kept' });
  });

  test('options that exclude one another are refused', async () => {
    const path = '/api/v1/namespaces/default/configmaps/kept';
    const body = { propagationPolicy: 'Orphan', orphanDependents: true };
    await assert.rejects(client().raw({ method: 'DELETE', path, body }), { code: 422 });
    await assert.rejects(client().raw({ method: 'DELETE', path, body: { propagationPolicy: 'Sideways' } }), {
      code: 422,
    });
  });
}

function describeNamespaces(client: () => Client): void {
  test('a namespace goes when its finalizer has been taken from its spec', async () => {
    const created = await client().create(namespaces, { metadata: { name: 'emptied' }, spec: {} });
    assert.deepEqual(created.spec.finalizers, ['kubernetes']);
    assert.equal(created.status?.phase, 'Active');
    const ref = { name: 'emptied' };
    await client().delete(namespaces, ref);
    const going = await client().get(namespaces, ref);
    assert.equal(going.status?.phase, 'Terminating');
    assert.ok(going.metadata.deletionTimestamp);
    await client().delete(namespaces, ref);
    assert.equal((await client().get(namespaces, ref)).metadata.resourceVersion, going.metadata.resourceVersion);
    const emptied: Namespace = { ...going, spec: { finalizers: [] } };
    await client().update(namespaces, emptied, { subresource: 'finalize' });
    await assert.rejects(client().get(namespaces, ref), isNotFound);
  });
}

test('an update that names a version loses to one that comes in between, however late it comes', async () => {
  let between: (() => Promise<unknown>) | undefined;
  const opened = await openServerWithDefault({
    hooks: () =>
      new Map([
        [
          'configmaps',
          {
            async beginUpdate() {
              const write = between;
              between = undefined;
              await write?.();
              return undefined;
            },
          },
        ],
      ]),
  });
  try {
    const { client } = opened;
    const { metadata } = await client.create(configMaps, configMap('contended'));
    between = () => client.update(configMaps, { metadata, data: { from: 'the quicker one' } });
    await assert.rejects(client.update(configMaps, { metadata, data: { from: 'the slower one' } }), { code: 409 });
    const { data } = await client.get(configMaps, { namespace: 'default', name: 'contended' });
    assert.deepEqual(data, { from: 'the quicker one' });
  } finally {
    await opened.close();
  }
});

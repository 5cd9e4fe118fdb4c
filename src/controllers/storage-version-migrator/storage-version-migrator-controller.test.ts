import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import { configMaps } from '../../api/gen/core-v1.ts';
import { storageVersionMigrations } from '../../api/gen/storagemigration-v1beta1.ts';
import { conflict, statusError } from '../../apimachinery/status.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runStorageVersionMigrator } from './storage-version-migrator-controller.ts';

const order = (cluster: MemoryCluster, name: string, group = '', resource = 'configmaps') =>
  cluster.client.create(storageVersionMigrations, { metadata: { name }, spec: { resource: { group, resource } } });
const make = (cluster: MemoryCluster, ...names: readonly string[]) =>
  Promise.all(names.map((name) => cluster.client.create(configMaps, { metadata: { namespace: 'a', name } })));
const told = (cluster: MemoryCluster, name: string) =>
  (cluster.api.find(storageVersionMigrations, name)?.status?.conditions ?? []).map(({ type, status, message }) =>
    `${type}=${status} ${message}`.trim(),
  );
const rewritten = ({ api }: MemoryCluster) =>
  api.writes
    .filter(({ method, path }) => method === 'PATCH' && path.includes('/configmaps/'))
    .map(({ path }) => path.split('/').at(-1));
const ended = ['Running=False Migration completed', 'Succeeded=True'];

describe('the storage version migrator', () => {
  it('touches each object once, with nothing but who it is, and says how it went', async () => {
    await using cluster = new MemoryCluster();
    await make(cluster, 'x', 'y');
    cluster.run(runStorageVersionMigrator);
    await order(cluster, 'm');
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), ended);
    assert.deepEqual(rewritten(cluster).sort(), ['x', 'y']);
    const { body } = cluster.api.writes.find(({ path }) => path.endsWith('/configmaps/x'))!;
    assert.deepEqual(Object.keys(body as object), ['apiVersion', 'kind', 'metadata']);
    assert.deepEqual(Object.keys((body as { metadata: object }).metadata), ['uid', 'resourceVersion']);
  });

  it('lets alone what was written after the order began', async () => {
    await using cluster = new MemoryCluster();
    await make(cluster, 'old');
    cluster.run(runStorageVersionMigrator);
    let late: Promise<unknown> | undefined;
    cluster.api.failWith(({ method, path, body }) => {
      const begins = method === 'PUT' && path.endsWith('/m/status');
      const { resourceVersion } = (body as { status?: { resourceVersion?: string } } | undefined)?.status ?? {};
      if (begins && resourceVersion) late ??= make(cluster, 'new');
    });
    await order(cluster, 'm');
    await cluster.settle();
    assert.ok(late);
    assert.deepEqual(told(cluster, 'm'), ended);
    assert.deepEqual(rewritten(cluster), ['old']);
  });

  it('passes over conflicts, and tries again where the server was busy', async () => {
    await using cluster = new MemoryCluster();
    await make(cluster, 'x', 'y');
    cluster.run(runStorageVersionMigrator);
    let busy = 2;
    cluster.api.failWith(({ method, path }) => {
      if (method !== 'PATCH') return;
      if (path.endsWith('/configmaps/x')) throw conflict(configMaps, 'x', 'the object has been modified');
      if (path.endsWith('/configmaps/y') && busy-- > 0)
        throw statusError({ code: 503, reason: 'ServiceUnavailable', message: '' });
    });
    await order(cluster, 'm');
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), ended);
    assert.ok(busy < 0);
  });

  it('fails for good where an object cannot be written', async () => {
    await using cluster = new MemoryCluster();
    await make(cluster, 'x');
    cluster.run(runStorageVersionMigrator);
    cluster.api.failWith(({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/configmaps/x'))
        throw statusError({ code: 422, reason: 'Invalid', message: 'no' });
    });
    await order(cluster, 'm');
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), [
      'Running=False Migration completed',
      'Failed=True migration encountered unhandled error: no',
    ]);
  });

  it('goes on with what another process began, and runs the oldest order of a resource alone', async () => {
    await using cluster = new MemoryCluster();
    await make(cluster, 'x');
    await order(cluster, 'waits');
    await order(cluster, 'begun');
    const since = cluster.api.find(configMaps, 'a/x')!.metadata.resourceVersion!;
    cluster.api.alter(storageVersionMigrations, 'begun', (migration) => {
      const conditions = [
        {
          type: 'Running',
          status: 'True',
          reason: 'MigrationRunning',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ];
      migration.status = { resourceVersion: since, conditions };
    });
    const running: string[][] = [];
    cluster.api.failWith(({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/configmaps/x'))
        running.push(
          ['waits', 'begun'].filter((name) => told(cluster, name).some((text) => text.startsWith('Running=True'))),
        );
    });
    cluster.run(runStorageVersionMigrator);
    await cluster.settle();
    await cluster.settle();
    assert.deepEqual(told(cluster, 'begun'), ended);
    assert.deepEqual(told(cluster, 'waits'), ended);
    assert.deepEqual(running, [['begun'], ['waits']]);
  });

  it('waits a minute for a resource that is not served yet', async () => {
    await using cluster = new MemoryCluster();
    cluster.run(runStorageVersionMigrator);
    await order(cluster, 'm', 'example.com', 'gadgets');
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), ['Running=True The migration is running']);
    await cluster.clock.advance(60_000);
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), [
      'Running=False Migration completed',
      'Failed=True resource does not exist in discovery',
    ]);
  });

  it('forgets the older versions of a definition only if it is still the same', async () => {
    await using cluster = new MemoryCluster();
    const names = { plural: 'configmaps', singular: 'configmap', kind: 'ConfigMap', listKind: 'ConfigMapList' };
    await cluster.client.create(customResourceDefinitions, {
      metadata: { name: 'configmaps' },
      spec: { group: '', scope: 'Namespaced', names, versions: [{ name: 'v1', served: true, storage: true }] },
    });
    cluster.run(runStorageVersionMigrator);
    cluster.api.failWith(({ method, path }) => {
      if (method !== 'GET' || !/^\/api\/v1\/.*configmaps$/.test(path)) return;
      cluster.api.alter(customResourceDefinitions, 'configmaps', (definition) => {
        definition.metadata.generation = 7;
      });
    });
    await order(cluster, 'm');
    await cluster.settle();
    assert.deepEqual(told(cluster, 'm'), ended);
    const { status } = cluster.api.find(customResourceDefinitions, 'configmaps')!;
    assert.equal(
      status?.conditions?.[0]?.message,
      'The migration has succeeded but the stored versions have not been updated due to a generation mismatch',
    );
    assert.equal(status?.storedVersions, undefined);
  });
});

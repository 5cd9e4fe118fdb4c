/** Objects that etcd finds too large: what can be left out of them is, and else etcd's own words are told. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { type OpenCluster, openCluster } from '../api/cluster.ts';

const namespace = 'default';
const refusal = { code: 500, message: 'etcdserver: request is too large' };

describe('objects over an etcd that takes 30 kB', needs('etcd'), () => {
  let etcd: Etcd;
  let cluster: OpenCluster;
  before(async () => {
    etcd = await startEtcd({ flags: ['--max-request-bytes', '30000'] });
    cluster = await openCluster({ endpoints: etcd.endpoints });
  });
  after(async () => {
    await cluster.close();
    await etcd.stop();
  });

  /** Each key counts ten bytes, and twelve more among its owner's fields. */
  const data = (keys: number) =>
    Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${String(i).padStart(3, '0')}`, '']));

  test('are kept without managedFields when they fit like that, created or changed', async () => {
    const { admin } = cluster.controlPlane;
    const created = await admin.create(configMaps, { metadata: { name: 'created', namespace }, data: data(2000) });
    assert.equal(created.metadata.managedFields, undefined);
    const small = await admin.create(configMaps, { metadata: { name: 'changed', namespace } });
    const updated = await admin.update(configMaps, { ...small, data: data(2000) });
    assert.equal(updated.metadata.managedFields, undefined);
    const found = await admin.get(configMaps, { namespace, name: 'changed' });
    assert.deepEqual(found, updated);
    assert.equal(Object.keys(found.data ?? {}).length, 2000);
  });

  test('are refused in etcd’s words when they do not, and when they are applied', async () => {
    const { admin } = cluster.controlPlane;
    const metadata = { name: 'refused', namespace };
    await assert.rejects(admin.create(configMaps, { metadata, data: data(4000) }), refusal);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: data(2000) };
    await assert.rejects(
      admin.patch(configMaps, { namespace, name: 'refused' }, { type: 'apply', body }, { fieldManager: 'test' }),
      refusal,
    );
    await assert.rejects(admin.get(configMaps, { namespace, name: 'refused' }), { code: 404 });
  });
});

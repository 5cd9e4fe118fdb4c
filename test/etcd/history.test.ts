/** The past over a real etcd, which writes no times down, and which others compact. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { bufferCodec } from '../../src/storage/codec.ts';
import { openEtcdStore } from '../../src/storage/etcd/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { type OpenCluster, openCluster } from '../api/cluster.ts';

interface Told {
  readonly earlierForgotten: boolean;
  readonly items: readonly { readonly type: string; readonly object: { readonly data: Record<string, string> } }[];
}

const namespace = 'default';

describe('the past of objects in etcd', needs('etcd'), () => {
  let etcd: Etcd;
  let cluster: OpenCluster;
  before(async () => {
    etcd = await startEtcd();
    cluster = await openCluster({ endpoints: etcd.endpoints });
    await cluster.controlPlane.admin.create(configMaps, { metadata: { name: 'a', namespace }, data: { n: '0' } });
    for (let n = 1; n <= 3; n++) await change(n);
  });
  after(async () => {
    await cluster.close();
    await etcd.stop();
  });

  const change = (n: number) =>
    cluster.controlPlane.admin.patch(
      configMaps,
      { namespace, name: 'a' },
      { type: 'merge', body: { data: { n: `${n}` } } },
    );
  const told = async () => {
    const path = '/api/v1/namespaces/default/configmaps/a/history';
    const { items, earlierForgotten } = (await cluster.controlPlane.admin.raw({ method: 'GET', path })) as Told;
    return { values: items.map(({ type, object }) => `${type} ${object.data.n}`), earlierForgotten };
  };

  test('is told whole while etcd has it', async () => {
    const values = ['ADDED 0', 'MODIFIED 1', 'MODIFIED 2', 'MODIFIED 3'];
    assert.deepEqual(await told(), { values, earlierForgotten: false });
  });

  test('begins where somebody else has compacted it, without asking for each revision', async () => {
    const other = await openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock: systemClock });
    for (let i = 0; i < 300; i++) await other.put('/another/program', Buffer.from(`${i}`));
    await other.compact(await other.currentRevision());
    await other.close();
    await change(4);
    const expected = { values: ['MODIFIED 3', 'MODIFIED 4'], earlierForgotten: true };
    assert.deepEqual(await told(), expected);
    // The object's own last change lies behind the store's.
    await cluster.controlPlane.admin.create(configMaps, { metadata: { name: 'b', namespace } });
    assert.deepEqual(await told(), expected);
  });

  test('is known by time from the Leases that API servers renew', async () => {
    const { admin } = cluster.controlPlane;
    const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };
    const metadata = { name: 'apiserver-of-long-ago', namespace: 'kube-system', labels };
    const renewed = (second: string) => ({ renewTime: `2020-01-01T12:00:${second}.000000Z` });
    const first = await admin.create(leases, { metadata, spec: renewed('00') });
    await change(5);
    const second = await admin.update(leases, { ...first, spec: renewed('10') });
    await change(6);
    const at = async (time: string) => {
      const query = new Map([['at', time]]);
      return ((await admin.raw({ method: 'GET', path: '/coracle/v1/history', query })) as { at: unknown }).at;
    };
    const [{ resourceVersion: before }, { resourceVersion: after }] = [first.metadata, second.metadata];
    const known = (time: string, revision: string | undefined, at: string) => ({
      time,
      revision,
      knownAt: `2020-01-01T12:00:${at}.000000Z`,
    });
    for (const [time, expected] of [
      ['2020-01-01T12:00:00Z', known('2020-01-01T12:00:00Z', before, '00')],
      ['2020-01-01T12:00:09Z', known('2020-01-01T12:00:09Z', before, '00')],
      ['2020-01-01T12:00:10Z', known('2020-01-01T12:00:10Z', after, '10')],
      ['2021-01-01T00:00:00Z', known('2021-01-01T00:00:00Z', after, '10')],
    ] as const)
      assert.deepEqual(await at(time), expected);
    // What lies ahead has not happened: all that there is now.
    const ahead = (await at(new Date(systemClock.now() + 3_600_000).toISOString())) as { readonly revision: string };
    assert.ok(Number(ahead.revision) > Number(after));
    await assert.rejects(at('2019-12-31T00:00:00Z'), {
      code: 410,
      message: '2019-12-31T00:00:00Z lies before what is remembered, which begins at 2020-01-01T12:00:00Z',
    });
  });
});

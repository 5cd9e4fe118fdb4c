/** Between a store in a folder and a real etcd, in both directions. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { needs } from '../../testing/needs.ts';
import { bufferCodec } from '../codec.ts';
import { openEtcdStore, registryRoot } from '../etcd/index.ts';
import { type Etcd, startEtcd } from '../etcd/process.fixture.ts';
import { openLmdbStore } from '../lmdb/lmdb-store.ts';
import type { Store } from '../store.ts';
import { lmdbSource } from './lmdb-source.ts';
import { fillLmdb } from './lmdb-target.ts';
import { storeSource } from './store-source.ts';
import { fillStore } from './store-target.ts';

const clock = systemClock;
const everything = { start: '/registry/', end: '/registry0' };

describe('objects moved between a folder and etcd', needs('etcd'), () => {
  let etcd: Etcd;
  let folder = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coracle-transfer-'));
    etcd = await startEtcd();
  });
  after(async () => {
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const openFolder = (name: string) =>
    openLmdbStore({ path: join(folder, name), codec: bufferCodec, clock, log: silentLog });
  const openEtcd = () =>
    openEtcdStore({ endpoints: etcd.endpoints, codec: bufferCodec, clock, root: registryRoot('/registry') });
  const valuesOf = async (store: Store<Buffer>) =>
    (await store.range(everything)).entries.map(({ key, value }) => [key, value.toString('latin1')]);

  test('are the same there and back again, and revisions never fall', async () => {
    const store = await openFolder('first');
    for (let i = 0; i < 3000; i++)
      void store.put(`/registry/pods/default/p-${i % 2500}`, Buffer.from(`k8s\0 value ${i}`));
    await store.put('/registry/large', Buffer.alloc(1_000_000, 7));
    await store.put('/registry/events/default/e', Buffer.from('an event'), { ttlSeconds: 3600 });
    const expected = await valuesOf(store);
    const { revision } = store;
    await store.close();

    const target = await openEtcd();
    {
      await using source = await lmdbSource(join(folder, 'first'));
      const options = { prefix: '/registry/', revision: source.revision, nowMs: clock.now() };
      assert.equal(await fillStore(target, source, options), expected.length);
    }
    assert.deepEqual(await valuesOf(target), expected);
    const now = await target.currentRevision();
    assert.ok(now >= revision, `${now} after ${revision}`);
    // An informer that knew the folder's store lists anew.
    const error = await new Promise<Error>((onError) =>
      target.watch({ ...everything, afterRevision: revision - 1 }, { onEvents() {}, onError }),
    );
    assert.equal(error.name, 'CompactedError');

    await using source = await storeSource(target, { ...everything, expiresAtMs: () => 0 });
    await fillLmdb(join(folder, 'second'), source, { revision: source.revision, nowMs: clock.now() });
    await target.close();
    const back = await openFolder('second');
    assert.deepEqual(await valuesOf(back), expected);
    assert.equal(back.revision, source.revision);
    const put = await back.put('/registry/new', Buffer.from('new'));
    assert.ok(put.ok && put.revision === source.revision + 1);
    await back.close();
  });
});

/**
 * A disk that is really full: a small file system of its own under the store of a whole control plane. Writes are refused with a Status
 * that says so, reads and watches go on, and once there is room the same process writes again. Needs the right to mount.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { keysInMemory } from '../../src/cluster/certificates/cluster-pki.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { openCluster } from './cluster.ts';
import { json, openHttp2, statusOf } from './wire.ts';

const collection = '/api/v1/namespaces/default/configmaps';

test(
  'on a full disk writes answer a Status, reads and watches go on, and room again makes all well',
  needs('root'),
  async (t) => {
    const path = smallDisk(t);
    const cluster = await openCluster({
      storeName: 'LMDB',
      data: { path, keyFiles: keysInMemory(), remove() {} },
    });
    t.after(() => cluster.close());
    const { admin } = cluster.controlPlane;
    const wire = openHttp2(cluster.admin);
    t.after(() => wire.close());
    const seen = new Set<string>();
    const watching = new AbortController();
    const watched = (async () => {
      for await (const { type, object } of admin.watch(configMaps, { namespace: 'default', signal: watching.signal }))
        if (type === 'ADDED') seen.add(object.metadata?.name ?? '');
    })().catch(() => {});
    const ballast = join(path, 'ballast');
    writeFileSync(ballast, Buffer.alloc(freeBytes(path) - 3_000_000));

    const post = (name: string) =>
      wire.ask({
        method: 'POST',
        path: collection,
        headers: json,
        body: JSON.stringify({ metadata: { name, namespace: 'default' }, data: { text: 'x'.repeat(100_000) } }),
      });
    const created: string[] = [];
    let refused = await post('full-0');
    for (let i = 1; refused.status === 201; i++) {
      created.push(`full-${i - 1}`);
      assert.ok(i < 100, 'the disk is never full');
      refused = await post(`full-${i}`);
    }
    assert.equal(refused.status, 500);
    const status = statusOf(refused);
    assert.deepEqual([status.reason, status.code], ['InternalError', 500]);
    assert.match(
      status.message ?? '',
      /^Internal error occurred: storage is unavailable: cannot write to .*: No space left on device \(\d+ MB free on this disk\)$/,
    );
    assert.ok(created.length > 3);

    const list = await wire.ask({ path: collection });
    assert.equal(list.status, 200);
    const names = JSON.parse(list.text).items.map((item: { metadata: { name: string } }) => item.metadata.name);
    for (const name of created) assert.ok(names.includes(name), name);
    assert.ok(!names.includes(`full-${created.length}`), 'what was refused is not there');
    assert.equal((await wire.ask({ path: '/readyz' })).status, 200);

    rmSync(ballast);
    const afterwards = await post('room');
    assert.equal(afterwards.status, 201, afterwards.text);
    assert.equal((await post(`full-${created.length}`)).status, 201);
    await eventually(() => created.every((name) => seen.has(name)) && seen.has('room'));
    watching.abort();
    await watched;
  },
);

function smallDisk(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'coracle-test', path]);
  t.after(() => {
    execFileSync('umount', ['--lazy', path]);
    rmdirSync(path);
  });
  return path;
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

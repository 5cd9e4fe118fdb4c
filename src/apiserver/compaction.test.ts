import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { configMaps } from '../api/gen/core-v1.ts';
import type { StatusError } from '../apimachinery/status.ts';
import { silentLog } from '../base/log.ts';
import { bufferCodec, openLmdbStore } from '../storage/lmdb/lmdb-store.ts';
import { memoryStore } from '../storage/memory/memory-store.ts';
import { RevisionTimes } from '../storage/revision-times.ts';
import type { Store } from '../storage/store.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { openServerWithDefault } from './api-server.fixture.ts';
import { Compaction, type CompactionOptions } from './compaction.ts';

const minuteMs = 60_000;

/** One change a minute, for so many minutes. Gives how many changes can still be looked back on. */
async function keptAfter(minutes: number, options: Partial<CompactionOptions>, { knowsTimes = true } = {}) {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const inner = memoryStore<string>({ clock });
  const times = new RevisionTimes();
  const store = storeOf(inner, knowsTimes ? times : undefined);
  const compaction = new Compaction({ ...options, store, clock, log: silentLog });
  for (let minute = 0; minute < minutes; minute++) {
    await inner.put('/a', `${minute}`);
    times.note(inner.revision, clock.now());
    await clock.advance(minuteMs);
  }
  compaction.close();
  return inner.revision - inner.compactedRevision;
}

function storeOf(inner: Store<string>, times: RevisionTimes | undefined): CompactionOptions['store'] {
  return {
    get revision() {
      return inner.revision;
    },
    compact: (revision) => inner.compact(revision),
    history: times && {
      revisionAt: (timeMs) => times.revisionAt(timeMs, inner.revision),
      timeOf: () => undefined,
      kept: () => ({ changes: 0, bytes: 0, sinceMs: undefined }),
    },
  };
}

for (const knowsTimes of [true, false]) {
  const what = knowsTimes ? 'a store that knows when it was where' : 'a store that knows no times';
  test(`${what} keeps between one and two intervals of history`, async () => {
    const kept = await keptAfter(60, { intervalMs: 5 * minuteMs }, { knowsTimes });
    assert.ok(kept >= 4 && kept <= 10, `${kept}`);
  });

  test(`${what} keeps what the retention asks for`, async () => {
    const kept = await keptAfter(200, { intervalMs: 5 * minuteMs, retentionMs: 60 * minuteMs }, { knowsTimes });
    assert.ok(kept >= 59 && kept <= 66, `${kept}`);
  });

  test(`${what} keeps no more changes than allowed, but always one interval`, async () => {
    const options = { intervalMs: 5 * minuteMs, retentionMs: 60 * minuteMs };
    const bounded = await keptAfter(200, { ...options, maxChanges: 20 }, { knowsTimes });
    assert.ok(bounded >= 20 && bounded <= 25, `${bounded}`);
    const least = await keptAfter(200, { ...options, maxChanges: 1 }, { knowsTimes });
    assert.ok(least >= 4 && least <= 10, `${least}`);
  });
}

test('an interval of 0 compacts nothing', async () => {
  assert.equal(await keptAfter(60, { intervalMs: 0 }), 60 + 1);
});

test('the heartbeats of 100 nodes leave the file the size it was, once the first are forgotten', async (t) => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const path = freshPath(t);
  const store = await openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });
  t.after(() => store.close());
  for (let i = 0; i < 500; i++) void store.put(`/registry/pods/default/p-${i}`, Buffer.alloc(2000, 'p'));
  const compaction = new Compaction({ store, clock, log: silentLog });
  t.after(() => compaction.close());
  const sizes: number[] = [];
  const beatsPerMinute = 600;
  for (let third = 0; third < 3; third++) {
    for (let minute = 0; minute < 20; minute++) {
      const beats: Promise<unknown>[] = [];
      for (let beat = 0; beat < 6; beat++) {
        for (let node = 0; node < 100; node++)
          beats.push(store.put(`/registry/leases/kube-node-lease/node-${node}`, Buffer.alloc(400, `${beat}`)));
        await clock.advance(10_000);
      }
      await Promise.all(beats);
    }
    // In real time this is a matter of milliseconds; the fake clock leaves no room for it between the beats.
    while ((store.history?.kept().bytes ?? 0) > 500 * beatsPerMinute * 10) await settle(1);
    sizes.push(statSync(join(path, 'data.mdb')).size);
  }
  assert.equal(store.revision, 1 + 500 + 60 * beatsPerMinute);
  // The first third ends before its own forgetting has made room; how many writes share a sync decides by how much.
  assert.ok(sizes[1]! <= sizes[0]! * 1.5, `bytes after each third: ${sizes}`);
  assert.ok(sizes[2]! <= sizes[1]! * 1.1, `bytes after each third: ${sizes}`);
});

function freshPath(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'coracle-compaction-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

for (const storeName of ['memory', 'LMDB'] as const) {
  test(`the pages of a list expire after two intervals, while who looks back gets all of theirs (${storeName})`, async (t) => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const opened = await openServerWithDefault({
      storeName,
      clock,
      compactionIntervalMs: 5 * minuteMs,
      history: { retentionMs: 60 * minuteMs },
    });
    t.after(() => opened.close());
    const { client } = opened;
    for (const name of ['a', 'b', 'c']) await client.create(configMaps, { metadata: { namespace: 'default', name } });
    const first = await client.list(configMaps, { limit: 1 });
    await clock.advance(4 * minuteMs);
    assert.equal((await client.list(configMaps, { limit: 1, continue: first.continue })).items[0]?.metadata.name, 'b');

    await client.delete(configMaps, { namespace: 'default', name: 'c' });
    for (let minute = 0; minute < 12; minute++) await clock.advance(minuteMs);
    const failure = await client.list(configMaps, { limit: 1, continue: first.continue }).then(
      () => assert.fail('the page is given'),
      (error: StatusError) => error.status,
    );
    assert.deepEqual([failure.code, failure.reason], [410, 'Expired']);
    const now = await client.list(configMaps, { continue: failure.metadata?.continue });
    assert.deepEqual(
      now.items.map(({ metadata }) => metadata.name),
      ['b'],
    );

    const past: (string | undefined)[] = [];
    const exactly = { resourceVersion: first.resourceVersion, resourceVersionMatch: 'Exact' } as const;
    let page = await client.list(configMaps, { ...exactly, limit: 1 });
    for (;;) {
      past.push(...page.items.map(({ metadata }) => metadata.name));
      if (page.continue === undefined) break;
      page = await client.list(configMaps, { limit: 1, continue: page.continue });
    }
    assert.deepEqual(past, ['a', 'b', 'c']);
  });
}

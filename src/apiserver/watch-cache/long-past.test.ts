/** Watches that begin before what a cache keeps: the store is asked, once for all who come back together, and what was told is given back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigMap, configMaps } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { Client } from '../../client/client.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import type { Store } from '../../storage/store.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { openServerWithDefault } from '../api-server.fixture.ts';
import type { ApiStore } from '../server.ts';
import { usualBounds } from './event-history.ts';

const namespace = 'default';
const changes = 300;

/** Counts who watches the store from an old revision. */
function counting<V>(store: Store<V>) {
  const count = { recalls: 0 };
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === 'watch')
        return (...[options, watcher]: Parameters<Store<V>['watch']>) => {
          if (options.afterRevision < target.revision) count.recalls++;
          return target.watch(options, watcher);
        };
      const own = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
  return { counted, count };
}

const stores = {
  objects(clock: FakeClock) {
    const { counted, count } = counting(memoryStore<KubeObject>({ clock }));
    return { store: { kind: 'objects', store: counted } satisfies ApiStore, count };
  },
  bytes(clock: FakeClock) {
    const { counted, count } = counting(memoryStore<Uint8Array>({ clock }));
    return { store: { kind: 'bytes', store: counted } satisfies ApiStore, count };
  },
};

/** One object changed many times, long ago; `before` is the version of its creation. */
async function longAgo(kind: keyof typeof stores) {
  const clock = new FakeClock();
  const { store, count } = stores[kind](clock);
  const opened = await openServerWithDefault({ store, clock });
  const { client } = opened;
  const created = await client.create(configMaps, { metadata: { name: 'a', namespace }, data: { value: '0' } });
  for (let i = 1; i <= changes; i++) await client.update(configMaps, withValue(created, String(i)));
  await clock.advance(2 * usualBounds.keepMs);
  return { ...opened, clock, count, before: created.metadata.resourceVersion! };
}

function withValue({ metadata: { resourceVersion: _, ...metadata } }: ConfigMap, value: string): ConfigMap {
  return { metadata, data: { value } };
}

/** What a watch from there tells until it has seen this value, or its error. */
async function valuesSince(client: Client, resourceVersion: string, last: string): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const { object } of client.watch(configMaps, { namespace, resourceVersion })) {
    const value = (object as ConfigMap).data?.value ?? 'nothing';
    seen.push(value);
    if (value === last) break;
  }
  return seen;
}

const allValues = Array.from({ length: changes }, (_, i) => String(i + 1));

for (const kind of ['objects', 'bytes'] as const) {
  describe(`over a store of ${kind}`, () => {
    test('a hundred who come back together are told all they missed, and the store is asked once', async (t) => {
      const { client, count, before, close } = await longAgo(kind);
      t.after(close);
      const first = count.recalls;
      const seen = await Promise.all(Array.from({ length: 100 }, () => valuesSince(client, before, String(changes))));
      for (const values of seen) assert.deepEqual(values, allValues);
      assert.equal(count.recalls - first, 1);
    });

    test('changes that come while the store is asked neither get lost nor in the way', async (t) => {
      const { client, count, before, close } = await longAgo(kind);
      t.after(close);
      const first = count.recalls;
      const watching = valuesSince(client, before, 'last');
      const current = await client.get(configMaps, { name: 'a', namespace });
      for (let i = 0; i < 5; i++) await client.update(configMaps, withValue(current, `late ${i}`));
      await client.update(configMaps, withValue(current, 'last'));
      assert.deepEqual(await watching, [...allValues, ...[0, 1, 2, 3, 4].map((i) => `late ${i}`), 'last']);
      assert.equal(count.recalls - first, 1);
    });

    test('what the store has forgotten it is asked for once, and all are told that they come too late', async (t) => {
      const { client, count, store, before, close } = await longAgo(kind);
      t.after(close);
      await store.store.compact(store.store.revision);
      await settle();
      const first = count.recalls;
      for (let i = 0; i < 3; i++)
        await assert.rejects(valuesSince(client, before, ''), /too old resource version: \d+ \(\d+\)/);
      assert.equal(count.recalls - first, 1);
    });
  });
}

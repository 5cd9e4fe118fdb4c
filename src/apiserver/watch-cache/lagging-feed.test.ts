/** Over a store of other processes the feed comes later than what reads see: a cache is filled with changes that the feed has yet to tell. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps } from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import type { Store, Watcher } from '../../storage/store.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { openServerWithDefault } from '../api-server.fixture.ts';

const namespace = 'default';

/** Its watches hear of nothing until they are let go on. */
function laggingStore() {
  const store = memoryStore<KubeObject>({ clock: new FakeClock() });
  let held: (() => void)[] | undefined;
  const later = (call: () => void) => (held ? void held.push(call) : call());
  const watch: Store<KubeObject>['watch'] = (options, watcher: Watcher<KubeObject>) =>
    store.watch(options, {
      onEvents: (events) => later(() => watcher.onEvents(events)),
      onProgress: (revision) => later(() => watcher.onProgress?.(revision)),
      onError: (error) => later(() => watcher.onError(error)),
    });
  return {
    store: new Proxy(store, {
      get(target, name) {
        if (name === 'watch') return watch;
        const own = Reflect.get(target, name);
        return typeof own === 'function' ? own.bind(target) : own;
      },
    }),
    hold() {
      held = [];
    },
    goOn() {
      const calls = held ?? [];
      held = undefined;
      for (const call of calls) call();
    },
  };
}

test('a watch hears nothing twice of what was there when its cache was filled', async (t) => {
  const { store, hold, goOn } = laggingStore();
  const { client, close } = await openServerWithDefault({ store: { kind: 'objects', store } });
  t.after(close);
  hold();
  const metadata = { name: 'a', namespace, uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
  const stored = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: '1' } };
  await store.put('/registry/configmaps/default/a', stored);
  const { items, resourceVersion } = await client.list(configMaps, { namespace, resourceVersion: '0' });
  assert.equal(items[0]?.data?.value, '1');
  const seen: string[] = [];
  const stop = new AbortController();
  const follow = async () => {
    const options = { namespace, resourceVersion, signal: stop.signal };
    for await (const { type, object } of client.watch(configMaps, options))
      seen.push(`${type} ${(object as ConfigMap).data?.value}`);
  };
  const following = follow().catch(() => {});
  await settle();
  goOn();
  await client.update(configMaps, { ...items[0]!, data: { value: '2' } });
  await settle();
  assert.deepEqual(seen, ['MODIFIED 2']);
  stop.abort();
  await following;
});

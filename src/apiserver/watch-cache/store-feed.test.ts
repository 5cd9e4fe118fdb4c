/** The feed when things go wrong: the caches notice, and nothing is missed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { CompactedError, type Store, type Watcher, type WatchOptions } from '../../storage/store.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { StoreFeed } from './store-feed.ts';

function feedOver(revision: number) {
  const clock = new FakeClock();
  const watches: { options: WatchOptions; watcher: Watcher<string> }[] = [];
  const store = {
    revision,
    watch(options: WatchOptions, watcher: Watcher<string>) {
      watches.push({ options, watcher });
      return { close() {} };
    },
  } as unknown as Store<string>;
  const feed = new StoreFeed({ store, clock, log: silentLog });
  return { clock, watches, feed };
}

const put = (key: string, revision: number) =>
  ({ type: 'put', key, revision, value: 'v', previous: undefined }) as const;

test('each change goes to the cache of its prefix, in runs', () => {
  const { watches, feed } = feedOver(0);
  const calls: string[] = [];
  for (const prefix of ['/registry/pods/', '/registry/services/specs/']) {
    feed.attach(prefix, {
      apply: (events) => void calls.push(`${prefix} ${events.map(({ revision }) => revision)}`),
      reset: () => assert.fail('nothing was missed'),
    });
  }
  const { watcher } = watches[0]!;
  watcher.onEvents([
    put('/registry/pods/a/b', 1),
    put('/registry/pods/a/c', 2),
    put('/registry/secrets/a/b', 3),
    put('/registry/services/specs/a/b', 4),
    put('/registry/pods/a/d', 5),
  ]);
  assert.deepEqual(calls, ['/registry/pods/ 1,2', '/registry/services/specs/ 4', '/registry/pods/ 5']);
  assert.equal(feed.revision, 5);
});

test('whoever waits for a revision is told when it is reached, by events or by progress', async () => {
  const { watches, feed } = feedOver(3);
  assert.equal(feed.reach(3), undefined);
  const reached: number[] = [];
  for (const revision of [4, 6]) feed.reach(revision)!.then(() => reached.push(revision));
  watches[0]!.watcher.onEvents([put('/registry/pods/a/b', 4)]);
  await settle();
  assert.deepEqual(reached, [4]);
  watches[0]!.watcher.onProgress?.(6);
  await settle();
  assert.deepEqual(reached, [4, 6]);
});

test('a broken feed goes on where it was; only when that is forgotten are the caches filled anew', async () => {
  const { clock, watches, feed } = feedOver(3);
  let resets = 0;
  feed.attach('/registry/pods/', { apply() {}, reset: () => resets++ });
  watches[0]!.watcher.onError(new Error('broken'));
  await clock.advance(1000);
  assert.equal(watches[1]!.options.afterRevision, 3);
  assert.equal(resets, 0);
  watches[1]!.watcher.onError(new CompactedError(10));
  await clock.advance(1000);
  assert.equal(watches.length, 3);
  assert.equal(resets, 1);
});

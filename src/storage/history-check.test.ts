import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../base/random.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import fc from '../testing/properties.fixture.ts';
import {
  type History,
  HistoryRecorder,
  type OperationRecord,
  type WatchedEvent,
  watchedEvent,
} from './history.fixture.ts';
import { checkHistory } from './history-check.fixture.ts';
import { memoryStore } from './memory/memory-store.ts';
import type { Store } from './store.ts';
import { recordWatch } from './watch-recorder.fixture.ts';

let at = 0;
const span = () => ({ client: 'c', startedAt: ++at, endedAt: ++at });
const put = (key: string, value: string, expected: number, revision: number): OperationRecord => ({
  ...span(),
  kind: 'put',
  key,
  value,
  expected,
  outcome: 'acknowledged',
  revision,
});
const refused = (value: string, expected: number, outcome: 'conflict' | 'failed' | 'unknown'): OperationRecord => ({
  ...span(),
  kind: 'put',
  key: 'a',
  value,
  expected,
  outcome,
});
const remove = (key: string, expected: number): OperationRecord => ({
  ...span(),
  kind: 'remove',
  key,
  expected,
  outcome: 'acknowledged',
});
const read = (key: string, revision: number, value?: string, fresh = true): OperationRecord => ({
  ...span(),
  kind: 'read',
  key,
  revision,
  value,
  fresh,
});
const list = (revision: number, ...entries: [string, string, number][]): OperationRecord => ({
  ...span(),
  kind: 'list',
  fresh: true,
  revision,
  entries: entries.map(([key, value, revision]) => ({ key, value, revision })),
});
const event = (type: WatchedEvent['type'], key: string, revision: number, value: string): WatchedEvent => ({
  type,
  key,
  revision,
  value,
});

const e2 = event('created', 'a', 2, '1');
const e3 = event('changed', 'a', 3, '2');
const e4 = event('removed', 'a', 4, '2');
const whole = [e2, e3, e4];

function sound(): OperationRecord[] {
  return [
    put('a', '1', 0, 2),
    read('a', 2, '1'),
    put('a', '2', 2, 3),
    list(3, ['a', '2', 3]),
    remove('a', 3),
    read('a', 0),
    list(4),
  ];
}

function check(operations: readonly OperationRecord[], ...watches: (readonly WatchedEvent[])[]): string[] {
  const history: History = {
    operations,
    watches: watches.map((events, i) => ({ name: `w${i}`, afterRevision: 1, upTo: 4, events })),
  };
  return [...new Set(checkHistory(history).map(({ rule }) => rule))].sort();
}

describe('a checked history', () => {
  test('of a store that keeps its promises is without fault', () => {
    assert.deepEqual(check(sound(), whole, whole), []);
  });

  test('may have a write without an answer, whether it happened or not', () => {
    const lost = refused('3', 3, 'unknown');
    assert.deepEqual(check([...sound().slice(0, 4), lost], [e2, e3]), []);
    assert.deepEqual(check([...sound().slice(0, 4), lost], [e2, e3, event('changed', 'a', 4, '3')]), []);
  });

  const planted: readonly {
    readonly what: string;
    readonly operations?: () => OperationRecord[];
    readonly events?: readonly WatchedEvent[];
    readonly rules: readonly string[];
  }[] = [
    {
      what: 'an acknowledged write that is lost',
      operations: () => [...sound().slice(0, 3), list(3, ['a', '1', 2])],
      events: [e2],
      rules: ['a list is of one moment', 'a watch has no gap'],
    },
    {
      what: 'a key that is lost',
      operations: () => [put('a', '1', 0, 2), list(3)],
      events: [e2],
      rules: ['an acknowledged write is kept'],
    },
    {
      what: 'an acknowledged removal that never came',
      operations: () => [put('a', '1', 0, 2), remove('a', 2)],
      events: [e2],
      rules: ['an acknowledged write is kept'],
    },
    {
      what: 'a revision given twice',
      operations: () => [...sound(), put('b', '5', 0, 3)],
      rules: ['a fresh read is not stale', 'a revision is given once', 'revisions rise'],
    },
    {
      what: 'a revision that falls behind one told before',
      operations: () => [put('b', '5', 0, 9), ...sound()],
      events: [...whole, event('created', 'b', 9, '5')],
      rules: ['a fresh read is not stale', 'revisions rise'],
    },
    {
      what: 'a compare-and-set that replaced something else',
      operations: () => [put('a', '1', 0, 2), put('a', '2', 2, 3), put('a', '3', 2, 4)],
      events: [e2, e3, event('changed', 'a', 4, '3')],
      rules: ['compare-and-set holds'],
    },
    {
      what: 'a refusal for no reason',
      operations: () => [put('a', '1', 0, 2), refused('9', 2, 'conflict'), put('a', '2', 2, 3)],
      events: [e2, e3],
      rules: ['a conflict has a reason'],
    },
    {
      what: 'a failed write that is there',
      operations: () => [put('a', '1', 0, 2), refused('2', 2, 'failed')],
      events: [e2, e3],
      rules: ['a refused write leaves nothing'],
    },
    {
      what: 'a value from nowhere',
      operations: () => [put('a', '1', 0, 2)],
      events: [e2, e3],
      rules: ['nothing appears that nobody wrote'],
    },
    {
      what: 'a write that was carried out twice',
      operations: () => [put('a', '1', 0, 2), refused('2', 2, 'unknown')],
      events: [e2, e3, event('changed', 'a', 4, '2')],
      rules: ['nothing appears that nobody wrote'],
    },
    { what: 'a watch with a gap', events: [e2, e4], rules: ['a watch has no gap'] },
    { what: 'a watch out of order', events: [e3, e2, e4], rules: ['a watch is in order'] },
    { what: 'an event that comes twice', events: [e2, e3, e3, e4], rules: ['a watch is in order'] },
    {
      what: 'an event of the wrong type',
      events: [e2, { ...e3, type: 'created' }, e4],
      rules: ['a watch tells the truth'],
    },
    {
      what: 'a read from the past',
      operations: () => [...sound().slice(0, 3), read('a', 2, '1'), remove('a', 3)],
      rules: ['a fresh read is not stale'],
    },
    {
      what: 'a read of absence after an acknowledged write',
      operations: () => [put('a', '1', 0, 2), read('a', 0), put('a', '2', 2, 3), remove('a', 3)],
      rules: ['a fresh read is not stale'],
    },
    {
      what: 'a read of what nobody has written yet',
      operations: () => [read('a', 2, '1', false), ...sound()],
      rules: ['a read is of some moment', 'revisions rise'],
    },
    {
      what: 'a list from the past',
      operations: () => [...sound(), list(3, ['a', '2', 3])],
      rules: ['a fresh read is not stale'],
    },
    {
      what: 'a list of two moments',
      operations: () => [...sound().slice(0, 3), list(3, ['a', '1', 2]), remove('a', 3)],
      rules: ['a list is of one moment'],
    },
  ];
  for (const { what, operations = sound, events = whole, rules } of planted)
    test(`does not hide ${what}`, () => assert.deepEqual(check(operations(), events), rules));

  test('read from a cache may be of the past', () => {
    assert.deepEqual(check([...sound(), read('a', 2, '1', false)], whole), []);
  });
});

/** Clients that share few keys, so that they get into each other's way; every turn of a store is one of its own. */
async function historyOf(store: Store<string>, seed: number): Promise<History> {
  const random = seededRandom(seed);
  const recorder = new HistoryRecorder(random);
  const watch = recordWatch(store, { start: '/', end: '0', afterRevision: 1 });
  await Promise.all(Array.from({ length: 4 }, (_, i) => recorder.client(`c${i}`, store, 40)));
  await settle();
  const events = watch.events.map(watchedEvent);
  watch.close();
  return {
    operations: recorder.operations,
    watches: [{ name: 'all', afterRevision: 1, upTo: store.revision, events }],
  };
}

/** A store that breaks one promise now and then. */
const liars: Readonly<Record<string, (store: Store<string>) => Partial<Store<string>>>> = {
  'loses writes': (store) => ({
    put: async (key, value, options) => {
      if (store.revision % 7 !== 0) return store.put(key, value, options);
      return { ok: true, revision: store.revision + 1, previous: undefined };
    },
  }),
  'compares with nothing': (store) => ({ put: (key, value) => store.put(key, value) }),
  'reads the past': (store) => ({
    get: (key) => store.get(key, { revision: Math.max(1, store.revision - 3) }),
  }),
  'forgets events': (store) => ({
    watch: (options, watcher) =>
      store.watch(options, {
        ...watcher,
        onEvents: (events) => watcher.onEvents(events.filter(({ revision }) => revision % 11 !== 0)),
      }),
  }),
};

describe('clients of a store in memory', () => {
  test('see a history without fault, whatever they do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const store = memoryStore<string>({ clock: new FakeClock() });
        assert.deepEqual(checkHistory(await historyOf(store, seed)), []);
        await store.close();
      }),
      { numRuns: 30 },
    );
  });

  for (const [lie, broken] of Object.entries(liars))
    test(`find out a store that ${lie}`, async () => {
      const store = memoryStore<string>({ clock: new FakeClock() });
      const lies = broken(store);
      const lying = new Proxy(store, {
        get(target, name) {
          const own = (lies as unknown as typeof target)[name as keyof Store<string>] ?? Reflect.get(target, name);
          return typeof own === 'function' ? own.bind(target) : own;
        },
      });
      assert.notDeepEqual(checkHistory(await historyOf(lying, 1)), []);
      await store.close();
    });
});

/**
 * Compares a store with the simplest model there is, a list of all changes: after any sequence of writes and compactions,
 * every answer, every read in the past and every watch must be what the list says.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Clock } from '../base/clock.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import fc from '../testing/properties.fixture.ts';
import type { CommitResult, Entry, Store, StoreEvent } from './store.ts';
import { recordWatch } from './watch-recorder.fixture.ts';

export type OpenStore = (clock: Clock, t: TestContext) => Promise<Store<string>>;

type Command =
  | { readonly verb: 'put'; readonly key: string; readonly expect: Expectation }
  | { readonly verb: 'remove'; readonly key: string; readonly expect: Expectation }
  | { readonly verb: 'compact'; readonly back: number };

/** What the writer demands, relative to what stands there. */
type Expectation = 'nothing' | 'current' | 'absent' | 'wrong';

/** With a char between the two forms of order: after it in bytes, before it in UTF-16. */
const keys = ['/a', '/b', '/c/d', '/c/e', '/\uffee', '/😀'];
const key = fc.constantFrom(...keys);
const expect = fc.constantFrom<Expectation>('nothing', 'nothing', 'current', 'current', 'absent', 'wrong');
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ verb: fc.constant('put' as const), key, expect }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('remove' as const), key, expect }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('compact' as const), back: fc.nat(6) }) },
);

const everything = { start: '/', end: '0' };

export function testAgainstModel(open: OpenStore, numRuns: number): void {
  test('any sequence of writes and compactions gives what a plain list of changes gives', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60, size: 'max' }), async (commands) => {
        const store = await open(new FakeClock(), t);
        try {
          const model = new Model();
          const live = recordWatch(store, { ...everything, afterRevision: 1 });
          for (const [i, command] of commands.entries()) {
            // A watch that compaction overtakes may end; this one shall hear of everything.
            if (command.verb === 'compact') await live.untilEvents(model.changes.length);
            await runBoth(store, model, command, `v${i}`);
          }
          await live.untilEvents(model.changes.length);
          assert.deepEqual(live.events, model.changes);
          await compareReads(store, model);
          await compareWatches(store, model);
        } finally {
          await store.close();
        }
      }),
      // A smaller example of what failed would take hundreds of stores, each of which may be a process.
      { numRuns, endOnFailure: numRuns < 100 },
    );
  });
}

class Model {
  readonly changes: StoreEvent<string>[] = [];
  revision = 1;
  compacted = 0;

  entriesAt(revision: number): Entry<string>[] {
    const entries = new Map<string, Entry<string>>();
    for (const change of this.changes) {
      if (change.revision > revision) break;
      if (change.type === 'remove') entries.delete(change.key);
      else entries.set(change.key, this.#entry(change, entries.get(change.key)));
    }
    return [...entries.values()].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }

  write(key: string, value: string | undefined, expected: number | undefined): CommitResult<string> {
    const current = this.entriesAt(this.revision).find((entry) => entry.key === key);
    const refused = expected !== undefined && expected !== (current?.revision ?? 0);
    if (refused || (value === undefined && !current)) return { ok: false, current };
    const revision = ++this.revision;
    this.changes.push({ type: value === undefined ? 'remove' : 'put', key, revision, value, previous: current });
    return { ok: true, revision, previous: current };
  }

  #entry({ key, value, revision }: StoreEvent<string>, before: Entry<string> | undefined): Entry<string> {
    return { key, value: value!, revision, createRevision: before?.createRevision ?? revision };
  }
}

async function runBoth(store: Store<string>, model: Model, command: Command, value: string): Promise<void> {
  if (command.verb === 'compact') {
    const revision = Math.max(0, model.revision - command.back);
    await store.compact(revision);
    model.compacted = Math.max(model.compacted, revision);
    return;
  }
  const current = model.entriesAt(model.revision).find((entry) => entry.key === command.key)?.revision ?? 0;
  const expected = { nothing: undefined, current, absent: 0, wrong: current + 1 }[command.expect];
  const options = expected === undefined ? {} : { expected };
  const put = command.verb === 'put';
  const answer = put ? await store.put(command.key, value, options) : await store.remove(command.key, options);
  assert.deepEqual(answer, model.write(command.key, put ? value : undefined, expected));
  assert.equal(store.revision, model.revision);
}

async function compareReads(store: Store<string>, model: Model): Promise<void> {
  for (let revision = Math.max(1, model.compacted); revision <= model.revision; revision++) {
    const entries = model.entriesAt(revision);
    const whole = { entries, revision, more: false, count: entries.length };
    assert.deepEqual(await store.range({ ...everything, revision }), whole);
    const limited = await store.range({ ...everything, revision, limit: 2 });
    assert.deepEqual(limited, { ...whole, entries: entries.slice(0, 2), more: entries.length > 2 });
    for (const key of keys) {
      assert.deepEqual(
        await store.get(key, { revision }),
        entries.find((entry) => entry.key === key),
      );
    }
  }
  assert.deepEqual((await store.range(everything)).entries, model.entriesAt(model.revision));
}

async function compareWatches(store: Store<string>, model: Model): Promise<void> {
  for (let after = Math.max(1, model.compacted); after <= model.revision; after++) {
    const expected = model.changes.filter(({ revision }) => revision > after);
    const watch = recordWatch(store, { ...everything, afterRevision: after });
    await watch.untilEvents(expected.length);
    watch.close();
    assert.deepEqual(watch.events, expected);
  }
}

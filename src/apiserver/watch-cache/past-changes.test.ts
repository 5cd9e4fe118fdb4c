/** What a cache reads of the time before it: all of it, or nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { StoreClosedError } from '../../storage/store.ts';
import { pastChanges } from './past-changes.ts';

/** Puts two keys, changes one, removes it, and ends with a change elsewhere: revisions 2 to 6. */
async function storeWithPast() {
  const store = memoryStore<string>({ clock: systemClock });
  await store.put('/registry/things/a', 'a1');
  await store.put('/registry/things/b', 'b1');
  await store.put('/registry/things/a', 'a2');
  await store.remove('/registry/things/a');
  await store.put('/registry/others/c', 'c1');
  return store;
}

const prefix = '/registry/things/';
/** Each change counts as one. */
const bytesOf = () => 1;

describe('changes of the past', () => {
  test('are those after one revision and up to another, of one resource', async () => {
    const store = await storeWithPast();
    const changes = await pastChanges(store, { prefix, afterRevision: 2, upToRevision: 5, bytesOf, maxBytes: 10 });
    assert.deepEqual(
      changes?.map(({ type, key, revision, previous }) => [type, key, revision, previous?.value]),
      [
        ['put', '/registry/things/b', 3, undefined],
        ['put', '/registry/things/a', 4, 'a1'],
        ['remove', '/registry/things/a', 5, 'a2'],
      ],
    );
    await store.close();
  });

  test('may be none', async () => {
    const store = await storeWithPast();
    assert.deepEqual(
      await pastChanges(store, { prefix, afterRevision: 5, upToRevision: 6, bytesOf, maxBytes: 10 }),
      [],
    );
    await store.close();
  });

  test('end where they should, though more have happened since', async () => {
    const store = await storeWithPast();
    const changes = await pastChanges(store, { prefix, afterRevision: 2, upToRevision: 3, bytesOf, maxBytes: 10 });
    assert.deepEqual(
      changes?.map(({ revision }) => revision),
      [3],
    );
    await store.close();
  });

  test('are unknown when they are too much or the store has forgotten some', async () => {
    const store = await storeWithPast();
    assert.equal(
      await pastChanges(store, { prefix, afterRevision: 2, upToRevision: 5, bytesOf, maxBytes: 2 }),
      undefined,
    );
    await store.compact(4);
    assert.equal(
      await pastChanges(store, { prefix, afterRevision: 2, upToRevision: 5, bytesOf, maxBytes: 10 }),
      undefined,
    );
    await store.close();
  });

  test('cannot be read from a store that is closed', async () => {
    const store = await storeWithPast();
    await store.close();
    const reading = pastChanges(store, { prefix, afterRevision: 2, upToRevision: 5, bytesOf, maxBytes: 10 });
    await assert.rejects(reading, StoreClosedError);
  });
});

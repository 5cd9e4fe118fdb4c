import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { describeStore } from '../store.contract.ts';
import { memoryStore } from './memory-store.ts';

describeStore('memory', async (clock) => memoryStore<string>({ clock }));

test('the memory store keeps values themselves', async () => {
  const store = memoryStore<object>({ clock: new FakeClock() });
  const value = { name: 'a' };
  await store.put('/a', value);
  assert.equal((await store.get('/a'))?.value, value);
  assert.equal((await store.range({ start: '/', end: '0' })).entries[0]?.value, value);
  await store.close();
});

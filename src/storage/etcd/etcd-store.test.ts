/** The contract on a real etcd: a fresh one for each test, since the contract names revisions. */
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../base/clock.ts';
import { needs } from '../../testing/needs.ts';
import type { Codec } from '../codec.ts';
import { describeStore } from '../store.contract.ts';
import type { Store } from '../store.ts';
import { openEtcdStore } from './etcd-store.ts';
import { laterEtcd, startEtcd } from './process.fixture.ts';

const text: Codec<string> = { encode: (value) => Buffer.from(value), decode: (bytes) => bytes.toString() };

describeStore('etcd', (clock, t) => open(clock, t), { modelRuns: 10, ...needs('etcd') });
// The other way of learning about progress; the model has nothing to do with it.
describeStore('etcd that tells progress', (clock, t) => open(clock, t, laterEtcd), {
  modelRuns: 3,
  ...needs(laterEtcd),
});

async function open(clock: Clock, t: TestContext, binary?: string): Promise<Store<string>> {
  const etcd = await startEtcd(binary ? { binary } : {});
  const store = await openEtcdStore({
    endpoints: etcd.endpoints,
    codec: text,
    clock: withMomentsOf(systemClock, clock),
  });
  t.after(async () => {
    // In this order: a store that is closed asks how far its watches are.
    await store.close();
    await etcd.stop();
  });
  return store;
}

/** The test's clock stands still until it is moved, but etcd's does not: what is tried again after a moment goes by that one. */
function withMomentsOf(moving: Clock, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    soon: (callback) => clock.soon(callback),
    after: (delayMs, callback) => (delayMs < 1000 ? moving : clock).after(delayMs, callback),
  };
}

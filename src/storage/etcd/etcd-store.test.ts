/** The contract on a real etcd: a fresh one for each test, since the contract names revisions. */
import type { TestContext } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import type { Codec } from '../codec.ts';
import { describeStore } from '../store.contract.ts';
import type { Store } from '../store.ts';
import { openEtcdStore } from './etcd-store.ts';
import { etcdMissing, startEtcd } from './process.fixture.ts';

const text: Codec<string> = { encode: (value) => Buffer.from(value), decode: (bytes) => bytes.toString() };

describeStore('etcd', open, { modelRuns: 10, skip: etcdMissing() });

async function open(clock: Clock, t: TestContext): Promise<Store<string>> {
  const etcd = await startEtcd();
  t.after(() => etcd.stop());
  return openEtcdStore({ endpoints: etcd.endpoints, codec: text, clock });
}

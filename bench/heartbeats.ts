/**
 * A day of heartbeats from 100 nodes (a Lease every 10 seconds, the Node's status every 5 minutes) in compressed time, with compaction as the
 * API server has it: how much larger the store's file is in the evening than after the first hour.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Compaction } from '../src/apiserver/compaction.ts';
import { silentLog } from '../src/base/log.ts';
import { bufferCodec, openLmdbStore } from '../src/storage/lmdb/lmdb-store.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { print, rounded, say } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';

const nodes = 100;
const hours = Number(process.argv[2] ?? 24);
const beatSeconds = 10;
const leaseBytes = 400;
const nodeBytes = 8000;
const pods = 3000;
const podBytes = 4000;

const clock = new FakeClock(Date.UTC(2026, 0, 1));
const path = join(temporaryFolder(), 'store');
const store = await openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });
const compaction = new Compaction({ store, clock, log: silentLog, retentionMs: 3_600_000 });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
await Promise.all(
  Array.from({ length: pods }, (_, i) => store.put(`/registry/pods/default/p-${i}`, Buffer.alloc(podBytes, `${i}`))),
);
const megabytes: number[] = [];
for (let second = 0; second < hours * 3600; second += beatSeconds) {
  const writes = Array.from({ length: nodes }, (_, node) =>
    store.put(`/registry/leases/kube-node-lease/node-${node}`, Buffer.alloc(leaseBytes, `${second}`)),
  );
  if (second % 300 === 0)
    for (let node = 0; node < nodes; node++)
      writes.push(store.put(`/registry/minions/node-${node}`, Buffer.alloc(nodeBytes, `${second}`)));
  await clock.advance(beatSeconds * 1000);
  await Promise.all(writes);
  for (let i = 0; i < 3; i++) await turn();
  if ((second + beatSeconds) % 3600 !== 0) continue;
  megabytes.push(statSync(join(path, 'data.mdb')).size / 1e6);
  say(`${megabytes.length} h: ${rounded(megabytes.at(-1))} MB`);
}
compaction.close();
const { bytes, changes } = store.history!.kept();
await store.close();
/** The first two hours fill what an hour of history takes. */
const settled = megabytes[Math.min(1, megabytes.length - 1)]!;
print({
  name: 'heartbeats',
  what: `a day of heartbeats from ${nodes} nodes, size of the store's file over that after two hours`,
  figure: megabytes.at(-1)! / settled,
  unit: 'x',
  target: 1.1,
  better: 'lower',
  note: `${rounded(settled)} MB after two hours, ${rounded(megabytes.at(-1))} MB after ${hours}, of which ${rounded(bytes / 1e6)} MB are an hour of history (${changes} changes)`,
  details: { megabytes: megabytes.map(rounded) },
});
process.exit();

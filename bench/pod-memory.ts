/**
 * What a Pod takes in the API server's memory over LMDB: Pods are created, then as many updates go to Pods at random, then it is quiet until
 * the history of the past minutes is given back. The figure is the memory of Buffers and of the heap after a full collection, less what the
 * server took before, over the Pods' JSON.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { namespaces, pods } from '../src/api/gen/core-v1.ts';
import { createApiServer } from '../src/apiserver/server.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { bufferCodec, openLmdbStore } from '../src/storage/lmdb/lmdb-store.ts';
import { print, rounded, say } from './parts/figure.ts';
import { namespace } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';

const count = Number(process.argv[2] ?? 20_000);
const fillBytes = Number(process.argv[3] ?? 1100);
const writers = 64;
/** Compaction and the bounds of the history's age have passed by then. */
const quietMs = 240_000;
const compactionIntervalMs = 30_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const path = join(temporaryFolder(), 'store');
const clock = systemClock;
const store = await openLmdbStore({ path, codec: bufferCodec, clock, log: silentLog });
const server = createApiServer({ clock, compactionIntervalMs, store: { kind: 'bytes', store } });
await server.ready();
const client = server.client({ name: 'admin', groups: ['system:masters'] });
await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
await client.list(pods, { namespace });
const before = await memory();

const pod = (index: number, round: number) => ({
  metadata: {
    name: `pod-${index}`,
    namespace,
    labels: { app: `app-${index % 50}` },
    annotations: { round: String(round), fill: 'x'.repeat(fillBytes) },
  },
  spec: { containers: [{ name: 'main', image: 'registry.test/team/application:1.27.3' }] },
});
await eachOf(count, (index) => client.create(pods, pod(index, 0)));
const jsonBytes = JSON.stringify((await client.list(pods, { namespace })).items).length / count;
const created = await perPod('created');
await eachOf(count, async () => {
  const metadata = { annotations: { round: String(systemRandom.next()) } };
  const name = `pod-${Math.floor(systemRandom.next() * count)}`;
  await client.patch(pods, { name, namespace }, { type: 'merge', body: { metadata } });
});
const updated = await perPod('updated');
await sleep(quietMs);
const quiet = await perPod('quiet');
print({
  name: 'pod-memory',
  what: `memory of ${count} Pods of ${Math.round(jsonBytes)} bytes each over their JSON`,
  figure: (quiet.buffers + quiet.heap) / jsonBytes,
  unit: 'x',
  target: 2,
  better: 'lower',
  details: { unit: 'bytes per Pod', jsonBytes: rounded(jsonBytes), created, updated, quiet },
});
await server.close();
await store.close();
process.exit();

async function eachOf(times: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

async function memory() {
  for (let i = 0; i < 3; i++) {
    collect();
    await sleep(50);
  }
  return process.memoryUsage();
}

async function perPod(state: string) {
  const { arrayBuffers, heapUsed } = await memory();
  const bytes = {
    buffers: Math.round((arrayBuffers - before.arrayBuffers) / count),
    heap: Math.round((heapUsed - before.heapUsed) / count),
  };
  say(`${state}: ${JSON.stringify(bytes)}`);
  return bytes;
}

/**
 * A restart of the API server over a store of 150,000 objects on disk: from the start of the process until `/readyz` answers 200, until the
 * first object is read, for which all of its kind are brought into the cache, and until a list of everything begins to arrive.
 */
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { bufferCodec, openLmdbStore } from '../src/storage/lmdb/lmdb-store.ts';
import { Child } from './parts/child.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import { ask, openSession } from './parts/https-client.ts';
import { namespace } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import type { StartedServer } from './processes/server.ts';

const objects = Number(process.argv[2] ?? 150_000);
const runs = 5;
/** Written in one turn. */
const together = 1000;

const folder = temporaryFolder();
const directory = join(folder, 'store');
const environment = { NODE_COMPILE_CACHE: join(folder, 'cache') };
await fill();
const readyMs: number[] = [];
const oneMs: number[] = [];
const oneCpuMs: number[] = [];
const listMs: number[] = [];
for (let run = -1; run < runs; run++) {
  const beganMs = performance.now();
  const sinceMs = () => performance.now() - beganMs;
  await using server = new Child('server', { environment });
  const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
  const session = await openSession(admin);
  const get = async (path: string) => {
    const answer = await ask(session, path);
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}`);
    return answer;
  };
  await get('/readyz');
  const ready = sinceMs();
  await get('/api/v1/namespaces/default/configmaps/start-0');
  const one = sinceMs();
  const { userSeconds, systemSeconds } = server.usage();
  const { firstByteMs } = await get('/api/v1/configmaps');
  session.destroy();
  await server.ask({ kind: 'stop' });
  await server.kill('SIGTERM');
  // The first fills the compile cache.
  if (run < 0) continue;
  readyMs.push(ready);
  oneMs.push(one);
  oneCpuMs.push((userSeconds + systemSeconds) * 1000);
  listMs.push(one + firstByteMs);
  say(`ready after ${rounded(ready)} ms, first object after ${rounded(one)} ms`);
}
print({
  name: 'start-with-objects',
  what: `restart of the API server with ${objects} objects on disk, until one is read`,
  figure: median(oneMs),
  unit: 'ms',
  target: 3000,
  better: 'lower',
  note: `${rounded(median(oneCpuMs))} ms of processor time; /readyz after ${rounded(median(readyMs))} ms, first byte of a list of all after ${rounded(median(listMs))} ms`,
  details: {
    objects,
    readyMs: spread(readyMs),
    firstObjectMs: spread(oneMs),
    firstObjectCpuMs: spread(oneCpuMs),
    firstListByteMs: spread(listMs),
  },
});
process.exit();

/** One comes by way of the server, and the others are its copies, put into the store past it: many times as fast, and the same bytes. */
async function fill(): Promise<void> {
  await using server = new Child('server', { environment });
  const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
  await using load = new Child('creators');
  await load.ask({ kind: 'open', access: admin, clients: 1 });
  await load.ask({ kind: 'create', resource: 'configmaps', prefix: 'start', count: 1 });
  await load.ask({ kind: 'close' });
  await server.ask({ kind: 'stop' });
  const store = await openLmdbStore({ path: directory, codec: bufferCodec, clock: systemClock, log: silentLog });
  const key = (i: number) => `/registry/configmaps/${namespace}/start-${i}`;
  const first = (await store.get(key(0)))!.value.toString();
  for (let i = 1; i < objects; i += together) {
    const names = Array.from({ length: Math.min(together, objects - i) }, (_, j) => i + j);
    await Promise.all(names.map((j) => store.put(key(j), Buffer.from(first.replace('"start-0"', `"start-${j}"`)))));
  }
  await store.close();
  say(`${objects} objects are there`);
}

/**
 * Watch events delivered per second: watchers of all Pods in two client processes, each watcher on a connection of its own, while clients
 * in a third change Pods as fast as they are let. An event is delivered when the client's process has read its line.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './parts/child.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import type { StartedServer } from './processes/server.ts';
import type { Updated } from './processes/updaters.ts';
import type { Delivered } from './processes/watchers.ts';

const watchers = Number(process.argv[2] ?? 100);
const updaters = Number(process.argv[3] ?? 64);
const seconds = 4;
const rounds = 5;

await using server = new Child('server');
const directory = join(temporaryFolder(), 'store');
const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
await using clients = new AsyncDisposableStack();
const watching = [clients.use(new Child('watchers')), clients.use(new Child('watchers'))];
const writing = clients.use(new Child('updaters'));
await createDefaultAccount(admin);
await writing.ask({ kind: 'prepare', access: admin, clients: updaters, podsPerClient: 4 });
const each = watchers / watching.length;
await Promise.all(
  watching.map((child) =>
    child.ask({ kind: 'open', access: admin, path: '/api/v1/pods?watch=true', watchers: each, connections: each }),
  ),
);
await sleep(500);
await writing.ask<Updated>({ kind: 'update', seconds: 2 });
const rates: number[] = [];
const updateRates: number[] = [];
const serverShares: number[] = [];
let missed = 0;
let megabytesPerSecond = 0;
for (let round = 0; round < rounds; round++) {
  await sleep(300);
  const before = await total();
  const used = server.usage();
  const startMs = performance.now();
  const { updates, seconds: updating } = await writing.ask<Updated>({ kind: 'update', seconds });
  const wanted = before.events + updates * watchers;
  let after = await total();
  while (after.events < wanted && performance.now() - startMs < (seconds + 20) * 1000) {
    await sleep(5);
    after = await total();
  }
  const tookSeconds = (performance.now() - startMs) / 1000;
  const usedAfter = server.usage();
  rates.push((after.events - before.events) / tookSeconds);
  updateRates.push(updates / updating);
  serverShares.push(
    (usedAfter.userSeconds + usedAfter.systemSeconds - used.userSeconds - used.systemSeconds) / tookSeconds,
  );
  missed += wanted - after.events;
  megabytesPerSecond = (after.megabytes - before.megabytes) / tookSeconds;
  say(`round ${round + 1}: ${rounded(rates.at(-1)!)} events/s from ${rounded(updateRates.at(-1)!)} updates/s`);
}
print({
  name: 'watch-fanout',
  what: `watch events delivered per second, ${watchers} watchers`,
  figure: median(rates),
  unit: '1/s',
  target: 500_000,
  better: 'higher',
  note: `${rounded(median(updateRates))} updates/s, ${rounded(megabytesPerSecond)} MB/s; the target has 1,000 watchers`,
  details: {
    watchers,
    updaters,
    eventsPerSecond: spread(rates),
    updatesPerSecond: spread(updateRates),
    missed,
    serverProcessors: rounded(median(serverShares)),
  },
});

async function total(): Promise<{ readonly events: number; readonly megabytes: number }> {
  const delivered = await Promise.all(watching.map((child) => child.ask<Delivered>({ kind: 'delivered' })));
  return {
    events: delivered.flatMap(({ events }) => events).reduce((sum, count) => sum + count, 0),
    megabytes: delivered.reduce((sum, { megabytes }) => sum + megabytes, 0),
  };
}

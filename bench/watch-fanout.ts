/**
 * Watch events delivered per second over TLS: watchers of all ConfigMaps in two client processes, while clients in a third change
 * ConfigMaps as fast as they are let. An event is delivered when the client's process has read its line. `--connections`: on how many the
 * watchers are, as many as there are watchers by default; informers of one program share one. `--profile DIR` keeps a profile of the server.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Child } from './parts/child.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import { temporaryFolder } from './parts/temporary.ts';
import type { StartedServer } from './processes/server.ts';
import type { Updated } from './processes/updaters.ts';
import type { Delivered } from './processes/watchers.ts';

const { values } = parseArgs({
  options: {
    watchers: { type: 'string', default: '1000' },
    connections: { type: 'string' },
    updaters: { type: 'string', default: '256' },
    bytes: { type: 'string', default: '1024' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'string' },
  },
});
const watchers = Number(values.watchers);
const connections = Number(values.connections ?? watchers);
/** Processes that share the watchers and the connections evenly. */
const watcherProcesses = 2;
if (![watchers, connections].every(isShared) || connections > watchers) {
  process.stderr.write(
    `--watchers and --connections are shared by ${watcherProcesses} processes: both must be multiples of ${watcherProcesses}, with a watcher at least on each connection\n`,
  );
  process.exit(2);
}
const updaters = Number(values.updaters);
const seconds = Number(values.seconds);
/** What an event has besides the ConfigMap's text. */
const frameBytes = 452;

const flags = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
await using server = new Child('server', { flags });
const directory = join(temporaryFolder(), 'store');
const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
await using clients = new AsyncDisposableStack();
const watching = Array.from({ length: watcherProcesses }, () => clients.use(new Child('watchers')));
const writing = clients.use(new Child('updaters'));
const textBytes = Math.max(1, Number(values.bytes) - frameBytes);
await writing.ask({ kind: 'prepare', access: admin, clients: updaters, objectsPerClient: 4, textBytes });
const share = { watchers: watchers / watching.length, connections: connections / watching.length };
const path = '/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=false';
await Promise.all(watching.map((child) => child.ask({ kind: 'open', access: admin, path, ...share })));
await sleep(500);
const warmUp = await writing.ask<Updated>({ kind: 'update', seconds: 2 });
await delivered(warmUp.updates * watchers, 20);
const found = { rates: [], updateRates: [], processors: [], microseconds: [], clientProcessors: [] } as {
  readonly [name in 'rates' | 'updateRates' | 'processors' | 'microseconds' | 'clientProcessors']: number[];
};
let missed = 0;
let eventBytes = 0;
for (let round = 0; round < Number(values.rounds); round++) {
  await sleep(300);
  const before = await total();
  const used = processorSeconds();
  const startMs = performance.now();
  const { updates, seconds: updating } = await writing.ask<Updated>({ kind: 'update', seconds });
  const wanted = before.events + updates * watchers;
  const after = await delivered(wanted, 20);
  const tookSeconds = (performance.now() - startMs) / 1000;
  const usedAfter = processorSeconds();
  const events = after.events - before.events;
  found.rates.push(events / tookSeconds);
  found.updateRates.push(updates / updating);
  found.processors.push((usedAfter.server - used.server) / tookSeconds);
  found.clientProcessors.push((usedAfter.clients - used.clients) / tookSeconds);
  found.microseconds.push(((usedAfter.server - used.server) * 1e6) / events);
  missed += wanted - after.events;
  eventBytes = (after.bytes - before.bytes) / events;
  say(
    `round ${round + 1}: ${rounded(found.rates.at(-1)!)} events/s of ${rounded(eventBytes)} bytes from ` +
      `${rounded(found.updateRates.at(-1)!)} updates/s, ${rounded(found.microseconds.at(-1)!)} us of the server each`,
  );
}
const rate = median(found.rates);
print({
  name: 'watch-fanout',
  what: `watch events delivered per second, ${watchers} watchers on ${connections} connections`,
  figure: rate,
  unit: '1/s',
  target: 500_000,
  better: 'higher',
  note:
    `${rounded(median(found.updateRates))} updates/s, events of ${rounded(eventBytes)} bytes, ${rounded((rate * eventBytes) / 1e6)} MB/s, ` +
    `${rounded(median(found.microseconds))} us of the server's processor each; the target has 1,000 watchers and 1 kB`,
  details: {
    watchers,
    connections,
    updaters,
    eventsPerSecond: spread(found.rates),
    microsecondsPerEvent: spread(found.microseconds),
    updatesPerSecond: spread(found.updateRates),
    missed,
    serverProcessors: rounded(median(found.processors)),
    clientProcessors: rounded(median(found.clientProcessors)),
  },
});

// A profile is written by a process that ends by itself.
if (values.profile !== undefined) await server.kill('SIGTERM');

function isShared(count: number): boolean {
  return count > 0 && count % watcherProcesses === 0;
}

/** What has arrived once that is all that is wanted, or time is up. */
async function delivered(wanted: number, withinSeconds: number): Promise<Delivered> {
  const untilMs = performance.now() + withinSeconds * 1000;
  for (;;) {
    const found = await total();
    if (found.events >= wanted || performance.now() > untilMs) return found;
    await sleep(5);
  }
}

async function total(): Promise<Delivered> {
  const answers = await Promise.all(watching.map((child) => child.ask<Delivered>({ kind: 'delivered' })));
  return {
    events: answers.reduce((sum, { events }) => sum + events, 0),
    bytes: answers.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function processorSeconds(): { readonly server: number; readonly clients: number } {
  const of = (child: Child) => {
    const { userSeconds, systemSeconds } = child.usage();
    return userSeconds + systemSeconds;
  };
  return { server: of(server), clients: [...watching, writing].reduce((sum, child) => sum + of(child), 0) };
}

/**
 * Creates per second over HTTPS, acknowledged when they are on disk. The figure is that of 64 clients creating ConfigMaps on an API server
 * alone, in turn with its rivals on the same disk: LMDB without a server around it, and etcd with clients like ours. Besides: 1, 8 and
 * 256 clients, Pods, and a whole control plane, whose controllers and scheduler look at every object too.
 */
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { type Etcd, startEtcd } from './parts/etcd.ts';
import { median, print, quantile, rounded, say, spread } from './parts/figure.ts';
import type { Access } from './parts/https-client.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import type { Created } from './processes/creators.ts';
import type { PutResult } from './processes/lmdb-puts.ts';
import type { StartedServer } from './processes/server.ts';

const warmUpSeconds = 5;
const seconds = 3;
const rounds = 7;
/** Clients, the first on a server that has just started. */
const sizes = [256, 64, 8, 1];
/** Of a stored ConfigMap of `parts/objects.ts`. */
const valueBytes = 600;

interface Rate {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly slowestHundredthMs: number;
  /** Processor time of the server for one create, in microseconds. */
  readonly serverMicroseconds: number;
}

const folder = temporaryFolder();
const headline = await besideRivals();
const details: Record<string, Record<string, Rate>> = {
  alone: await allSizes('alone', []),
  whole: await allSizes('whole', ['*']),
};
const ratioOf = (rival: readonly number[]) =>
  rounded(median(rival.map((perSecond, round) => headline.ours[round]!.perSecond / perSecond)));
const figure = median(headline.ours.map((rate) => rate.perSecond));
print({
  name: 'durable-creates',
  what: 'durable creates per second over HTTPS, 64 clients, ConfigMaps, API server alone',
  figure,
  unit: '1/s',
  target: 10_000,
  better: 'higher',
  note: `best round ${rounded(Math.max(...headline.ours.map((rate) => rate.perSecond)))}; server ${rounded(median(headline.ours.map((rate) => rate.serverMicroseconds)))} us of processor time each; raw LMDB puts ${rounded(median(headline.lmdb))}`,
  rival:
    headline.etcd.length === 0
      ? undefined
      : { name: 'etcd puts', figure: rounded(median(headline.etcd)), ratio: ratioOf(headline.etcd) },
  details: {
    perSecond: spread(headline.ours.map((rate) => rate.perSecond)),
    serverMicroseconds: spread(headline.ours.map((rate) => rate.serverMicroseconds)),
    rawLmdbPutsPerSecond: spread(headline.lmdb),
    ratioToRawLmdb: ratioOf(headline.lmdb),
    ...(headline.etcd.length === 0 ? {} : { etcdPutsPerSecond: spread(headline.etcd) }),
    ...details,
  },
});
process.exit();

/** Round after round, so that all see the same machine. */
async function besideRivals() {
  await using server = new Child('server');
  const access = await startServer(server, 'headline', []);
  await using load = new Child('creators');
  await load.ask({ kind: 'open', access, clients: 64 });
  await using lmdb = new Child('lmdb-puts');
  const etcd = await startEtcd(join(folder, 'etcd'));
  if (!etcd) say('etcd is not installed here');
  await using etcdLoad = new Child('etcd-puts');
  const create = (prefix: string, forSeconds: number) => creates(server, load, { prefix, seconds: forSeconds });
  const results = { ours: [] as Rate[], lmdb: [] as number[], etcd: [] as number[] };
  try {
    await create('warm', warmUpSeconds);
    for (let round = 0; round < rounds; round++) {
      const ours = await create(`r${round}`, seconds);
      const request = { kind: 'put', directory: join(folder, 'raw'), writers: 64, seconds, valueBytes };
      const { perSecond } = await lmdb.ask<PutResult>(request);
      results.ours.push(ours);
      results.lmdb.push(perSecond);
      if (etcd) results.etcd.push(await etcdPuts(etcd, etcdLoad));
      say(
        `64 clients: ${rounded(ours.perSecond)}/s; raw LMDB ${rounded(perSecond)}/s; etcd ${rounded(results.etcd.at(-1)) ?? '-'}/s`,
      );
    }
  } finally {
    await etcd?.stop();
  }
  await server.ask({ kind: 'stop' });
  return results;
}

async function etcdPuts({ url }: Etcd, load: Child): Promise<number> {
  return (await load.ask<PutResult>({ kind: 'put', url, clients: 64, seconds, valueBytes })).perSecond;
}

async function allSizes(name: string, controllers: readonly string[]): Promise<Record<string, Rate>> {
  const rates: Record<string, Rate> = {};
  await using server = new Child('server');
  const access = await startServer(server, name, controllers);
  for (const clients of sizes) {
    await using load = new Child('creators');
    await load.ask({ kind: 'open', access, clients });
    for (const resource of ['configmaps', 'pods'] as const) {
      if (clients === sizes[0]) await creates(server, load, { resource, prefix: 'warm', seconds: warmUpSeconds });
      const rate = await creates(server, load, { resource, prefix: `c${clients}`, seconds });
      rates[`${clients} clients, ${resource}`] = rate;
      say(`${name}, ${clients} clients, ${resource}: ${rate.perSecond}/s, median ${rate.medianMs} ms`);
    }
    await load.ask({ kind: 'close' });
  }
  await server.ask({ kind: 'stop' });
  return rates;
}

async function creates(
  server: Child,
  load: Child,
  request: { readonly resource?: 'configmaps' | 'pods'; readonly prefix: string; readonly seconds: number },
): Promise<Rate> {
  const before = server.usage();
  const created = await load.ask<Created>({ kind: 'create', resource: 'configmaps', ...request });
  const after = server.usage();
  const used = after.userSeconds + after.systemSeconds - before.userSeconds - before.systemSeconds;
  return {
    perSecond: rounded(created.created / created.seconds),
    medianMs: rounded(median(created.latenciesMs)),
    slowestHundredthMs: rounded(quantile(created.latenciesMs, 0.99)),
    serverMicroseconds: rounded((used / created.created) * 1e6),
  };
}

async function startServer(server: Child, name: string, controllers: readonly string[]): Promise<Access> {
  const { admin } = await server.ask<StartedServer>({ kind: 'start', directory: join(folder, name), controllers });
  if (controllers.length === 0) await createDefaultAccount(admin);
  return admin;
}

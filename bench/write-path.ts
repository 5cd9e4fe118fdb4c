/**
 * What an operation costs the API server's main thread, waiting excluded: create, update, the four patches, a status patch, delete, get, an
 * item of a list and an event for one more watcher, of a Lease, a ConfigMap, a Deployment and a full Pod over LMDB. Each twice: in the
 * pipeline, bytes in and bytes out without sockets; and over HTTPS. Each is held against what nobody can go without, measured in the same
 * process and round:
 *
 *   JSON.parse of the request's text (create, update, patch) + JSON.stringify of the object as it is stored
 *
 * with nothing else in it: no bytes to text or back, no check, no copy, no store. Server-side apply is held against a JSON update too.
 * The figure is the worst ratio of a create, an update or a patch in the pipeline.
 */
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import type { Sent, WriteRequest } from './parts/direct-requests.ts';
import { median, print, rounded, say } from './parts/figure.ts';
import { ask, openSession } from './parts/https-client.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import { subjects, type WriteSubject } from './parts/write-objects.ts';
import type { StartedServer } from './processes/server.ts';

const rounds = Number(process.argv[2] ?? 5);
/** The first ones are not counted: the compiler is still at work. */
const warmUpRounds = 2;
const objectsPerRound = 300;
/** What is cheap is done so often, since the kernel counts in ticks of some milliseconds. */
const readsPerObject = 10;
const concurrency = 32;
const connections = 8;
const watchers = 20;

type Operation =
  | 'create'
  | 'update'
  | 'mergePatch'
  | 'jsonPatch'
  | 'strategicMergePatch'
  | 'statusPatch'
  | 'apply'
  | 'delete'
  | 'get'
  | 'listItem'
  | 'watchEvent';
const writes: readonly Operation[] = [
  'create',
  'update',
  'mergePatch',
  'jsonPatch',
  'strategicMergePatch',
  'statusPatch',
];

/** Microseconds for one, a value a round. */
interface Costs {
  readonly pipeline: number[];
  readonly https: number[];
  readonly baseline: number[];
}

/** How requests get to the server; resolves with microseconds for all and, when wanted, the answers' bodies. */
type Send = (requests: readonly WriteRequest[], keepBodies?: boolean) => Promise<Sent>;

await using server = new Child('server', { flags: process.env.BENCH_PROFILE ? ['--cpu-prof'] : [] });
const directory = join(temporaryFolder(), 'store');
const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
await createDefaultAccount(admin);
const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(admin)));

const pipeline: Send = (requests, keepBodies) => server.ask({ kind: 'send', requests, concurrency, keepBodies });
const https: Send = async (requests, keepBodies = false) => {
  const bodies: string[] = [];
  const began = await server.ask<number>({ kind: 'cpu' });
  let next = 0;
  const work = async (_: unknown, client: number) => {
    while (next < requests.length) {
      const index = next++;
      const { method, target, contentType, body } = requests[index]!;
      const options =
        body === undefined ? { method } : { method, body, contentType: contentType ?? 'application/json' };
      const answer = await ask(sessions[client % connections]!, target, { ...options, keepBody: keepBodies });
      if (answer.status >= 300) throw new Error(`${method} ${target} was answered with ${answer.status}`);
      if (keepBodies) bodies[index] = answer.body;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { microseconds: (await server.ask<number>({ kind: 'cpu' })) - began, bodies };
};

const results: Record<string, Record<string, unknown>> = {};
const worst: number[] = [];
const applies: number[] = [];
for (const subject of subjects) {
  const costs = new Map<Operation, Costs>();
  let bytes = 0;
  for (let round = -warmUpRounds; round < rounds; round++) {
    const note = (operation: Operation, side: keyof Costs, microseconds: number) => {
      if (round < 0) return;
      const sides = costs.get(operation) ?? { pipeline: [], https: [], baseline: [] };
      costs.set(operation, sides);
      sides[side].push(microseconds);
    };
    await life(subject, `h${round}`, https, {
      note: (operation, took) => note(operation, 'https', took),
      compare: false,
    });
    bytes = await life(subject, `p${round}`, pipeline, {
      note: (operation, took) => note(operation, 'pipeline', took),
      compare: (operation, took) => note(operation, 'baseline', took),
    });
  }
  results[subject.name] = { storedBytes: bytes, ...table(costs) };
  const ratio = (operation: Operation) => ratioOf(costs.get(operation)!, 'pipeline');
  worst.push(...writes.filter((operation) => costs.has(operation)).map(ratio));
  applies.push(median(costs.get('apply')!.pipeline) / median(costs.get('update')!.pipeline));
  say(`${subject.name}: ${JSON.stringify(results[subject.name])}`);
}
for (const session of sessions) session.destroy();
await server.ask({ kind: 'stop' });
print({
  name: 'write-path',
  what: 'CPU of a create, update or patch over parse and encoding of its JSON, the worst, without sockets',
  figure: Math.max(...worst),
  unit: 'x',
  target: 2,
  better: 'lower',
  note: `server-side apply over a JSON update: ${applies.map((ratio, i) => `${subjects[i]!.name} ${rounded(ratio)}`).join(', ')} (target 3)`,
  details: { unit: 'microseconds of the main thread', ...results },
});
process.exit();

interface Notes {
  note(operation: Operation, microseconds: number): void;
  readonly compare: false | ((operation: Operation, microseconds: number) => void);
}

/** All of an object's life, for as many objects as a round has; resolves with the size of one. */
async function life(subject: WriteSubject, prefix: string, send: Send, { note, compare }: Notes): Promise<number> {
  const { path } = subject;
  const names = Array.from({ length: objectsPerRound }, (_, i) => `${prefix.replace('-', 'w')}-${i}`);
  const each = (make: (name: string, index: number) => WriteRequest) => names.map(make);
  let stored: readonly string[] = [];
  const measured = async (operation: Operation, requests: readonly WriteRequest[]) => {
    const { microseconds, bodies } = await send(requests, compare !== false);
    note(operation, microseconds / requests.length);
    if (compare === false) return bodies;
    if (operation !== 'delete') stored = bodies.slice(0, objectsPerRound);
    compare(operation, await server.ask<number>({ kind: 'baseline', requests, stored }));
    return bodies;
  };
  const patch = (format: string, body: (name: string) => unknown, query = '') =>
    each((name) => ({
      method: 'PATCH',
      target: `${path}/${name}${query}`,
      contentType: `application/${format}`,
      body: JSON.stringify(body(name)),
    }));
  const label = (value: string) => ({ metadata: { labels: { turn: value } } });

  await measured(
    'create',
    each((name) => ({
      method: 'POST',
      target: path,
      contentType: 'application/json',
      body: JSON.stringify(subject.object(name)),
    })),
  );
  const gets = each((name) => ({ method: 'GET', target: `${path}/${name}` }));
  await measured('get', Array.from({ length: readsPerObject }, () => gets).flat());
  const { bodies: standing } = await send(gets, true);
  const changed = standing.map((text) => text.replace(...subject.change));
  await measured(
    'update',
    each((name, i) => ({
      method: 'PUT',
      target: `${path}/${name}`,
      contentType: 'application/json',
      body: changed[i]!,
    })),
  );
  await measured(
    'mergePatch',
    patch('merge-patch+json', () => label('merge')),
  );
  const operations = [{ op: 'replace', path: '/metadata/labels/turn', value: 'json' }];
  await measured(
    'jsonPatch',
    patch('json-patch+json', () => operations),
  );
  await measured(
    'strategicMergePatch',
    patch('strategic-merge-patch+json', () => label('strategic')),
  );
  const { status } = subject;
  if (status)
    await measured(
      'statusPatch',
      patch('strategic-merge-patch+json', () => ({ status }), '/status'),
    );
  const applied = (value: string) =>
    patch(
      'apply-patch+yaml',
      (name) => {
        const object = subject.object(name);
        const metadata = object.metadata as { readonly labels?: object };
        return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, turn: value } } };
      },
      '?fieldManager=bench&force=true',
    );
  // The first one makes the client an owner; what counts is the applies that follow.
  await send(applied('first'));
  await measured('apply', applied('second'));
  await measuredList(path, send, { note, compare, stored });
  if (compare !== false)
    await measuredWatch(
      path,
      patch('merge-patch+json', () => label('watched')),
      patch('merge-patch+json', () => label('quiet')),
      { note, compare, stored },
    );
  const { bodies } = await send([gets[0]!], true);
  await measured(
    'delete',
    each((name) => ({ method: 'DELETE', target: `${path}/${name}?gracePeriodSeconds=0` })),
  );
  return Buffer.byteLength(bodies[0]!);
}

type Reading = Notes & { readonly stored: readonly string[] };

async function measuredList(path: string, send: Send, { note, compare, stored }: Reading): Promise<void> {
  const lists = Array.from({ length: readsPerObject }, () => ({ method: 'GET', target: path }));
  const { microseconds } = await send(lists);
  note('listItem', microseconds / readsPerObject / objectsPerRound);
  if (compare !== false) compare('listItem', await encodings(stored));
}

/** What patches cost with watchers over what they cost without, for each event of each watcher. */
async function measuredWatch(
  path: string,
  watched: readonly WriteRequest[],
  quiet: readonly WriteRequest[],
  { note, compare, stored }: Reading,
): Promise<void> {
  const alone = await pipeline(quiet);
  await server.ask({ kind: 'watch', target: `${path}?watch=true`, watchers });
  const together = await pipeline(watched);
  await server.ask({ kind: 'watch', target: '', watchers: 0 });
  note('watchEvent', (together.microseconds - alone.microseconds) / watchers / objectsPerRound);
  if (compare !== false) compare('watchEvent', await encodings(stored));
}

function encodings(stored: readonly string[]): Promise<number> {
  return server.ask({ kind: 'baseline', requests: [], stored });
}

function ratioOf(costs: Costs, side: 'pipeline' | 'https'): number {
  return median(costs[side].map((cost, round) => cost / costs.baseline[round]!));
}

function table(costs: ReadonlyMap<Operation, Costs>): Record<string, unknown> {
  return Object.fromEntries(
    [...costs].map(([operation, of]) => [
      operation,
      {
        baseline: rounded(median(of.baseline)),
        pipeline: rounded(median(of.pipeline)),
        ratio: rounded(ratioOf(of, 'pipeline')),
        ...(of.https.length > 0 ? { https: rounded(median(of.https)), httpsRatio: rounded(ratioOf(of, 'https')) } : {}),
      },
    ]),
  );
}

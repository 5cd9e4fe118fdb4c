/**
 * LIST of 10,000 Pods over HTTPS by one client, while another asks for a small object all the time: time to the first byte and to the last,
 * and how long the other one had to wait at worst. The figure is the first byte; the target asks it of 150,000 Pods.
 */
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { median, print, quantile, rounded, say, spread } from './parts/figure.ts';
import type { Answer } from './parts/https-client.ts';
import { createDefaultAccount } from './parts/objects.ts';
import { temporaryFolder } from './parts/temporary.ts';
import type { Probed } from './processes/readers.ts';
import type { Pauses, StartedServer } from './processes/server.ts';

const lists = 11;
const pods = Number(process.argv[2] ?? 10_000);

await using server = new Child('server');
const directory = join(temporaryFolder(), 'store');
const { admin } = await server.ask<StartedServer>({ kind: 'start', directory, controllers: [] });
await fill();
await using reader = new Child('readers');
await using prober = new Child('readers');
await reader.ask({ kind: 'open', access: admin });
await prober.ask({ kind: 'open', access: admin });
const small = '/api/v1/namespaces/default';
const answers: Answer[] = [];
const waitsMs: number[] = [];
const pausesMs: number[] = [];
const processorMs: number[] = [];
const quietMs = await probed(() => new Promise((resolve) => setTimeout(resolve, 1500)));
// The first one also fills the caches; what counts is what every later client gets.
const first = await reader.ask<Answer>({ kind: 'list', path: '/api/v1/pods' });
for (let round = 0; round < lists; round++) {
  await server.ask<Pauses>({ kind: 'pauses' });
  const began = await server.ask<number>({ kind: 'cpu' });
  const latenciesMs = await probed(async () => {
    answers.push(await reader.ask<Answer>({ kind: 'list', path: '/api/v1/pods' }));
  });
  processorMs.push(((await server.ask<number>({ kind: 'cpu' })) - began) / 1000);
  pausesMs.push((await server.ask<Pauses>({ kind: 'pauses' })).longestMs);
  waitsMs.push(Math.max(...latenciesMs));
}
const figure = median(answers.map((answer) => answer.firstByteMs));
print({
  name: 'list-pods',
  what: `LIST of ${pods} Pods, time to first byte`,
  figure,
  unit: 'ms',
  target: 50,
  better: 'lower',
  note: `whole list ${rounded(median(answers.map((answer) => answer.totalMs)))} ms; others wait at most ${rounded(median(waitsMs))} ms (target: 10)`,
  details: {
    pods,
    megabytes: rounded(answers[0]!.bytes / 1e6),
    firstByteMs: spread(answers.map((answer) => answer.firstByteMs)),
    totalMs: spread(answers.map((answer) => answer.totalMs)),
    firstListMs: rounded(first.totalMs),
    othersWaitMs: spread(waitsMs),
    othersWaitWithoutListMs: rounded(quantile(quietMs, 0.99)),
    longestTurnOfServerMs: spread(pausesMs),
    processorMs: spread(processorMs),
  },
});

async function fill(): Promise<void> {
  await createDefaultAccount(admin);
  await using load = new Child('creators');
  await load.ask({ kind: 'open', access: admin, clients: 32 });
  await load.ask({ kind: 'create', resource: 'pods', prefix: 'pod', count: pods });
  await load.ask({ kind: 'close' });
  say(`${pods} Pods are there`);
}

/** How long each small request took while something else went on. */
async function probed(meanwhile: () => Promise<unknown>): Promise<readonly number[]> {
  await prober.ask({ kind: 'probe', path: small });
  await meanwhile();
  const { latenciesMs } = await prober.ask<Probed>({ kind: 'stop' });
  return latenciesMs;
}

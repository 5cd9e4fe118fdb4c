/**
 * Dependents collected per second: an owner of 100,000 ConfigMaps (or as many as are asked for) is deleted in the background, in an embedded
 * control plane. Meanwhile a client reads and a ReplicaSet is made again and again: nobody may starve while the collector works.
 */
import { replicaSets } from '../src/api/gen/apps-v1.ts';
import { configMaps, pods } from '../src/api/gen/core-v1.ts';
import type { Client } from '../src/client/index.ts';
import { startControlPlane } from '../src/testing/index.ts';
import { print, quantile, rounded, say } from './parts/figure.ts';

const count = Number(process.argv[2] ?? 100_000);
const writers = 64;
const namespace = 'default';

await using cluster = await startControlPlane();
const { client } = cluster;
const owner = await client.create(configMaps, { metadata: { namespace, name: 'owner' } });
const reference = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'owner',
  uid: owner.metadata.uid!,
  blockOwnerDeletion: true,
};
let made = 0;
const makeStarted = performance.now();
await Promise.all(
  Array.from({ length: writers }, async () => {
    for (let index = made++; index < count; index = made++) {
      const metadata = { namespace, name: `dependent-${index}`, ownerReferences: [reference], labels: { of: 'owner' } };
      await client.create(configMaps, { metadata });
    }
  }),
);
say(`${count} dependents made in ${rounded((performance.now() - makeStarted) / 1000)} s`);

const gone = Promise.withResolvers<void>();
let left = count;
const watching = new AbortController();
const { resourceVersion } = await client.list(configMaps, { namespace, limit: 1 });
const counting = (async () => {
  const selection = { namespace, labelSelector: 'of=owner', resourceVersion, signal: watching.signal };
  for await (const { type } of client.watch(configMaps, selection))
    if (type === 'DELETED' && --left === 0) gone.resolve();
})().catch((error: unknown) => {
  if (!watching.signal.aborted) gone.reject(error);
});

const reads: number[] = [];
const reactions: number[] = [];
let working = true;
const reading = others(reads, () =>
  client.get(configMaps, { namespace: 'kube-system', name: 'extension-apiserver-authentication' }),
);
const reacting = others(reactions, (round) => reactionOf(client, `canary-${round}`));
const started = performance.now();
await client.delete(configMaps, { namespace, name: 'owner' }, { propagationPolicy: 'Background' });
await gone.promise;
const seconds = (performance.now() - started) / 1000;
working = false;
await Promise.all([reading, reacting]);
watching.abort();
await counting;

print({
  name: 'garbage-collection',
  what: `dependents collected per second, ${count} of one owner`,
  figure: count / seconds,
  unit: '1/s',
  better: 'higher',
  note: `meanwhile a read takes ${rounded(quantile(reads, 0.99))} ms, and a ReplicaSet has its Pod after ${rounded(quantile(reactions, 0.99))} ms (99th percentiles)`,
  details: {
    seconds: rounded(seconds),
    reads: reads.length,
    longestReadMs: rounded(Math.max(...reads)),
    reactions: reactions.length,
    longestReactionMs: rounded(Math.max(...reactions)),
  },
});

/** Does it again and again while the collector works, and keeps how long each took. */
async function others(times: number[], work: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; working; round++) {
    const begun = performance.now();
    await work(round);
    times.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function reactionOf(of: Client, name: string): Promise<void> {
  const labels = { canary: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const { resourceVersion: from } = await of.list(pods, { namespace, limit: 1 });
  await of.create(replicaSets, { metadata: { namespace, name }, spec });
  const selection = { namespace, labelSelector: `canary=${name}`, resourceVersion: from };
  for await (const { type } of of.watch(pods, selection)) if (type === 'ADDED') return;
}

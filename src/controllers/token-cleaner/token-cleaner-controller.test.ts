import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Secret, secrets } from '../../api/gen/core-v1.ts';
import { bootstrapTokenType } from '../common/bootstrap-token.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runTokenCleanerController } from './token-cleaner-controller.ts';

const token = (id: string, expiration: string | undefined, more: Partial<Secret> = {}): Secret => ({
  metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}` },
  type: bootstrapTokenType,
  ...(expiration === undefined ? {} : { data: { expiration: Buffer.from(expiration).toString('base64') } }),
  ...more,
});

async function left(cluster: MemoryCluster): Promise<readonly (string | undefined)[]> {
  await cluster.settle();
  return cluster.api
    .all(secrets)
    .map(({ metadata }) => metadata.name)
    .sort();
}

test('a token goes when it has ended, and not before', async () => {
  await using cluster = new MemoryCluster();
  const endMs = cluster.clock.now() + 3_600_000;
  cluster.run(runTokenCleanerController);
  await cluster.client.create(secrets, token('aaaaaa', new Date(endMs).toISOString()));
  assert.deepEqual(await left(cluster), ['bootstrap-token-aaaaaa']);
  await cluster.clock.advance(3_500_000);
  assert.deepEqual(await left(cluster), ['bootstrap-token-aaaaaa']);
  await cluster.clock.advance(100_000);
  assert.deepEqual(await left(cluster), []);
});

test('what cannot be read has ended; what has no end, is no token or lies elsewhere stays', async () => {
  await using cluster = new MemoryCluster();
  const past = new Date(cluster.clock.now() - 1000).toISOString();
  cluster.run(runTokenCleanerController);
  for (const secret of [
    token('aaaaaa', 'tomorrow'),
    token('bbbbbb', undefined),
    token('cccccc', past, { type: 'Opaque' }),
    token('dddddd', past, { metadata: { namespace: 'default', name: 'bootstrap-token-dddddd' } }),
  ])
    await cluster.client.create(secrets, secret);
  assert.deepEqual(await left(cluster), ['bootstrap-token-bbbbbb', 'bootstrap-token-cccccc', 'bootstrap-token-dddddd']);
});

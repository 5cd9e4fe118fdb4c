import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps, pods, type Secret, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runLegacyTokenCleanerController } from './legacy-serviceaccount-token-cleaner-controller.ts';

const dayMs = 24 * 3600_000;

/** A cluster that has counted the uses of tokens for two days, and cleans what was not used for one. */
async function start(labels: Record<string, string> = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  await cluster.client.create(configMaps, {
    metadata: { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' },
    data: { since: '2026-01-01' },
  });
  await cluster.client.create(serviceAccounts, {
    metadata: { namespace: 'd', name: 'builder' },
    secrets: [{ name: 'token' }],
  });
  const secret = (name: string): Secret => ({
    metadata: { namespace: 'd', name, labels, annotations: { 'kubernetes.io/service-account.name': 'builder' } },
    type: 'kubernetes.io/service-account-token',
  });
  await cluster.client.create(secrets, secret('token'));
  // Made on purpose: its account does not list it.
  await cluster.client.create(secrets, secret('wanted'));
  await cluster.clock.advance(3 * dayMs);
  return cluster;
}

const run = (cluster: MemoryCluster) =>
  cluster.run((context) => runLegacyTokenCleanerController(context, { cleanUpPeriodMs: dayMs }));
const names = (cluster: MemoryCluster) =>
  cluster.api
    .all(secrets)
    .map(({ metadata }) => metadata.name)
    .sort();
const invalidSince = (cluster: MemoryCluster) =>
  cluster.api.find(secrets, 'd/token')?.metadata.labels?.['kubernetes.io/legacy-token-invalid-since'];

test('a token that nobody used is marked invalid, and deleted when it has been so for as long again', async () => {
  await using cluster = await start();
  run(cluster);
  await cluster.settle();
  assert.equal(invalidSince(cluster), '2026-01-04');
  assert.deepEqual(names(cluster), ['token', 'wanted']);
  await cluster.clock.advance(2 * dayMs);
  assert.deepEqual(names(cluster), ['wanted']);
});

test('a token that was used lately stays as it is', async () => {
  await using cluster = await start({ 'kubernetes.io/legacy-token-last-used': '2026-01-03' });
  run(cluster);
  await cluster.settle();
  assert.equal(invalidSince(cluster), undefined);
});

test('a token that a Pod mounts stays as it is', async () => {
  await using cluster = await start();
  const volumes = [{ name: 'v', secret: { secretName: 'token' } }];
  await cluster.client.create(pods, { metadata: { namespace: 'd', name: 'p' }, spec: { containers: [], volumes } });
  run(cluster);
  await cluster.settle();
  assert.equal(invalidSince(cluster), undefined);
});

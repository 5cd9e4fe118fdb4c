import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Secret, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runServiceAccountTokenController } from './serviceaccount-token-controller.ts';

const secret = (name: string, annotations: Record<string, string>): Secret => ({
  metadata: { namespace: 'a', name, annotations },
  type: 'kubernetes.io/service-account-token',
});

async function start(): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run((context) =>
    runServiceAccountTokenController(context, { rootCA: 'PEM', issueToken: async (of) => JSON.stringify(of) }),
  );
  await cluster.client.create(serviceAccounts, { metadata: { namespace: 'a', name: 'robot' } });
  return cluster;
}

test('a Secret made for an account gets token, certificate and namespace, and goes with the account', async () => {
  await using cluster = await start();
  await cluster.client.create(secrets, secret('s', { 'kubernetes.io/service-account.name': 'robot' }));
  await cluster.settle();
  const uid = cluster.api.find(serviceAccounts, 'a/robot')?.metadata.uid;
  const made = cluster.api.find(secrets, 'a/s');
  const text = (key: string) => Buffer.from(made?.data?.[key] ?? '', 'base64').toString();
  assert.deepEqual([text('ca.crt'), text('namespace')], ['PEM', 'a']);
  assert.deepEqual(JSON.parse(text('token')), {
    namespace: 'a',
    serviceAccount: { name: 'robot', uid },
    secretName: 's',
  });
  assert.equal(made?.metadata.annotations?.['kubernetes.io/service-account.uid'], uid);
  await cluster.client.delete(serviceAccounts, { namespace: 'a', name: 'robot' });
  await cluster.settle();
  assert.equal(cluster.api.find(secrets, 'a/s'), undefined);
});

test('a Secret for an account that does not exist, or for its namesake, is deleted', async () => {
  await using cluster = await start();
  await cluster.client.create(secrets, secret('nobody', { 'kubernetes.io/service-account.name': 'nobody' }));
  const former = { 'kubernetes.io/service-account.name': 'robot', 'kubernetes.io/service-account.uid': 'former' };
  await cluster.client.create(secrets, secret('former', former));
  await cluster.settle();
  assert.deepEqual(cluster.api.all(secrets), []);
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { configMaps, secrets } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runTokenCleanerController } from '../token-cleaner/token-cleaner-controller.ts';
import { runBootstrapSignerController } from './bootstrap-signer-controller.ts';

const addToken = (cluster: MemoryCluster, id: string, fields: Record<string, string> = {}) => {
  const all = { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...fields };
  const data = Object.fromEntries(
    Object.entries(all).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  const metadata = { namespace: 'kube-system', name: `bootstrap-token-${id}` };
  return cluster.client.create(secrets, { metadata, type: 'bootstrap.kubernetes.io/token', data });
};

test('cluster-info is signed with each token that is for signing, and no longer when the token has gone', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runBootstrapSignerController);
  const metadata = { namespace: 'kube-public', name: 'cluster-info' };
  await cluster.client.create(configMaps, { metadata, data: { kubeconfig: 'KUBECONFIG' } });
  await addToken(cluster, 'abcdef');
  await addToken(cluster, 'ghijkl', { 'usage-bootstrap-signing': 'false' });
  await cluster.settle();
  const data = () => cluster.api.find(configMaps, 'kube-public/cluster-info')?.data ?? {};
  const [header, content, signature] = (data()['jws-kubeconfig-abcdef'] ?? '').split('.');
  assert.deepEqual(JSON.parse(Buffer.from(header ?? '', 'base64url').toString()), { alg: 'HS256', kid: 'abcdef' });
  const signed = `${header}.${Buffer.from('KUBECONFIG').toString('base64url')}`;
  assert.deepEqual(
    [content, signature],
    ['', createHmac('sha256', '0123456789abcdef').update(signed).digest('base64url')],
  );
  assert.equal(data()['jws-kubeconfig-ghijkl'], undefined);
  await cluster.client.delete(secrets, { namespace: 'kube-system', name: 'bootstrap-token-abcdef' });
  await cluster.settle();
  assert.deepEqual(data(), { kubeconfig: 'KUBECONFIG' });
});

test('a token is deleted when it has ended, and not before', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTokenCleanerController);
  await addToken(cluster, 'abcdef', { expiration: new Date(cluster.clock.now() + 60_000).toISOString() });
  await addToken(cluster, 'ghijkl');
  await cluster.settle();
  assert.equal(cluster.api.all(secrets).length, 2);
  await cluster.clock.advance(61_000);
  assert.deepEqual(
    cluster.api.all(secrets).map(({ metadata }) => metadata.name),
    ['bootstrap-token-ghijkl'],
  );
});

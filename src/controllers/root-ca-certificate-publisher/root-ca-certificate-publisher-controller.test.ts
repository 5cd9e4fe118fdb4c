import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runRootCACertificatePublisherController } from './root-ca-certificate-publisher-controller.ts';

async function published(): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run((context) => runRootCACertificatePublisherController(context, { rootCA: 'PEM' }));
  await cluster.namespace('a');
  await cluster.settle();
  return cluster;
}

const key = 'a/kube-root-ca.crt';

test('every Namespace gets the root certificate, described', async () => {
  await using cluster = await published();
  const { data, metadata } = cluster.api.find(configMaps, key)!;
  assert.deepEqual(data, { 'ca.crt': 'PEM' });
  assert.match(
    metadata.annotations?.['kubernetes.io/description'] ?? '',
    /^Contains a CA bundle that can be used to verify/,
  );
});

test('what somebody wrote into it is overwritten, his annotations stay', async () => {
  await using cluster = await published();
  cluster.api.alter(configMaps, key, (map) => {
    map.data = { 'ca.crt': 'forged', more: 'x' };
    map.metadata.annotations = { own: 'yes' };
  });
  await cluster.settle();
  const { data, metadata } = cluster.api.find(configMaps, key)!;
  assert.deepEqual(data, { 'ca.crt': 'PEM' });
  assert.deepEqual(Object.keys(metadata.annotations ?? {}).sort(), ['kubernetes.io/description', 'own']);
});

test('it comes back when it is deleted, and other ConfigMaps are left alone', async () => {
  await using cluster = await published();
  await cluster.client.create(configMaps, { metadata: { namespace: 'a', name: 'other' }, data: { 'ca.crt': 'own' } });
  await cluster.client.delete(configMaps, { namespace: 'a', name: 'kube-root-ca.crt' });
  await cluster.settle();
  assert.ok(cluster.api.find(configMaps, key));
  assert.deepEqual(cluster.api.find(configMaps, 'a/other')?.data, { 'ca.crt': 'own' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps, namespaces, pods, secrets, serviceAccounts } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runRootCACertificatePublisherController } from '../root-ca-certificate-publisher/root-ca-certificate-publisher-controller.ts';
import { runServiceAccountController } from '../serviceaccount/serviceaccount-controller.ts';
import { runNamespaceController } from './namespace-controller.ts';

test('a deleted Namespace is emptied and goes', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runNamespaceController);
  await cluster.namespace('a');
  await cluster.namespace('b');
  for (const namespace of ['a', 'b']) {
    await cluster.client.create(configMaps, { metadata: { namespace, name: 'c' } });
    await cluster.client.create(secrets, { metadata: { namespace, name: 's' } });
  }
  await cluster.client.delete(namespaces, { name: 'a' });
  await cluster.settle();
  assert.equal(cluster.api.find(namespaces, 'a')?.status?.phase, 'Terminating');
  await cluster.clock.advance(6000);
  assert.equal(cluster.api.find(namespaces, 'a'), undefined);
  assert.deepEqual(
    cluster.api.all(configMaps).map(({ metadata }) => metadata.namespace),
    ['b'],
  );
  assert.deepEqual(
    cluster.api.all(secrets).map(({ metadata }) => metadata.namespace),
    ['b'],
  );
});

test('what a finalizer keeps is told in conditions and waited for', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runNamespaceController(context, { deletionGraceMs: 0 }));
  await cluster.namespace('a');
  await cluster.client.create(configMaps, {
    metadata: { namespace: 'a', name: 'c', finalizers: ['example.com/hold'] },
  });
  await cluster.client.delete(namespaces, { name: 'a' });
  await cluster.settle();
  const condition = (type: string) =>
    cluster.api.find(namespaces, 'a')?.status?.conditions?.find((one) => one.type === type);
  assert.deepEqual(
    [condition('NamespaceContentRemaining')?.status, condition('NamespaceContentRemaining')?.message],
    ['True', 'Some resources are remaining: configmaps. has 1 resource instances'],
  );
  assert.equal(
    condition('NamespaceFinalizersRemaining')?.message,
    'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
  );
  assert.deepEqual(
    [condition('NamespaceDeletionContentFailure')?.status, condition('NamespaceDeletionContentFailure')?.reason],
    ['False', 'ContentDeleted'],
  );
  await cluster.client.patch(
    configMaps,
    { namespace: 'a', name: 'c' },
    { type: 'merge', body: { metadata: { finalizers: null } } },
  );
  await cluster.clock.advance(20_000);
  assert.equal(cluster.api.find(namespaces, 'a'), undefined);
});

test('Pods go before what they use', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runNamespaceController(context, { deletionGraceMs: 0 }));
  await cluster.namespace('a');
  await cluster.client.create(configMaps, { metadata: { namespace: 'a', name: 'c' } });
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'p' },
    spec: { nodeName: 'n', containers: [], terminationGracePeriodSeconds: 4 },
  });
  await cluster.client.delete(namespaces, { name: 'a' });
  await cluster.settle();
  assert.ok(cluster.api.find(pods, 'a/p')?.metadata.deletionTimestamp);
  assert.ok(cluster.api.find(configMaps, 'a/c'));
  cluster.api.erase(pods, 'a/p');
  await cluster.clock.advance(10_000);
  assert.equal(cluster.api.find(configMaps, 'a/c'), undefined);
  assert.equal(cluster.api.find(namespaces, 'a'), undefined);
});

test('every Namespace gets its default ServiceAccount and the root certificate, and gets them back', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runServiceAccountController);
  cluster.run((context) => runRootCACertificatePublisherController(context, { rootCA: 'PEM' }));
  await cluster.namespace('a');
  await cluster.settle();
  assert.ok(cluster.api.find(serviceAccounts, 'a/default'));
  assert.deepEqual(cluster.api.find(configMaps, 'a/kube-root-ca.crt')?.data, { 'ca.crt': 'PEM' });
  await cluster.client.delete(serviceAccounts, { namespace: 'a', name: 'default' });
  await cluster.client.patch(
    configMaps,
    { namespace: 'a', name: 'kube-root-ca.crt' },
    { type: 'merge', body: { data: { 'ca.crt': 'forged' } } },
  );
  await cluster.settle();
  assert.ok(cluster.api.find(serviceAccounts, 'a/default'));
  assert.deepEqual(cluster.api.find(configMaps, 'a/kube-root-ca.crt')?.data, { 'ca.crt': 'PEM' });
});

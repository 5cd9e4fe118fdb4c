import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namespaces, serviceAccounts } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runServiceAccountController } from './serviceaccount-controller.ts';

test('every Namespace has its default account, and has it again when somebody deletes it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runServiceAccountController);
  await cluster.namespace('a');
  await cluster.settle();
  const first = cluster.api.find(serviceAccounts, 'a/default');
  assert.ok(first);
  await cluster.client.delete(serviceAccounts, { namespace: 'a', name: 'default' });
  await cluster.settle();
  const second = cluster.api.find(serviceAccounts, 'a/default');
  assert.ok(second);
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

test('accounts of other names are nobody´s business here', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runServiceAccountController(context, { names: ['default', 'builder'] }));
  await cluster.namespace('a');
  await cluster.client.create(serviceAccounts, { metadata: { namespace: 'a', name: 'own' } });
  await cluster.settle();
  const names = () => cluster.api.all(serviceAccounts).map(({ metadata }) => metadata.name);
  assert.deepEqual(names().sort(), ['builder', 'default', 'own']);
  await cluster.client.delete(serviceAccounts, { namespace: 'a', name: 'own' });
  await cluster.settle();
  assert.deepEqual(names().sort(), ['builder', 'default']);
});

test('a Namespace that is going away gets none', async () => {
  await using cluster = new MemoryCluster();
  await cluster.namespace('a');
  cluster.api.alter(namespaces, 'a', (namespace) => {
    namespace.status = { phase: 'Terminating' };
  });
  cluster.run(runServiceAccountController);
  await cluster.settle();
  assert.deepEqual(cluster.api.all(serviceAccounts), []);
  assert.deepEqual(cluster.complaints, []);
});

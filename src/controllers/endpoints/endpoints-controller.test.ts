import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints, services } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runEndpointsController } from './endpoints-controller.ts';

const named = (name: string, annotations = {}) => ({
  metadata: { namespace: 'default', name, annotations },
  subsets: [{ addresses: [{ ip: '10.0.0.24' }], ports: [{ port: 80 }] }],
});

test('Endpoints that somebody makes without a Service are theirs: they stay through every change', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runEndpointsController);
  await cluster.settle();
  await cluster.client.create(endpoints, named('own'));
  await cluster.settle();
  cluster.api.alter(endpoints, 'default/own', (object) => {
    object.metadata.labels = { a: 'b' };
  });
  await cluster.settle();
  assert.ok(cluster.api.find(endpoints, 'default/own'));
});

test('what is left of a Service that went while no controller ran goes with the start, but not the record of an election', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(endpoints, named('left'));
  await cluster.client.create(endpoints, named('elected', { 'control-plane.alpha.kubernetes.io/leader': '{}' }));
  cluster.run(runEndpointsController);
  await cluster.settle();
  assert.deepEqual(
    cluster.api.all(endpoints).map(({ metadata }) => metadata.name),
    ['elected'],
  );
});

test('Endpoints of a Service that are deleted come back, and go with the Service', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runEndpointsController);
  const at = { namespace: 'default', name: 'web' };
  await cluster.client.create(services, { metadata: at, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } });
  await cluster.settle();
  const first = cluster.api.find(endpoints, 'default/web');
  await cluster.client.delete(endpoints, at);
  await cluster.settle();
  const second = cluster.api.find(endpoints, 'default/web');
  assert.ok(first && second && first.metadata.uid !== second.metadata.uid);
  await cluster.client.delete(services, at);
  await cluster.settle();
  assert.equal(cluster.api.find(endpoints, 'default/web'), undefined);
});

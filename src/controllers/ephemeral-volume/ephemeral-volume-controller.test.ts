import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, pods } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runEphemeralVolumeController } from './ephemeral-volume-controller.ts';

test('a Pod’s own claim is made for it; another’s claim of the name is not taken', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runEphemeralVolumeController);
  const spec = { accessModes: ['ReadWriteOnce' as const] };
  await cluster.client.create(persistentVolumeClaims, { metadata: { namespace: 'a', name: 'second-scratch' }, spec });
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { metadata: { labels: { k: 'v' } }, spec } } }];
  for (const name of ['first', 'second']) {
    await cluster.client.create(pods, { metadata: { namespace: 'a', name }, spec: { containers: [], volumes } });
  }
  await cluster.settle();
  const made = cluster.api.find(persistentVolumeClaims, 'a/first-scratch');
  assert.deepEqual([made?.metadata.labels, made?.metadata.ownerReferences?.[0]?.name], [{ k: 'v' }, 'first']);
  assert.deepEqual(cluster.api.find(persistentVolumeClaims, 'a/second-scratch')?.metadata.ownerReferences ?? [], []);
  assert.equal(cluster.events[0]?.reason, 'EphemeralVolumeCreationFailed');
  assert.deepEqual(
    cluster.causes.all().map(({ about, message }) => [about.kind, about.name, message]),
    [['Pod', 'second', 'PVC a/second-scratch was not created for pod a/second (pod is not owner)']],
  );
});

test('a claim that was in the way is made anew when it has gone', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runEphemeralVolumeController);
  const spec = { accessModes: ['ReadWriteOnce' as const] };
  const at = { namespace: 'a', name: 'p-scratch' };
  await cluster.client.create(persistentVolumeClaims, { metadata: at, spec });
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }];
  await cluster.client.create(pods, { metadata: { namespace: 'a', name: 'p' }, spec: { containers: [], volumes } });
  await cluster.settle();
  await cluster.client.delete(persistentVolumeClaims, at);
  await cluster.clock.advance(60_000);
  assert.equal(cluster.api.find(persistentVolumeClaims, 'a/p-scratch')?.metadata.ownerReferences?.[0]?.name, 'p');
  assert.deepEqual(cluster.causes.all(), []);
});

test('a Pod that is going gets no claim, nor does one without such volumes', async () => {
  await using cluster = new MemoryCluster();
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }];
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'going', finalizers: ['example.com/mine'] },
    spec: { containers: [], volumes },
  });
  await cluster.client.delete(pods, { namespace: 'a', name: 'going' });
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'plain' },
    spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
  });
  cluster.run(runEphemeralVolumeController);
  await cluster.settle();
  assert.deepEqual(cluster.api.all(persistentVolumeClaims), []);
});

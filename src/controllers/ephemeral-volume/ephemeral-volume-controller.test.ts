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
});

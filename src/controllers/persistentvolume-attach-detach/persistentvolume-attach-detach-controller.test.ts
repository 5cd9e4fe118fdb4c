import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../api/gen/core-v1.ts';
import { csiDrivers, type VolumeAttachment, volumeAttachments } from '../../api/gen/storage-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { type AttachDetachOptions, runAttachDetachController } from './persistentvolume-attach-detach-controller.ts';

const driver = 'disk.example.com';
const uniqueName = `kubernetes.io/csi/${driver}^handle`;

/** Two nodes, a volume that one of them may have, bound to a claim. */
async function start(options: AttachDetachOptions = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' };
  for (const name of ['a', 'b']) {
    await cluster.client.create(nodes, { metadata: { name, annotations }, spec: {} });
    setReady(cluster, name, 'True');
  }
  const claim = await cluster.client.create(persistentVolumeClaims, {
    metadata: { namespace: 'd', name: 'data' },
    spec: { volumeName: 'pv' },
  });
  cluster.api.alter(persistentVolumeClaims, 'd/data', (live) => {
    live.status = { phase: 'Bound' };
  });
  await cluster.client.create(persistentVolumes, {
    metadata: { name: 'pv' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      csi: { driver, volumeHandle: 'handle' },
      claimRef: { namespace: 'd', name: 'data', uid: claim.metadata.uid },
    },
  });
  cluster.run((context) => runAttachDetachController(context, options));
  await cluster.settle();
  return cluster;
}

function setReady(cluster: MemoryCluster, name: string, status: 'True' | 'Unknown'): void {
  cluster.api.alter(nodes, name, (node) => {
    node.status = { ...node.status, conditions: [{ type: 'Ready', status }] };
  });
}

async function addPod(cluster: MemoryCluster, name: string, nodeName: string): Promise<void> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
  await cluster.client.create(pods, {
    metadata: { namespace: 'd', name },
    spec: { nodeName, containers: [], volumes },
  });
  await cluster.settle();
}

const attachments = (cluster: MemoryCluster): readonly VolumeAttachment[] => cluster.api.all(volumeAttachments);
const onNodes = (cluster: MemoryCluster) => attachments(cluster).map(({ spec }) => spec.nodeName);

/** What the driver's attacher and the kubelet do: the volume is attached and mounted. */
async function mount(cluster: MemoryCluster, nodeName: string): Promise<void> {
  const { name = '' } = attachments(cluster).find(({ spec }) => spec.nodeName === nodeName)!.metadata;
  cluster.api.alter(volumeAttachments, name, (live) => {
    live.status = { attached: true };
  });
  await cluster.settle();
  cluster.api.alter(nodes, nodeName, (live) => {
    live.status = { ...live.status, volumesInUse: [uniqueName] };
  });
  await cluster.settle();
}

function unmount(cluster: MemoryCluster, nodeName: string): void {
  cluster.api.alter(nodes, nodeName, (live) => {
    live.status = { ...live.status, volumesInUse: [] };
  });
}

const attachedTo = (cluster: MemoryCluster, nodeName: string) =>
  (cluster.api.find(nodes, nodeName)?.status?.volumesAttached ?? []).map(({ name }) => name);

test('a volume is attached to the node of the Pod that uses it, and its node says so', async () => {
  await using cluster = await start();
  await addPod(cluster, 'p', 'a');
  const [attachment] = attachments(cluster);
  assert.match(attachment?.metadata.name ?? '', /^csi-[0-9a-f]{64}$/);
  assert.deepEqual(attachment?.spec, { attacher: driver, nodeName: 'a', source: { persistentVolumeName: 'pv' } });
  assert.deepEqual(attachedTo(cluster, 'a'), []);
  await mount(cluster, 'a');
  assert.deepEqual(attachedTo(cluster, 'a'), [uniqueName]);
  assert.deepEqual(cluster.reasons('Pod/p'), ['SuccessfulAttachVolume']);
});

test('it is detached when no Pod uses it any more and the node has unmounted it, not before', async () => {
  await using cluster = await start();
  await addPod(cluster, 'p', 'a');
  await mount(cluster, 'a');
  await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
  await cluster.clock.advance(3600_000);
  assert.deepEqual(onNodes(cluster), ['a'], 'a healthy node is believed');
  assert.equal(cluster.causes.all()[0]?.reason, 'StillMounted');
  unmount(cluster, 'a');
  await cluster.settle();
  assert.deepEqual(onNodes(cluster), []);
  assert.deepEqual(attachedTo(cluster, 'a'), []);
  assert.deepEqual(cluster.causes.all(), []);
});

test('a volume that only one node may have waits until the other has let it go', async () => {
  await using cluster = await start();
  await addPod(cluster, 'p', 'a');
  await mount(cluster, 'a');
  await addPod(cluster, 'q', 'b');
  assert.deepEqual(onNodes(cluster), ['a']);
  assert.match(
    cluster.events.find(({ about }) => about === 'Pod/q')?.message ?? '',
    /^Multi-Attach error for volume "pv"/,
  );
  await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
  unmount(cluster, 'a');
  await cluster.settle();
  await cluster.settle();
  assert.deepEqual(onNodes(cluster), ['b']);
});

test('from a node that does not answer it is detached after six minutes', async () => {
  for (const [options, expected] of [
    [{}, []],
    [{ neverByForce: true }, ['a']],
  ] as const) {
    await using cluster = await start(options);
    await addPod(cluster, 'p', 'a');
    await mount(cluster, 'a');
    setReady(cluster, 'a', 'Unknown');
    await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
    await cluster.clock.advance(355_000);
    assert.deepEqual(onNodes(cluster), ['a']);
    await cluster.clock.advance(10_000);
    assert.deepEqual(onNodes(cluster), expected);
  }
});

test('from a node that is out of service it is detached at once, unless that is to mean nothing', async () => {
  for (const [options, expected] of [
    [{}, []],
    [{ ignoresOutOfService: true }, ['a']],
  ] as const) {
    await using cluster = await start(options);
    await addPod(cluster, 'p', 'a');
    await mount(cluster, 'a');
    cluster.api.alter(nodes, 'a', (live) => {
      live.spec.taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', value: 'nodeshutdown' }];
    });
    await cluster.client.delete(pods, { namespace: 'd', name: 'p' }, { gracePeriodSeconds: 0 });
    await cluster.settle();
    assert.deepEqual(onNodes(cluster), expected);
  }
});

test('a volume of a driver that attaches nothing is not attached', async () => {
  await using cluster = await start();
  await cluster.client.create(csiDrivers, { metadata: { name: driver }, spec: { attachRequired: false } });
  await cluster.settle();
  await addPod(cluster, 'p', 'a');
  assert.deepEqual(attachments(cluster), []);
});

test('an attachment of a volume that nobody knows is left alone', async () => {
  await using cluster = await start();
  await cluster.client.create(volumeAttachments, {
    metadata: { name: 'by-hand' },
    spec: { attacher: driver, nodeName: 'a', source: { persistentVolumeName: 'unknown' } },
  });
  await cluster.clock.advance(3600_000);
  assert.deepEqual(onNodes(cluster), ['a']);
});

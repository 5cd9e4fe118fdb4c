/** Whatever a controller holds back, it says so where `coracle why` reads it, and takes it back when it is over. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daemonSets, deployments, replicaSets, statefulSets } from '../api/gen/apps-v1.ts';
import { cronJobs, jobs } from '../api/gen/batch-v1.ts';
import { certificateSigningRequests } from '../api/gen/certificates-v1.ts';
import {
  configMaps,
  namespaces,
  nodes,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../api/gen/core-v1.ts';
import { podDisruptionBudgets } from '../api/gen/policy-v1.ts';
import { resourceClaims } from '../api/gen/resource-v1.ts';
import { storageClasses } from '../api/gen/storage-v1.ts';
import type { Draft } from '../apimachinery/meta.ts';
import { formatTime } from '../apimachinery/time.ts';
import { runCertificateApprovingController } from './certificatesigningrequest/approving-controller.ts';
import { runCertificateSigningController } from './certificatesigningrequest/signing-controller.ts';
import { MemoryCluster } from './common/memory-cluster.fixture.ts';
import { runCronJobController } from './cronjob/cronjob-controller.ts';
import { runDaemonSetController } from './daemonset/daemonset-controller.ts';
import { targetNodeOf } from './daemonset/placement.ts';
import { runDeploymentController } from './deployment/deployment-controller.ts';
import { runDisruptionController } from './disruption/disruption-controller.ts';
import { runJobController } from './job/job-controller.ts';
import { runNamespaceController } from './namespace/namespace-controller.ts';
import { runPersistentVolumeBinderController } from './persistentvolume-binder/persistentvolume-binder-controller.ts';
import { runPersistentVolumeProtectionController } from './persistentvolume-protection/persistentvolume-protection-controller.ts';
import { runPodGarbageCollectorController } from './pod-garbage-collector/pod-garbage-collector-controller.ts';
import { runReplicaSetController } from './replicaset/replicaset-controller.ts';
import { runResourceClaimController } from './resourceclaim/resourceclaim-controller.ts';
import { runStatefulSetController } from './statefulset/statefulset-controller.ts';

const namespace = 'd';
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'one' }] } };
const selector = { matchLabels: labels };
const anotherImage = {
  type: 'strategic' as const,
  body: { spec: { template: { spec: { containers: [{ name: 'c', image: 'two' }] } } } },
};

/** What is told of an object: reason, and the names of what it waits for. */
function told(cluster: MemoryCluster, kind: string, name: string): readonly (readonly string[])[] {
  return cluster.causes
    .all()
    .filter(({ about }) => about.kind === kind && about.name === name)
    .map(({ reason, waitsFor = [] }) => [reason, ...waitsFor.map((subject) => subject.name)]);
}

async function alterPods(cluster: MemoryCluster, change: (pod: Draft<Pod>) => void): Promise<void> {
  for (const { metadata } of cluster.api.all(pods)) cluster.api.alter(pods, `${namespace}/${metadata.name}`, change);
  await cluster.settle();
}

const ready = (cluster: MemoryCluster) =>
  alterPods(cluster, (pod) => {
    const lastTransitionTime = formatTime(cluster.clock.now());
    pod.spec.nodeName ??= targetNodeOf(pod) ?? 'n';
    pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
  });

test('a rolling update tells that old Pods stay until new ones are available, and until when that may last', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runDeploymentController);
  cluster.run(runReplicaSetController);
  await cluster.client.create(deployments, {
    metadata: { namespace, name: 'web' },
    spec: {
      replicas: 2,
      selector,
      template,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    },
  });
  await cluster.settle();
  await ready(cluster);
  await cluster.settle();
  assert.deepEqual(told(cluster, 'Deployment', 'web'), []);
  await cluster.client.patch(deployments, { namespace, name: 'web' }, anotherImage);
  await cluster.settle();
  const [, newest] = cluster.api.all(replicaSets).map(({ metadata }) => metadata.name ?? '');
  assert.deepEqual(told(cluster, 'Deployment', 'web'), [
    ['WaitingForAvailability', newest],
    ['SurgeExhausted', newest],
    ['ProgressDeadline'],
  ]);
});

test('a recreation tells which old Pods it waits for', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runDeploymentController);
  cluster.run(runReplicaSetController);
  await cluster.client.create(deployments, {
    metadata: { namespace, name: 'web' },
    spec: { replicas: 1, selector, template, strategy: { type: 'Recreate' } },
  });
  await cluster.settle();
  await ready(cluster);
  const [old] = cluster.api.all(pods).map(({ metadata }) => metadata.name ?? '');
  await cluster.client.patch(deployments, { namespace, name: 'web' }, anotherImage);
  await cluster.settle();
  assert.deepEqual(told(cluster, 'Deployment', 'web'), [['WaitingForOldPods', old]]);
});

test('a ReplicaSet tells that a ready Pod does not count yet, and takes it back', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runReplicaSetController);
  await cluster.client.create(replicaSets, {
    metadata: { namespace, name: 'web' },
    spec: { replicas: 1, minReadySeconds: 30, selector, template },
  });
  await cluster.settle();
  await ready(cluster);
  assert.deepEqual(told(cluster, 'ReplicaSet', 'web'), [['MinReadySeconds']]);
  await cluster.clock.advance(31_000);
  assert.deepEqual(told(cluster, 'ReplicaSet', 'web'), []);
});

test('a DaemonSet tells how long a failed Pod is not replaced, and that somebody must delete old ones', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  cluster.run(runDaemonSetController);
  const spec = { selector, template, updateStrategy: { type: 'OnDelete' as const } };
  await cluster.client.create(daemonSets, { metadata: { namespace, name: 'agent' }, spec });
  for (let failures = 0; failures < 4; failures++) {
    await cluster.settle();
    await alterPods(cluster, (pod) => {
      pod.spec.nodeName = 'n';
      pod.status = { phase: 'Failed' };
    });
  }
  const [failed] = cluster.api.all(pods).map(({ metadata }) => metadata.name ?? '');
  assert.deepEqual(told(cluster, 'DaemonSet', 'agent'), [['BackingOff', failed]]);
  await cluster.clock.advance(60_000);
  await ready(cluster);
  await cluster.client.patch(daemonSets, { namespace, name: 'agent' }, anotherImage);
  await cluster.settle();
  const [old] = cluster.api.all(pods).map(({ metadata }) => metadata.name ?? '');
  assert.deepEqual(told(cluster, 'DaemonSet', 'agent'), [['UpdateOnDelete', old]]);
});

test('a StatefulSet tells that old Pods are left to somebody else', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runStatefulSetController);
  const spec = { serviceName: 's', replicas: 1, selector, template, updateStrategy: { type: 'OnDelete' as const } };
  await cluster.client.create(statefulSets, { metadata: { namespace, name: 'db' }, spec });
  await cluster.settle();
  await ready(cluster);
  await cluster.client.patch(statefulSets, { namespace, name: 'db' }, anotherImage);
  await cluster.settle();
  assert.deepEqual(told(cluster, 'StatefulSet', 'db'), [['UpdateOnDelete', 'db-0']]);
});

test('a Job tells that its next Pod is put off, or that somebody else minds it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runJobController);
  const spec = { parallelism: 1, completions: 1, backoffLimit: 6, selector, template };
  await cluster.client.create(jobs, { metadata: { namespace, name: 'pi' }, spec });
  await cluster.client.create(jobs, {
    metadata: { namespace, name: 'other' },
    spec: { ...spec, managedBy: 'example.com/jobs' },
  });
  await cluster.settle();
  await alterPods(cluster, (pod) => {
    pod.status = { phase: 'Failed' };
  });
  assert.deepEqual(told(cluster, 'Job', 'pi'), [['BackingOff']]);
  assert.deepEqual(told(cluster, 'Job', 'other'), [['ManagedElsewhere']]);
});

test('a CronJob tells why the Job that is due is not started', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runCronJobController);
  const add = (name: string, spec: object) =>
    cluster.client.create(cronJobs, {
      metadata: { namespace, name },
      spec: { schedule: '*/5 * * * *', concurrencyPolicy: 'Allow', jobTemplate: { spec: { template } }, ...spec },
    });
  await add('one-at-a-time', { concurrencyPolicy: 'Forbid' });
  await add('suspended', { suspend: true });
  await add('nonsense', { schedule: 'when it suits' });
  await cluster.clock.advance(11 * 60_000);
  const [first] = cluster.api.all(jobs).map(({ metadata }) => metadata.name ?? '');
  assert.deepEqual(told(cluster, 'CronJob', 'one-at-a-time'), [['JobAlreadyActive', first]]);
  assert.deepEqual(told(cluster, 'CronJob', 'suspended'), [['Suspended']]);
  assert.deepEqual(told(cluster, 'CronJob', 'nonsense'), [['UnusableSchedule']]);
});

test('a disruption budget that allows none tells which Pods are not healthy', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(pods, { metadata: { namespace, name: 'sick', labels }, spec: { containers: [] } });
  cluster.run(runDisruptionController);
  await cluster.client.create(podDisruptionBudgets, {
    metadata: { namespace, name: 'b' },
    spec: { selector, minAvailable: 1 },
  });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'PodDisruptionBudget', 'b'), [['InsufficientPods', 'sick']]);
  await cluster.client.create(pods, { metadata: { namespace, name: 'well', labels }, spec: { containers: [] } });
  await ready(cluster);
  assert.deepEqual(told(cluster, 'PodDisruptionBudget', 'b'), []);
});

const accessModes = ['ReadWriteOnce' as const];
const claimSpec = { accessModes, resources: { requests: { storage: '5Gi' } } };
const volumeSpec = { capacity: { storage: '1Gi' }, accessModes, hostPath: { path: '/x' } };

test('a claim tells what the volumes lack that it could have had', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeBinderController);
  const { client } = cluster;
  await client.create(storageClasses, { metadata: { name: 'by-hand' }, provisioner: 'kubernetes.io/no-provisioner' });
  await client.create(persistentVolumes, {
    metadata: { name: 'v' },
    spec: { ...volumeSpec, storageClassName: 'by-hand' },
  });
  await client.create(persistentVolumeClaims, {
    metadata: { namespace, name: 'c' },
    spec: { ...claimSpec, storageClassName: 'by-hand' },
  });
  await client.create(persistentVolumeClaims, {
    metadata: { namespace, name: 'named' },
    spec: { ...claimSpec, storageClassName: 'by-hand', volumeName: 'v' },
  });
  await cluster.settle();
  const messages = cluster.causes.all().map(({ about, message }) => `${about.name}: ${message}`);
  assert.deepEqual(messages.toSorted(), [
    'c: volume v does not fit: requested PV is too small',
    'named: Cannot bind to requested volume "v": requested PV is too small',
  ]);
});

test('a volume that is being deleted tells which claim keeps it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runPersistentVolumeProtectionController);
  const claimRef = { namespace, name: 'c', uid: 'u' };
  await cluster.client.create(persistentVolumes, { metadata: { name: 'v' }, spec: { ...volumeSpec, claimRef } });
  cluster.api.alter(persistentVolumes, 'v', (volume) => {
    volume.status = { phase: 'Bound' };
  });
  await cluster.settle();
  await cluster.client.delete(persistentVolumes, { name: 'v' });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'PersistentVolume', 'v'), [['InUse', 'c']]);
});

test('a claim of devices that is being deleted tells which Pod keeps it', async () => {
  await using cluster = new MemoryCluster();
  const { metadata } = await cluster.client.create(pods, {
    metadata: { namespace, name: 'user' },
    spec: { nodeName: 'n', containers: [] },
  });
  await cluster.client.create(resourceClaims, {
    metadata: { namespace, name: 'gpu', finalizers: ['resource.kubernetes.io/delete-protection'] },
    spec: {},
  });
  cluster.api.alter(resourceClaims, `${namespace}/gpu`, (claim) => {
    claim.status = { allocation: {}, reservedFor: [{ resource: 'pods', name: 'user', uid: metadata.uid ?? '' }] };
  });
  cluster.run(runResourceClaimController);
  await cluster.client.delete(resourceClaims, { namespace, name: 'gpu' });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'ResourceClaim', 'gpu'), [['InUse', 'user']]);
});

test('a certificate request tells that nobody has approved it, or that its signer is another', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runCertificateApprovingController);
  cluster.run((context) => runCertificateSigningController(context, { authorities: {} }));
  const spec = { request: '', signerName: 'example.com/mine', usages: ['client auth' as const] };
  await cluster.client.create(certificateSigningRequests, { metadata: { name: 'r' }, spec });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'CertificateSigningRequest', 'r'), [['NotApproved']]);
  cluster.api.alter(certificateSigningRequests, 'r', (request) => {
    request.status = { conditions: [{ type: 'Approved', status: 'True' }] };
  });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'CertificateSigningRequest', 'r'), [['OtherSigner']]);
});

test('a Pod of a node that is missed tells how long it waits, and no more when the node is back', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(pods, {
    metadata: { namespace, name: 'orphan' },
    spec: { nodeName: 'n', containers: [] },
  });
  cluster.run(runPodGarbageCollectorController);
  await cluster.settle();
  assert.deepEqual(told(cluster, 'Pod', 'orphan'), [['NodeMissing']]);
  await cluster.client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  await cluster.clock.advance(20_000);
  assert.deepEqual(told(cluster, 'Pod', 'orphan'), []);
});

test('a namespace that is being deleted names what is left in it', async () => {
  await using cluster = new MemoryCluster();
  await cluster.namespace(namespace);
  await cluster.client.create(configMaps, {
    metadata: { namespace, name: 'kept', finalizers: ['example.com/mine'] },
  });
  cluster.api.alter(namespaces, namespace, (live) => {
    live.spec = { finalizers: ['kubernetes'] };
  });
  cluster.run((context) => runNamespaceController(context, { deletionGraceMs: 0 }));
  await cluster.client.delete(namespaces, { name: namespace });
  await cluster.settle();
  assert.deepEqual(told(cluster, 'Namespace', namespace), [['ContentRemains', 'kept']]);
});

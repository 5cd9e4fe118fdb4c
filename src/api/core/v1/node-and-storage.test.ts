import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { created, errorsOf, given, merged, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { nodeBehaviour } from './node.ts';
import { persistentVolumeBehaviour } from './persistent-volume.ts';
import { persistentVolumeClaimBehaviour } from './persistent-volume-claim.ts';

describe('a Node', () => {
  const node = {
    metadata: {
      name: 'n1',
      labels: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'edge' },
      creationTimestamp: '2025-12-31T23:59:00Z',
    },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '1.2.3.4' },
      ],
      capacity: { cpu: '4' },
      nodeInfo: {
        kubeletVersion: 'v1.36.2',
        osImage: 'Debian',
        kernelVersion: '6.12',
        containerRuntimeVersion: 'containerd://1.6',
      },
    },
  };

  it('can give out all it has, by default', () => {
    assert.deepEqual(given(nodeBehaviour, node).status?.allocatable, { cpu: '4' });
  });

  it('shows its readiness, roles and machine', () => {
    assert.deepEqual(rowOf(nodeBehaviour, node), {
      Name: 'n1',
      Status: 'Ready,SchedulingDisabled',
      Roles: 'control-plane,edge',
      Age: '60s',
      Version: 'v1.36.2',
      'Internal-IP': '10.0.0.1',
      'External-IP': '1.2.3.4',
      'OS-Image': 'Debian',
      'Kernel-Version': '6.12',
      'Container-Runtime': 'containerd://1.6',
    });
  });

  it('is unknown until it reports', () => {
    const row = rowOf(nodeBehaviour, { metadata: { name: 'n2' } });
    assert.equal(row.Status, 'Unknown');
    assert.equal(row.Roles, '<none>');
  });

  it('has each taint once, with an effect that exists', () => {
    const taints = [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'Maybe' },
    ];
    assert.deepEqual(errorsOf(nodeBehaviour, { spec: { taints } }), [
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
      'metadata.taints[2].effect: Unsupported value: "Maybe": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ]);
  });

  it('has annotations from before their fields that make sense', () => {
    const errors = (name: string, value: string) =>
      errorsOf(nodeBehaviour, { metadata: { annotations: { [`scheduler.alpha.kubernetes.io/${name}`]: value } } });
    const taintsAt = 'metadata.annotations.scheduler.alpha.kubernetes.io/taints[0]';
    assert.deepEqual(errors('taints', '[{"key":"a","effect":"Maybe"}]'), [
      `${taintsAt}.effect: Unsupported value: "Maybe": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
    ]);
    assert.match(
      errors('taints', '[')[0]!,
      /^metadata\.annotations: Invalid value: "scheduler\.alpha\.kubernetes\.io\/taints": /,
    );
    const owner = { apiVersion: 'v1', kind: 'ReplicationController', name: 'a', uid: '1' };
    const avoided = [{ podSignature: {} }, { podSignature: { podController: { ...owner, controller: false } } }];
    const avoidAt = 'metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods';
    assert.deepEqual(errors('preferAvoidPods', JSON.stringify({ preferAvoidPods: avoided })), [
      `${avoidAt}[0].PodSignature: Required value`,
      `${avoidAt}[1].PodSignature.PodController.Controller: Invalid value: false: must point to a controller`,
    ]);
    assert.match(errors('preferAvoidPods', '{')[0]!, /^metadata\.annotations\.AvoidPods: Invalid value: /);
  });

  it('declares features by names of a form, in order', () => {
    const declaredFeatures = ['a', 'B', 'B', 'A'];
    assert.deepEqual(
      errorsOf(nodeBehaviour, { status: { declaredFeatures } }).map((error) => error.replace(/: must start.*/, '')),
      [
        'status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a"',
        'status.declaredFeatures[1]: Invalid value: "B": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "B"',
        'status.declaredFeatures[3]: Invalid value: "A": list must be sorted alphabetically',
      ],
    );
  });

  it('keeps the addresses that its Pods have', () => {
    const stored = merged(node, { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] } });
    const next = merged(node, { spec: { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] } });
    const [error = ''] = updateErrorsOf(nodeBehaviour, stored, next);
    assert.match(error, /^spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid/);
  });
});

describe('a PersistentVolume', () => {
  const volume = {
    metadata: { name: 'v', creationTimestamp: '2025-12-31T23:59:00Z' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  };

  it('is retained as a file system, by default', () => {
    const { spec, status } = given(persistentVolumeBehaviour, volume);
    assert.equal(spec?.persistentVolumeReclaimPolicy, 'Retain');
    assert.equal(spec?.volumeMode, 'Filesystem');
    assert.deepEqual(spec?.hostPath, { path: '/data', type: '' });
    assert.deepEqual(status, { phase: 'Pending' });
  });

  it('has a size, a mode of access and one source', () => {
    const bad = { spec: { capacity: {}, accessModes: [], nfs: { server: 's', path: '/' } } };
    assert.deepEqual(errorsOf(persistentVolumeBehaviour, { ...volume, spec: { ...volume.spec, ...bad.spec } }), [
      'spec.accessModes: Required value',
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: null: supported values: "storage"',
      'spec.nfs: Forbidden: may not specify more than 1 volume type',
    ]);
  });

  it('shows whom it belongs to', () => {
    const changes = {
      spec: { claimRef: { namespace: 'default', name: 'data' }, storageClassName: 'fast' },
      status: { phase: 'Bound' },
    };
    assert.deepEqual(rowOf(persistentVolumeBehaviour, merged(volume, changes)), {
      Name: 'v',
      Capacity: '1Gi',
      'Access Modes': 'RWO',
      'Reclaim Policy': 'Retain',
      Status: 'Bound',
      Claim: 'default/data',
      StorageClass: 'fast',
      VolumeAttributesClass: '<unset>',
      Reason: '',
      Age: '60s',
      VolumeMode: 'Filesystem',
    });
  });
});

describe('a PersistentVolumeClaim', () => {
  const claim = {
    metadata: { name: 'data', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };

  it('is Pending when it is made, whatever its maker says', () => {
    const claimed = created(persistentVolumeClaimBehaviour, { ...claim, status: { phase: 'Bound' } });
    assert.deepEqual(claimed.status, { phase: 'Pending' });
  });

  it('wants some storage', () => {
    assert.deepEqual(errorsOf(persistentVolumeClaimBehaviour, claim), []);
    assert.deepEqual(errorsOf(persistentVolumeClaimBehaviour, { spec: { accessModes: ['Sometimes'] } }), [
      'spec.accessModes: Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      'spec.resources[storage]: Required value',
    ]);
  });

  it('may grow once it is bound, but never shrink', () => {
    const bound = merged(claim, {
      spec: { volumeName: 'v', storageClassName: 'fast' },
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    });
    const ask = (storage: string) => merged(bound, { spec: { resources: { requests: { storage } } } });
    assert.deepEqual(updateErrorsOf(persistentVolumeClaimBehaviour, bound, ask('2Gi')), []);
    assert.deepEqual(updateErrorsOf(persistentVolumeClaimBehaviour, bound, ask('500Mi')), [
      'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    ]);
  });

  it('shows what it got', () => {
    const changes = {
      spec: { volumeName: 'v', storageClassName: 'fast' },
      status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
    };
    assert.deepEqual(rowOf(persistentVolumeClaimBehaviour, merged(claim, changes)), {
      Name: 'data',
      Status: 'Bound',
      Volume: 'v',
      Capacity: '1Gi',
      'Access Modes': 'RWO',
      StorageClass: 'fast',
      VolumeAttributesClass: '<unset>',
      Age: '60s',
      VolumeMode: 'Filesystem',
    });
  });

  it('shows that it is being deleted', () => {
    const row = rowOf(
      persistentVolumeClaimBehaviour,
      merged(claim, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    );
    assert.equal(row.Status, 'Terminating');
    assert.equal(row.Capacity, '');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, given, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { csiDriverBehaviour } from './csi-driver.ts';
import { csiNodeBehaviour } from './csi-node.ts';
import { storageClassBehaviour } from './storage-class.ts';
import { volumeAttachmentBehaviour } from './volume-attachment.ts';
import { volumeAttributesClassBehaviour } from './volume-attributes-class.ts';

const born = { name: 'fast', creationTimestamp: '2025-12-31T23:59:00Z' };

describe('a StorageClass', () => {
  const fast = { metadata: born, provisioner: 'example.com/disk' };

  it('deletes volumes that are no longer used and binds at once, by default', () => {
    const { reclaimPolicy, volumeBindingMode } = given(storageClassBehaviour, fast);
    assert.deepEqual([reclaimPolicy, volumeBindingMode], ['Delete', 'Immediate']);
  });

  it('has a provisioner', () => {
    assert.deepEqual(errorsOf(storageClassBehaviour, {}), ['provisioner: Required value']);
  });

  it('keeps its provisioner and parameters', () => {
    assert.deepEqual(
      updateErrorsOf(storageClassBehaviour, fast, { ...fast, provisioner: 'example.com/x', parameters: { a: 'b' } }),
      [
        'parameters: Invalid value: {"a":"b"}: field is immutable',
        'provisioner: Invalid value: "example.com/x": field is immutable',
      ],
    );
  });

  it('shows which one is the default', () => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    assert.deepEqual(rowOf(storageClassBehaviour, { ...fast, metadata: { ...born, annotations } }), {
      Name: 'fast (default)',
      Provisioner: 'example.com/disk',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: false,
      Age: '60s',
    });
  });
});

describe('a CSIDriver', () => {
  it('attaches volumes and is told nothing of Pods, by default', () => {
    assert.deepEqual(given(csiDriverBehaviour, { spec: {} }).spec, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
      requiresRepublish: false,
      seLinuxMount: false,
    });
  });
});

describe('a CSINode', () => {
  it('has each driver once', () => {
    const drivers = [
      { name: 'a.example.com', nodeID: 'x' },
      { name: 'a.example.com', nodeID: 'y' },
    ];
    assert.deepEqual(errorsOf(csiNodeBehaviour, { spec: { drivers } }), [
      'spec.drivers[1].name: Duplicate value: "a.example.com"',
    ]);
  });
});

describe('a VolumeAttachment', () => {
  const attachment = {
    metadata: born,
    spec: { attacher: 'example.com', nodeName: 'n1', source: { persistentVolumeName: 'v' } },
  };

  it('says who attaches what to where', () => {
    assert.deepEqual(errorsOf(volumeAttachmentBehaviour, attachment), []);
    const errors = errorsOf(volumeAttachmentBehaviour, {}).map((error) => error.split(': a lowercase')[0]);
    assert.deepEqual(errors, [
      'spec.attacher: Required value',
      'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
      'spec.nodeName: Invalid value: ""',
    ]);
  });

  it('shows whether it is done', () => {
    assert.deepEqual(rowOf(volumeAttachmentBehaviour, { ...attachment, status: { attached: true } }), {
      Name: 'fast',
      Attacher: 'example.com',
      PV: 'v',
      Node: 'n1',
      Attached: true,
      Age: '60s',
    });
  });
});

describe('a VolumeAttributesClass', () => {
  it('has a driver and parameters', () => {
    assert.deepEqual(errorsOf(volumeAttributesClassBehaviour, { driverName: 'example.com' }), [
      'parameters: Required value: must contain at least one key/value pair',
    ]);
  });
});

/** Validation of PersistentVolumes, and of those that stand inline in a VolumeAttachment. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { semanticallyEqual } from '../../equality.ts';
import type {
  PersistentVolume,
  PersistentVolumeSource,
  PersistentVolumeSpec,
  SecretReference,
} from '../../gen/core-v1.ts';
import {
  entriesOf,
  notPositiveMessage,
  validateDnsLabel,
  validateDnsSubdomain,
  validateEnum,
  validateImmutable,
} from '../../validation.ts';
import { validateNoBacksteps } from './paths.ts';
import { accessModes, volumeModes } from './persistent-volume-claim-spec.ts';
import { quantityOrZero } from './resource-validation.ts';
import { validateNodeSelector } from './scheduling-validation.ts';
import {
  needs,
  validateAzureDisk,
  validateCsiDriverName,
  validateFibreChannel,
  validateFlexVolume,
  validateIscsi,
  validateNfs,
  validatePartition,
  validateQuobyte,
} from './volume-validation.ts';

const specAt = path('spec');

export function validateVolume({ metadata, spec }: PersistentVolume): FieldError[] {
  return validateVolumeSpec(specAt, spec, { name: metadata.name ?? '', inline: false });
}

export function validateVolumeUpdate(volume: PersistentVolume, previous: PersistentVolume): FieldError[] {
  const errors = validateVolume(volume);
  const next = sourcesOf(volume.spec);
  const stored = sourcesOf(previous.spec);
  // The secret for growing a volume may be added later.
  const added = stored.csi && !stored.csi.controllerExpandSecretRef && next.csi?.controllerExpandSecretRef;
  const compared = added ? { ...next, csi: { ...next.csi, controllerExpandSecretRef: undefined } } : next;
  if (!semanticallyEqual(compared, stored)) {
    const message = 'spec.persistentvolumesource is immutable after creation\n';
    errors.push(forbidden(specAt.child('persistentvolumesource'), message));
  }
  errors.push(...validateImmutable(path('volumeMode'), volume.spec.volumeMode, previous.spec.volumeMode));
  if (previous.spec.nodeAffinity) {
    errors.push(...validateImmutable(path('nodeAffinity'), volume.spec.nodeAffinity, previous.spec.nodeAffinity));
  }
  if (previous.spec.volumeAttributesClassName != null && volume.spec.volumeAttributesClassName == null) {
    errors.push(forbidden(specAt.child('volumeAttributesClassName'), 'update from non-nil value to nil is forbidden'));
  }
  return errors;
}

const sourceNames = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const satisfies readonly (keyof PersistentVolumeSource)[];

function sourcesOf(spec: PersistentVolumeSpec): PersistentVolumeSource {
  return Object.fromEntries(sourceNames.map((name) => [name, spec[name]]).filter(([, source]) => source != null));
}

export interface VolumeScope {
  readonly name: string;
  /** In a VolumeAttachment, where nobody claims or schedules it. */
  readonly inline: boolean;
}

export function validateVolumeSpec(at: FieldPath, spec: PersistentVolumeSpec, scope: VolumeScope): FieldError[] {
  const inlineMessage = 'may not be specified in the context of inline volumes';
  const errors: FieldError[] = [];
  if (scope.inline) {
    if (spec.claimRef) errors.push(forbidden(at.child('claimRef'), inlineMessage));
    if (entriesOf(spec.capacity).length > 0) errors.push(forbidden(at.child('capacity'), inlineMessage));
    if (!spec.csi) errors.push(required(at.child('csi'), 'has to be specified in the context of inline volumes'));
  }
  errors.push(...validateModes(at.child('accessModes'), spec.accessModes ?? []));
  if (!scope.inline) errors.push(...validateCapacity(at.child('capacity'), spec.capacity));
  errors.push(...validateReclaimPolicy(at.child('persistentVolumeReclaimPolicy'), spec, scope));
  errors.push(...validateNodeAffinity(at.child('nodeAffinity'), spec, scope, inlineMessage));
  errors.push(...validateSources(at, spec, scope));
  if (spec.storageClassName) {
    const here = at.child('storageClassName');
    errors.push(
      ...(scope.inline ? [forbidden(here, inlineMessage)] : validateDnsSubdomain(here, spec.storageClassName)),
    );
  }
  const modeAt = at.child('volumeMode');
  if (!scope.inline) errors.push(...validateEnum(modeAt, spec.volumeMode, volumeModes));
  else if (spec.volumeMode != null && spec.volumeMode !== 'Filesystem') {
    errors.push(forbidden(modeAt, 'may not specify volumeMode other than Filesystem in the context of inline volumes'));
  }
  return [...errors, ...validateAttributesClass(at, spec)];
}

function validateModes(at: FieldPath, modes: readonly string[]): FieldError[] {
  if (modes.length === 0) return [required(at)];
  const errors = modes.filter((mode) => !accessModes.includes(mode)).map((mode) => notSupported(at, mode, accessModes));
  const others = modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others) {
    errors.push(forbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
  return errors;
}

function validateCapacity(at: FieldPath, capacity: Readonly<Record<string, string>> | undefined): FieldError[] {
  const names = Object.keys(capacity ?? {});
  const errors = names.length === 0 ? [required(at)] : [];
  if (!names.includes('storage') || names.length > 1) errors.push(notSupported(at, capacity ?? null, ['storage']));
  for (const [name, text] of entriesOf(capacity)) {
    const quantity = quantityOrZero(text);
    if (quantity.value() < 0n)
      errors.push(invalid(at.key(name), quantity.value(), 'must be a valid resource quantity'));
    if (quantity.sign <= 0) errors.push(invalid(at.key(name), quantity.toString(), notPositiveMessage));
  }
  return errors;
}

function validateReclaimPolicy(at: FieldPath, spec: PersistentVolumeSpec, { inline }: VolumeScope): FieldError[] {
  const policy = spec.persistentVolumeReclaimPolicy;
  if (!policy) return [];
  if (inline) return policy === 'Retain' ? [] : [forbidden(at, 'may only be Retain in the context of inline volumes')];
  const errors = validateEnum(at, policy, ['Delete', 'Recycle', 'Retain']);
  const isRoot = spec.hostPath !== undefined && /^\/+(\.?\/*)*$/.test(spec.hostPath.path ?? '');
  if (isRoot && policy === 'Recycle') errors.push(forbidden(at, "may not be 'recycle' for a hostPath mount of '/'"));
  return errors;
}

function validateNodeAffinity(
  at: FieldPath,
  spec: PersistentVolumeSpec,
  scope: VolumeScope,
  inlineMessage: string,
): FieldError[] {
  if (!spec.nodeAffinity) return [];
  const errors = scope.inline ? [forbidden(at, inlineMessage)] : [];
  const { required: wanted } = spec.nodeAffinity;
  if (!wanted) return [...errors, required(at.child('required'), 'must specify required node constraints')];
  return [...errors, ...validateNodeSelector(at.child('required'), wanted)];
}

function validateSources(at: FieldPath, spec: PersistentVolumeSpec, scope: VolumeScope): FieldError[] {
  const errors: FieldError[] = [];
  const found = sourceNames.filter((name) => spec[name] != null);
  if (found.length === 0) errors.push(required(at, 'must specify a volume type'));
  for (const [index, name] of found.entries()) {
    const here = at.child(shownSourceNames[name] ?? name);
    if (index > 0) errors.push(forbidden(here, 'may not specify more than 1 volume type'));
    else errors.push(...validateSource(here, spec, name));
  }
  if (spec.local && !spec.nodeAffinity) {
    errors.push(required(at.child('nodeAffinity'), 'Local volume requires node affinity'));
  }
  const { iscsi } = spec;
  if (iscsi?.initiatorName != null && `${scope.name}:${iscsi.targetPortal}`.length > 64) {
    const message =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    errors.push(invalid(at.child('iscsi', 'targetportal'), iscsi.targetPortal, message));
  }
  return errors;
}

// Sources that upstream's messages call otherwise.
const shownSourceNames: Readonly<Record<string, string>> = { cephfs: 'cephFS', gcePersistentDisk: 'persistentDisk' };

function validateSource(at: FieldPath, spec: PersistentVolumeSpec, name: (typeof sourceNames)[number]): FieldError[] {
  switch (name) {
    case 'hostPath': {
      const { path: hostPath } = spec.hostPath!;
      return hostPath ? validateNoBacksteps(at.child('path'), hostPath) : [required(at.child('path'))];
    }
    case 'gcePersistentDisk':
      return [
        ...needs(at, spec.gcePersistentDisk, 'pdName'),
        ...validatePartition(at, spec.gcePersistentDisk?.partition),
      ];
    case 'awsElasticBlockStore':
      return [
        ...needs(at, spec.awsElasticBlockStore, 'volumeID'),
        ...validatePartition(at, spec.awsElasticBlockStore?.partition),
      ];
    case 'glusterfs':
      return needs(at, spec.glusterfs, 'endpoints', 'path');
    case 'nfs':
      return validateNfs(at, spec.nfs);
    case 'rbd':
      return needs(at, spec.rbd, 'monitors', 'image');
    case 'quobyte':
      return validateQuobyte(at, spec.quobyte!);
    case 'cephfs':
      return needs(at, spec.cephfs, 'monitors');
    case 'iscsi':
      return validateIscsi(at, spec.iscsi!);
    case 'cinder':
      return [...needs(at, spec.cinder, 'volumeID'), ...optionalSecret(at, spec.cinder?.secretRef)];
    case 'fc':
      return validateFibreChannel(at, spec.fc!);
    case 'flexVolume':
      return validateFlexVolume(at, spec.flexVolume!);
    case 'azureFile':
      return needs(at, spec.azureFile, 'secretName', 'shareName');
    case 'vsphereVolume':
      return needs(at, spec.vsphereVolume, 'volumePath');
    case 'photonPersistentDisk':
      return needs(at, spec.photonPersistentDisk, 'pdID');
    case 'portworxVolume':
      return needs(at, spec.portworxVolume, 'volumeID');
    case 'azureDisk':
      return validateAzureDisk(at, spec.azureDisk!);
    case 'scaleIO':
      return needs(at, spec.scaleIO, 'gateway', 'system', 'volumeName');
    case 'local': {
      const { path: localPath } = spec.local!;
      return localPath ? validateNoBacksteps(at.child('path'), localPath) : [required(at.child('path'))];
    }
    case 'storageos':
      return needs(at, spec.storageos, 'volumeName');
    case 'csi':
      return validateCsi(at, spec.csi!);
    default:
      return [];
  }
}

function optionalSecret(at: FieldPath, secret: SecretReference | undefined): FieldError[] {
  return secret ? needs(at.child('secretRef'), secret, 'name', 'namespace') : [];
}

function validateCsi(at: FieldPath, csi: NonNullable<PersistentVolumeSpec['csi']>): FieldError[] {
  const errors = [...validateCsiDriverName(at.child('driver'), csi.driver ?? ''), ...needs(at, csi, 'volumeHandle')];
  for (const field of [
    'controllerPublishSecretRef',
    'controllerExpandSecretRef',
    'nodePublishSecretRef',
    'nodeExpandSecretRef',
    'nodeStageSecretRef',
  ] as const) {
    const secret = csi[field];
    if (!secret) continue;
    const here = at.child(field);
    errors.push(
      ...(secret.name ? validateDnsSubdomain(here.child('name'), secret.name) : [required(here.child('name'))]),
    );
    const namespaceAt = here.child('namespace');
    errors.push(...(secret.namespace ? validateDnsLabel(namespaceAt, secret.namespace) : [required(namespaceAt)]));
  }
  return errors;
}

function validateAttributesClass(at: FieldPath, spec: PersistentVolumeSpec): FieldError[] {
  const name = spec.volumeAttributesClassName;
  if (name == null) return [];
  const here = at.child('volumeAttributesClassName');
  const errors = name === '' ? [required(here, 'an empty string is disallowed')] : validateDnsSubdomain(here, name);
  if (!spec.csi) errors.push(required(at.child('csi'), 'has to be specified when using volumeAttributesClassName'));
  return errors;
}

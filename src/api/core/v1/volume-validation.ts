/**
 * Validation of a Pod's volumes: one source each, and each source by its own rules. The sources of disks that no part of this
 * cluster mounts any more are checked for what they cannot do without, since objects that carry them are still stored and shown.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { dns1123Subdomain } from '../../../apimachinery/names.ts';
import type { AzureDiskVolumeSource, FCVolumeSource, ISCSIVolumeSource, KeyToPath, Volume } from '../../gen/core-v1.ts';
import { entriesOf, refused, validateDnsLabel, validateEnum, validateRange } from '../../validation.ts';
import { validateDescendingPath, validateNoBacksteps } from './paths.ts';
import { validateClaimTemplate } from './persistent-volume-claim-spec.ts';
import { validateProjected } from './projected-volume-validation.ts';
import { quantityOrZero } from './resource-validation.ts';
import { validateDownwardFile, validateFileMode, validateKeyToPath } from './volume-items.ts';

/** Volumes by name, of those that are valid: what containers may mount. */
export type VolumesByName = ReadonlyMap<string, Volume>;

export interface VolumeContext {
  /** Of a Pod that has its name; undefined in templates. */
  readonly podName?: string | undefined;
  /** Templates may leave an image volume's reference empty. */
  readonly isPod: boolean;
}

export function validateVolumes(
  at: FieldPath,
  volumes: readonly Volume[],
  context: VolumeContext,
): { readonly byName: VolumesByName; readonly errors: readonly FieldError[] } {
  const byName = new Map<string, Volume>();
  const errors: FieldError[] = [];
  const claims = new Set(
    volumes.filter(({ ephemeral }) => context.podName && ephemeral).map(({ name }) => `${context.podName}-${name}`),
  );
  for (const [index, volume] of volumes.entries()) {
    const here = at.index(index);
    const found = validateSources(here, volume, context);
    if (!volume.name) found.push(required(here.child('name')));
    else found.push(...validateDnsLabel(here.child('name'), volume.name));
    if (byName.has(volume.name)) found.push(duplicate(here.child('name'), volume.name));
    if (found.length === 0) byName.set(volume.name, volume);
    errors.push(...found);
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName && claims.has(claimName)) {
      const message = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(invalid(here.child('persistentVolumeClaim', 'claimName'), claimName, message));
    }
  }
  return { byName, errors };
}

type Source = Exclude<keyof Volume, 'name'>;
type SourceRule = (at: FieldPath, volume: Volume, context: VolumeContext) => readonly FieldError[];

interface SourceRow {
  readonly source: Source;
  /** Where upstream blames a second source, if not at its own name. */
  readonly secondAt?: string;
  /** Where upstream blames the source's fields, if not at its own name. */
  readonly fieldsAt?: string;
  readonly validate: SourceRule;
}

/** In upstream's order: a second source is refused, whichever comes later here. */
const sources: readonly SourceRow[] = [
  { source: 'emptyDir', validate: validateEmptyDir },
  { source: 'hostPath', validate: validateHostPath },
  {
    source: 'gitRepo',
    validate: (at, { gitRepo }) => [
      ...needs(at, gitRepo, 'repository'),
      ...validateDescendingPath(at.child('directory'), gitRepo?.directory ?? ''),
    ],
  },
  {
    source: 'gcePersistentDisk',
    fieldsAt: 'persistentDisk',
    validate: (at, { gcePersistentDisk }) => [
      ...needs(at, gcePersistentDisk, 'pdName'),
      ...validatePartition(at, gcePersistentDisk?.partition),
    ],
  },
  {
    source: 'awsElasticBlockStore',
    validate: (at, { awsElasticBlockStore }) => [
      ...needs(at, awsElasticBlockStore, 'volumeID'),
      ...validatePartition(at, awsElasticBlockStore?.partition),
    ],
  },
  {
    source: 'secret',
    validate: (at, { secret }) => [...needs(at, secret, 'secretName'), ...validateItems(at, secret)],
  },
  { source: 'nfs', validate: (at, { nfs }) => validateNfs(at, nfs) },
  { source: 'iscsi', validate: (at, volume) => validateIscsi(at, volume.iscsi!) },
  { source: 'glusterfs', validate: (at, { glusterfs }) => needs(at, glusterfs, 'endpoints', 'path') },
  { source: 'flocker', validate: validateFlocker },
  {
    source: 'persistentVolumeClaim',
    validate: (at, { persistentVolumeClaim }) => needs(at, persistentVolumeClaim, 'claimName'),
  },
  { source: 'rbd', validate: (at, { rbd }) => needs(at, rbd, 'monitors', 'image') },
  {
    source: 'cinder',
    validate: (at, { cinder }) => [
      ...needs(at, cinder, 'volumeID'),
      ...(cinder?.secretRef ? needs(at.child('secretRef'), cinder.secretRef, 'name') : []),
    ],
  },
  { source: 'cephfs', secondAt: 'cephFS', validate: (at, { cephfs }) => needs(at, cephfs, 'monitors') },
  { source: 'quobyte', validate: (at, { quobyte }) => validateQuobyte(at, quobyte!) },
  { source: 'downwardAPI', secondAt: 'downwarAPI', validate: validateDownward },
  { source: 'fc', validate: (at, { fc }) => validateFibreChannel(at, fc!) },
  { source: 'flexVolume', validate: (at, { flexVolume }) => validateFlexVolume(at, flexVolume!) },
  {
    source: 'configMap',
    validate: (at, { configMap }) => [...needs(at, configMap, 'name'), ...validateItems(at, configMap)],
  },
  { source: 'azureFile', validate: (at, { azureFile }) => needs(at, azureFile, 'secretName', 'shareName') },
  { source: 'vsphereVolume', validate: (at, { vsphereVolume }) => needs(at, vsphereVolume, 'volumePath') },
  {
    source: 'photonPersistentDisk',
    validate: (at, { photonPersistentDisk }) => needs(at, photonPersistentDisk, 'pdID'),
  },
  { source: 'portworxVolume', validate: (at, { portworxVolume }) => needs(at, portworxVolume, 'volumeID') },
  { source: 'azureDisk', validate: (at, { azureDisk }) => validateAzureDisk(at, azureDisk!) },
  { source: 'storageos', validate: validateStorageOs },
  { source: 'projected', validate: (at, { projected }) => validateProjected(at, projected!) },
  { source: 'scaleIO', validate: (at, { scaleIO }) => needs(at, scaleIO, 'gateway', 'system', 'volumeName') },
  { source: 'csi', validate: validateCsi },
  {
    source: 'ephemeral',
    validate: (at, { ephemeral }) =>
      ephemeral?.volumeClaimTemplate
        ? validateClaimTemplate(at.child('volumeClaimTemplate'), ephemeral.volumeClaimTemplate)
        : [required(at.child('volumeClaimTemplate'))],
  },
  {
    source: 'image',
    validate: (at, { image }, { isPod }) => [
      ...(isPod ? needs(at, image, 'reference') : []),
      ...(image?.pullPolicy
        ? validateEnum(at.child('pullPolicy'), image.pullPolicy, ['Always', 'IfNotPresent', 'Never'])
        : [required(at.child('pullPolicy'))]),
    ],
  },
];

function validateSources(at: FieldPath, volume: Volume, context: VolumeContext): FieldError[] {
  const errors: FieldError[] = [];
  let found = 0;
  for (const { source, secondAt = source, fieldsAt = source, validate } of sources) {
    if (volume[source] == null) continue;
    found += 1;
    if (found > 1) errors.push(forbidden(at.child(secondAt), 'may not specify more than 1 volume type'));
    else errors.push(...validate(at.child(fieldsAt), volume, context));
  }
  if (found === 0) errors.push(required(at, 'must specify a volume type'));
  return [...errors, ...validateDerivedNames(at, volume, context)];
}

/** Names that are made of the volume's must be fit for what they name. */
function validateDerivedNames(at: FieldPath, { name, iscsi, ephemeral }: Volume, context: VolumeContext): FieldError[] {
  const errors: FieldError[] = [];
  if (iscsi?.initiatorName != null && `${name}:${iscsi.targetPortal}`.length > 64) {
    const message =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    errors.push(invalid(at.child('name'), name, message));
  }
  if (ephemeral && context.podName && name) {
    const claimName = `${context.podName}-${name}`;
    const messages = dns1123Subdomain(claimName).map((message) => `PVC name ${quote(claimName)}: ${message}`);
    errors.push(...refused(at.child('name'), name, messages));
  }
  return errors;
}

/** Fields that must not be empty. */
export function needs<T extends object>(
  at: FieldPath,
  object: T | undefined,
  ...fields: (keyof T & string)[]
): FieldError[] {
  return fields.filter((field) => isEmptyField(object?.[field])).map((field) => required(at.child(field)));
}

function isEmptyField(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function validateEmptyDir(at: FieldPath, { emptyDir }: Volume): FieldError[] {
  if (emptyDir?.sizeLimit === undefined || quantityOrZero(emptyDir.sizeLimit).sign >= 0) return [];
  return [forbidden(at.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

function validateHostPath(at: FieldPath, { hostPath }: Volume): FieldError[] {
  if (!hostPath?.path) return [required(at.child('path'))];
  return [
    ...validateNoBacksteps(at.child('path'), hostPath.path),
    ...validateEnum(at.child('type'), hostPath.type, hostPathTypes),
  ];
}

interface WithItems {
  readonly defaultMode?: number | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
}

function validateItems(at: FieldPath, source: WithItems | undefined): FieldError[] {
  return [
    ...validateFileMode(at.child('defaultMode'), source?.defaultMode),
    ...(source?.items ?? []).flatMap((item, index) => validateKeyToPath(at.child('items').index(index), item)),
  ];
}

function validateDownward(at: FieldPath, { downwardAPI }: Volume): FieldError[] {
  return [
    ...validateFileMode(at.child('defaultMode'), downwardAPI?.defaultMode),
    ...(downwardAPI?.items ?? []).flatMap((file) => validateDownwardFile(at, file)),
  ];
}

export function validateNfs(at: FieldPath, nfs: Volume['nfs']): FieldError[] {
  const relative = !(nfs?.path ?? '').startsWith('/');
  return [
    ...needs(at, nfs, 'server', 'path'),
    ...(relative ? [invalid(at.child('path'), nfs?.path ?? '', 'must be an absolute path')] : []),
  ];
}

export function validatePartition(at: FieldPath, partition: number | undefined): FieldError[] {
  // The message has been wrong by one since the first release; clients know it so.
  if (partition == null || (partition >= 0 && partition <= 255)) return [];
  return [invalid(at.child('partition'), partition, 'must be between 1 and 255, inclusive')];
}

const initiatorNames: readonly (readonly [prefix: string, pattern: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$/],
  ['eui', /^eui.[A-Za-z0-9]{16}$/],
  ['naa', /^naa.[A-Za-z0-9]{32}$/],
];

type IscsiSource = Omit<ISCSIVolumeSource, 'secretRef'> & { readonly secretRef?: object | undefined };

export function validateIscsi(at: FieldPath, iscsi: IscsiSource): FieldError[] {
  const errors = needs(at, iscsi, 'targetPortal', 'iqn');
  if (iscsi.iqn) errors.push(...validateInitiator(at.child('iqn'), iscsi.iqn));
  errors.push(...validateRange(at.child('lun'), iscsi.lun, 0, 255));
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && !iscsi.secretRef) {
    errors.push(required(at.child('secretRef')));
  }
  if (iscsi.initiatorName != null) errors.push(...validateInitiator(at.child('initiatorname'), iscsi.initiatorName));
  return errors;
}

function validateInitiator(at: FieldPath, name: string): FieldError[] {
  const kind = initiatorNames.find(([prefix]) => name.startsWith(prefix));
  if (!kind) return [invalid(at, name, 'must be valid format starting with iqn, eui, or naa')];
  return kind[1].test(name) ? [] : [invalid(at, name, 'must be valid format')];
}

export function validateFibreChannel(at: FieldPath, fc: FCVolumeSource): FieldError[] {
  const errors: FieldError[] = [];
  const hasNames = (fc.targetWWNs?.length ?? 0) > 0;
  const hasIds = (fc.wwids?.length ?? 0) > 0;
  if (!hasNames && !hasIds) {
    errors.push(required(at.child('targetWWNs'), 'must specify either targetWWNs or wwids, but not both'));
  }
  if (hasNames && hasIds) {
    const message = 'targetWWNs and wwids can not be specified simultaneously';
    errors.push(invalid(at.child('targetWWNs'), fc.targetWWNs, message));
  }
  if (!hasNames) return errors;
  if (fc.lun == null) return [...errors, required(at.child('lun'), 'lun is required if targetWWNs is specified')];
  return [...errors, ...validateRange(at.child('lun'), fc.lun, 0, 255)];
}

export function validateFlexVolume(
  at: FieldPath,
  flexVolume: { readonly driver: string; readonly options?: Readonly<Record<string, string>> | undefined },
): FieldError[] {
  const errors = needs(at, flexVolume, 'driver');
  for (const [key] of entriesOf(flexVolume.options)) {
    const domain = `.${(key.split('/').length > 1 ? key.slice(0, key.indexOf('/')) : key).toLowerCase()}`;
    if (!domain.endsWith('.kubernetes.io') && !domain.endsWith('.k8s.io')) continue;
    errors.push(invalid(at.child('options').key(key), key, 'kubernetes.io and k8s.io namespaces are reserved'));
  }
  return errors;
}

export function validateQuobyte(at: FieldPath, quobyte: NonNullable<Volume['quobyte']>): FieldError[] {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  const errors: FieldError[] = [];
  if (!quobyte.registry) errors.push(required(at.child('registry'), pairs));
  else if ((quobyte.tenant ?? '').length > 64) {
    errors.push(required(at.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters'));
  } else if (!quobyte.registry.split(',').every((pair) => /^(\[[^\]]*\]|[^:[\]]*):[^:]*$/.test(pair))) {
    errors.push(invalid(at.child('registry'), quobyte.registry, pairs));
  }
  return [...errors, ...needs(at, quobyte, 'volume')];
}

function validateFlocker(at: FieldPath, { flocker }: Volume): FieldError[] {
  const { datasetName = '', datasetUUID = '' } = flocker ?? {};
  const errors: FieldError[] = [];
  if (!datasetName && !datasetUUID) errors.push(required(at, 'one of datasetName and datasetUUID is required'));
  if (datasetName && datasetUUID) {
    errors.push(invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (datasetName.includes('/')) errors.push(invalid(at.child('datasetName'), datasetName, "must not contain '/'"));
  return errors;
}

export function validateAzureDisk(at: FieldPath, disk: AzureDiskVolumeSource): FieldError[] {
  const errors = needs(at, disk, 'diskName', 'diskURI');
  errors.push(...validateEnum(at.child('cachingMode'), disk.cachingMode, ['None', 'ReadOnly', 'ReadWrite']));
  errors.push(...validateEnum(at.child('kind'), disk.kind, ['Dedicated', 'Managed', 'Shared']));
  const managed = disk.kind === 'Managed';
  const [prefix, form] = managed
    ? [
        '/subscriptions/',
        '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
      ]
    : ['https://', 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'];
  if (disk.kind != null && !(disk.diskURI ?? '').startsWith(prefix!)) {
    errors.push(...validateEnum(at.child('diskURI'), disk.diskURI ?? '', [form!]));
  }
  return errors;
}

function validateStorageOs(at: FieldPath, { storageos }: Volume): FieldError[] {
  const { volumeName, volumeNamespace, secretRef } = storageos ?? {};
  return [
    ...(volumeName ? validateDnsLabel(at.child('volumeName'), volumeName) : [required(at.child('volumeName'))]),
    ...(volumeNamespace ? validateDnsLabel(at.child('volumeNamespace'), volumeNamespace) : []),
    ...(secretRef ? needs(at.child('secretRef'), secretRef, 'name') : []),
  ];
}

function validateCsi(at: FieldPath, { csi }: Volume): FieldError[] {
  const errors = validateCsiDriverName(at.child('driver'), csi?.driver ?? '');
  const secret = csi?.nodePublishSecretRef;
  if (!secret) return errors;
  if (!secret.name) return [...errors, required(at.child('nodePublishSecretRef', 'name'))];
  return [...errors, ...refused(at.child('name'), secret.name, dns1123Subdomain(secret.name))];
}

/** A driver's name: a DNS subdomain in any case, at most 63 bytes. */
export function validateCsiDriverName(at: FieldPath, name: string): FieldError[] {
  if (!name) return [required(at)];
  const errors = Buffer.byteLength(name) > 63 ? [tooLong(at, 63)] : [];
  return [...errors, ...refused(at, name, dns1123Subdomain(name.toLowerCase()))];
}

/** PersistentVolumeClaims: a wish for storage, and the volume that was found for it. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { type Draft, draft } from '../../../apimachinery/meta.ts';
import { immutableMessage } from '../../../apimachinery/names.ts';
import { accessModesText, ageColumn, nameColumn, text } from '../../columns.ts';
import { fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import {
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  persistentVolumeClaims,
} from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, validateImmutable, validateQualifiedName } from '../../validation.ts';
import { validateClaimSpec } from './persistent-volume-claim-spec.ts';
import { roundToMilli } from './resource-defaults.ts';
import { isNativeResource, quantityOrZero, validateResourceQuantity } from './resource-validation.ts';
import { storageClassText } from './storage-class-name.ts';
import { defaultClaimSpec } from './volume-defaults.ts';

const classAnnotation = 'volume.beta.kubernetes.io/storage-class';

export const persistentVolumeClaimBehaviour: KindBehaviour<PersistentVolumeClaim> = {
  resource: persistentVolumeClaims,
  defaults(claim) {
    fillEmpty(partOf(claim, 'status'), 'phase', 'Pending');
    roundToMilli(claim.status?.capacity);
    roundToMilli(claim.status?.allocatedResources);
    defaultClaimSpec(partOf(claim, 'spec'));
  },
  countsGeneration: false,
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
    normalizeDataSource(claim.spec, undefined);
  },
  prepareForUpdate: ({ spec }, previous) => normalizeDataSource(spec, previous.spec),
  validate: ({ spec }) => validateClaimSpec(path('spec'), spec),
  validateUpdate,
  subresources: { status: { validateUpdate: validateStatus } },
  columns: [
    nameColumn,
    text('Status', ({ metadata, status }) =>
      metadata.deletionTimestamp != null ? 'Terminating' : (status?.phase ?? ''),
    ),
    text('Volume', ({ spec }) => spec.volumeName ?? ''),
    text('Capacity', ({ spec, status }) =>
      spec.volumeName ? quantityOrZero(status?.capacity?.storage).toString() : '',
    ),
    text('Access Modes', ({ spec, status }) => (spec.volumeName ? accessModesText(status?.accessModes) : '')),
    text('StorageClass', storageClassText, { description: 'StorageClass of the pvc' }),
    text('VolumeAttributesClass', ({ spec }) => spec.volumeAttributesClassName ?? '<unset>', {
      description: 'VolumeAttributesClass of the pvc',
    }),
    ageColumn,
    text('VolumeMode', ({ spec }) => spec.volumeMode ?? '<unset>', { wide: true }),
  ],
};

/** The older and the newer field for a claim's origin say the same, where the older one can say it. */
function normalizeDataSource(
  spec: Draft<PersistentVolumeClaimSpec>,
  stored: PersistentVolumeClaimSpec | undefined,
): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) {
    const isClaim = dataSource.kind === 'PersistentVolumeClaim' && !dataSource.apiGroup;
    const isSnapshot = dataSource.kind === 'VolumeSnapshot' && dataSource.apiGroup === 'snapshot.storage.k8s.io';
    if (!isClaim && !isSnapshot && !stored?.dataSource) delete spec.dataSource;
    else spec.dataSourceRef = { ...dataSource };
  } else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _namespace, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}

function validateUpdate(claim: PersistentVolumeClaim, previous: PersistentVolumeClaim): FieldError[] {
  const at = path('spec');
  const next = claim.spec;
  const stored = previous.spec;
  const errors = validateClaimSpec(at, next);
  const bound = claim.status?.phase === 'Bound';
  errors.push(...validateClassAnnotation(claim, previous));
  if (!semanticallyEqual(withoutUpdatable(claim, previous, bound), stored)) {
    const message =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n';
    errors.push(forbidden(at, message));
  }
  const size = quantityOrZero(next.resources?.requests?.storage);
  const shrinks = size.compare(quantityOrZero(stored.resources?.requests?.storage)) < 0;
  if (shrinks && size.compare(quantityOrZero(previous.status?.capacity?.storage)) <= 0) {
    errors.push(forbidden(at.child('resources', 'requests', 'storage'), 'field can not be less than status.capacity'));
  }
  errors.push(...validateImmutable(path('volumeMode'), next.volumeMode, stored.volumeMode));
  const changed = (next.volumeAttributesClassName ?? '') !== (stored.volumeAttributesClassName ?? '');
  if (changed && previous.status?.currentVolumeAttributesClassName != null && !next.volumeAttributesClassName) {
    const value = next.volumeAttributesClassName == null ? 'nil' : 'empty string';
    const message = `update to ${value} is forbidden when status.currentVolumeAttributesClassName is not nil`;
    errors.push(forbidden(at.child('volumeAttributesClassName'), message));
  }
  return errors;
}

function movedFromAnnotation(claim: PersistentVolumeClaim, previous: PersistentVolumeClaim): boolean {
  const before = previous.metadata.annotations?.[classAnnotation];
  const after = claim.metadata.annotations?.[classAnnotation];
  const moved = previous.spec.storageClassName == null && claim.spec.storageClassName === before;
  return before !== undefined && moved && (after === undefined || after === before);
}

function validateClassAnnotation(claim: PersistentVolumeClaim, previous: PersistentVolumeClaim): FieldError[] {
  const before = previous.metadata.annotations?.[classAnnotation] ?? '';
  const after = claim.metadata.annotations?.[classAnnotation] ?? '';
  if (before === after || movedFromAnnotation(claim, previous)) return [];
  return [invalid(path('metadata', 'annotations', classAnnotation), after, immutableMessage)];
}

/** The new spec with all that may change put back to what is stored. */
function withoutUpdatable(claim: PersistentVolumeClaim, previous: PersistentVolumeClaim, bound: boolean): unknown {
  const stored = previous.spec;
  const rest = draft(claim.spec);
  if (!stored.volumeName) delete rest.volumeName;
  const annotated = previous.metadata.annotations?.[classAnnotation];
  const unsetBefore = stored.storageClassName == null;
  if (unsetBefore && (annotated === undefined || rest.storageClassName === annotated)) delete rest.storageClassName;
  if (!bound) return rest;
  const size = stored.resources?.requests?.storage;
  if (rest.resources?.requests && size !== undefined) rest.resources.requests.storage = size;
  if (stored.volumeAttributesClassName == null) delete rest.volumeAttributesClassName;
  else rest.volumeAttributesClassName = stored.volumeAttributesClassName;
  return rest;
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

function validateStatus({ spec, status }: PersistentVolumeClaim): FieldError[] {
  const errors: FieldError[] = [];
  if (!spec.accessModes?.length) errors.push(required(path('Spec', 'accessModes')));
  for (const [name, text] of entriesOf(status?.capacity)) {
    const value = quantityOrZero(text).value();
    if (value < 0n)
      errors.push(invalid(path('status', 'capacity').key(name), value, 'must be a valid resource quantity'));
  }
  const statesAt = path('status', 'allocatedResourceStatuses');
  for (const [name, state] of entriesOf(status?.allocatedResourceStatuses)) {
    errors.push(...validateResourceKey(statesAt, name));
    if (!resizeStates.includes(state)) errors.push(notSupported(statesAt, name, resizeStates));
  }
  const allocatedAt = path('status', 'allocatedResources');
  for (const [name, text] of entriesOf(status?.allocatedResources)) {
    const problems = validateResourceKey(allocatedAt, name);
    errors.push(...(problems.length > 0 ? problems : validateResourceQuantity(allocatedAt.key(name), 'storage', text)));
  }
  return errors;
}

function validateResourceKey(at: FieldPath, name: string): FieldError[] {
  const errors = validateQualifiedName(at, name);
  if (errors.length > 0 || !isNativeResource(name) || name === 'storage') return errors;
  return [notSupported(at, name, ['storage'])];
}

/** The spec of a PersistentVolumeClaim, in claims and in the templates that Pods and StatefulSets make claims of. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
  TypedObjectReference,
} from '../../gen/core-v1.ts';
import { validateTemplateMetadata } from '../../metadata-validation.ts';
import { notPositiveMessage, validateDnsLabel, validateDnsSubdomain, validateEnum } from '../../validation.ts';
import { quantityOrZero } from './resource-validation.ts';

export const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const volumeModes = ['Block', 'Filesystem'];

export function validateClaimTemplate(at: FieldPath, template: PersistentVolumeClaimTemplate): FieldError[] {
  return [
    ...validateTemplateMetadata(at.child('metadata'), template.metadata),
    ...validateClaimSpec(at.child('spec'), template.spec),
  ];
}

export function validateClaimSpec(at: FieldPath, spec: PersistentVolumeClaimSpec): FieldError[] {
  const errors = validateAccessModes(at.child('accessModes'), spec.accessModes);
  if (spec.selector) errors.push(...validateLabelSelector(spec.selector, at.child('selector')));
  errors.push(...validateStorageRequest(at.child('resources'), spec.resources?.requests?.storage));
  if (spec.storageClassName) errors.push(...validateDnsSubdomain(at.child('storageClassName'), spec.storageClassName));
  errors.push(...validateEnum(at.child('volumeMode'), spec.volumeMode, volumeModes));
  const { dataSource, dataSourceRef } = spec;
  if (dataSource) errors.push(...validateDataSource(at.child('dataSource'), dataSource));
  if (dataSourceRef) errors.push(...validateDataSourceReference(at.child('dataSourceRef'), dataSourceRef));
  if (dataSourceRef?.namespace) {
    if (dataSource) {
      const message = 'may not be specified when dataSourceRef.namespace is specified';
      errors.push(invalid(at, dataSource, message));
    }
  } else if (dataSource && dataSourceRef && !isSameSource(dataSource, dataSourceRef)) {
    errors.push(invalid(at, dataSource, 'must match dataSourceRef'));
  }
  if (spec.volumeAttributesClassName) {
    errors.push(...validateDnsSubdomain(at.child('volumeAttributesClassName'), spec.volumeAttributesClassName));
  }
  return errors;
}

function isSameSource(source: TypedLocalObjectReference, reference: TypedObjectReference): boolean {
  const group = ({ apiGroup }: { readonly apiGroup?: string | undefined }) => apiGroup ?? '';
  return group(source) === group(reference) && source.kind === reference.kind && source.name === reference.name;
}

function validateAccessModes(at: FieldPath, modes: readonly string[] | undefined): FieldError[] {
  if (!modes?.length) return [required(at, 'at least 1 access mode is required')];
  const errors = modes.filter((mode) => !accessModes.includes(mode)).map((mode) => notSupported(at, mode, accessModes));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    errors.push(forbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
  return errors;
}

function validateStorageRequest(at: FieldPath, storage: string | undefined): FieldError[] {
  const here = at.key('storage');
  if (storage === undefined) return [required(here)];
  return quantityOrZero(storage).sign > 0 ? [] : [invalid(here, storage, notPositiveMessage)];
}

function validateDataSource(at: FieldPath, { name, kind, apiGroup }: TypedLocalObjectReference): FieldError[] {
  const errors: FieldError[] = [];
  if (!name) errors.push(required(at.child('name')));
  if (!kind) errors.push(required(at.child('kind')));
  if (!apiGroup && kind !== 'PersistentVolumeClaim') {
    errors.push(invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (apiGroup) errors.push(...validateDnsSubdomain(at.child('apiGroup'), apiGroup));
  return errors;
}

function validateDataSourceReference(at: FieldPath, reference: TypedObjectReference): FieldError[] {
  const errors = validateDataSource(at, reference);
  if (reference.namespace) errors.push(...validateDnsLabel(at.child('namespace'), reference.namespace));
  return errors;
}

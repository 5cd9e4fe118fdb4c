/** Environment variables of a container: their names and where their values come from. */
import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/field-error.ts';
import { configMapKey, dns1123Subdomain, nameIsDnsSubdomain, relaxedEnvVarName } from '../../../apimachinery/names.ts';
import type { EnvFromSource, EnvVar, EnvVarSource, FileKeySelector } from '../../gen/core-v1.ts';
import { refused, validateDnsLabel, validateRequired } from '../../validation.ts';
import { validateFieldReference, validateResourceFieldReference } from './downward-validation.ts';
import { validateNoBacksteps } from './paths.ts';

const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

export function validateEnvironment(at: FieldPath, variables: readonly EnvVar[]): FieldError[] {
  return variables.flatMap(({ name, value, valueFrom }, index) => {
    const here = at.index(index);
    const errors = validateRequired(here.child('name'), name, relaxedEnvVarName);
    if (valueFrom) errors.push(...validateValueFrom(here.child('valueFrom'), valueFrom, value ?? ''));
    return errors;
  });
}

function validateValueFrom(at: FieldPath, source: EnvVarSource, value: string): FieldError[] {
  const errors: FieldError[] = [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) errors.push(...validateFieldReference(at.child('fieldRef'), fieldRef, environmentFields));
  if (resourceFieldRef) errors.push(...validateResourceFieldReference(at.child('resourceFieldRef'), resourceFieldRef));
  if (configMapKeyRef) errors.push(...validateKeySelector(at.child('configMapKeyRef'), configMapKeyRef));
  if (secretKeyRef) errors.push(...validateKeySelector(at.child('secretKeyRef'), secretKeyRef));
  if (fileKeyRef) errors.push(...validateFileKeySelector(at.child('fileKeyRef'), fileKeyRef));
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  if (count === 0) {
    const choice = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    errors.push(invalid(at, '', `must specify one of: ${choice}`));
  } else if (value !== '') {
    errors.push(invalid(at, '', 'may not be specified when `value` is not empty'));
  } else if (count > 1) {
    errors.push(invalid(at, '', 'may not have more than one field specified at a time'));
  }
  return errors;
}

function validateKeySelector(
  at: FieldPath,
  { name = '', key }: { readonly name?: string | undefined; readonly key: string },
): FieldError[] {
  return [
    ...refused(at.child('name'), name, dns1123Subdomain(name)),
    ...validateRequired(at.child('key'), key, configMapKey),
  ];
}

function validateFileKeySelector(at: FieldPath, { key, volumeName, path }: FileKeySelector): FieldError[] {
  return [
    ...validateRequired(at.child('key'), key, relaxedEnvVarName),
    ...(volumeName ? validateDnsLabel(at.child('volumeName'), volumeName) : [required(at.child('volumeName'))]),
    ...(path ? validateNoBacksteps(at.child('path'), path) : [required(at.child('path'))]),
  ];
}

/** Upstream blames the whole list for a source too few or too many. */
export function validateEnvironmentFrom(at: FieldPath, sources: readonly EnvFromSource[]): FieldError[] {
  return sources.flatMap(({ prefix, configMapRef, secretRef }, index) => {
    const here = at.index(index);
    const errors = prefix ? refused(here.child('prefix'), prefix, relaxedEnvVarName(prefix)) : [];
    for (const [field, reference] of [
      ['configMapRef', configMapRef],
      ['secretRef', secretRef],
    ] as const) {
      if (!reference) continue;
      const nameAt = here.child(field, 'name');
      errors.push(...validateRequired(nameAt, reference.name, (name) => nameIsDnsSubdomain(name, true)));
    }
    if (!configMapRef && !secretRef) errors.push(invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (configMapRef && secretRef) {
      errors.push(invalid(at, '', 'may not have more than one field specified at a time'));
    }
    return errors;
  });
}

/**
 * CustomResourceDefinitions: names, versions, and which of them is stored. The list of versions that objects were ever stored in
 * only grows here. Schemas are judged by who serves the resources.
 */

import { withCondition } from '../../../apimachinery/conditions.ts';
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { dns1035Label, dns1123Subdomain } from '../../../apimachinery/names.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionNames,
  type CustomResourceDefinitionSpec,
  customResourceDefinitions,
} from '../../gen/apiextensions-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable, validateRequiredEnum } from '../../validation.ts';

export const customResourceDefinitionBehaviour: KindBehaviour<CustomResourceDefinition> = {
  resource: customResourceDefinitions,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(definition) {
    const spec = partOf(definition, 'spec');
    const names = partOf(spec, 'names');
    const kind = names.kind ?? '';
    if (kind !== '') {
      fillEmpty(names, 'singular', kind.toLowerCase());
      fillEmpty(names, 'listKind', `${kind}List`);
    }
    fillAbsent(spec, 'conversion', { strategy: 'None' });
    const service = spec.conversion?.webhook?.clientConfig?.service;
    if (service) fillAbsent(service, 'port', 443);
  },
  beginDeletion(definition, now) {
    const { metadata } = definition;
    metadata.finalizers = [
      ...(metadata.finalizers ?? []).filter((name) => name !== cleanupFinalizer),
      cleanupFinalizer,
    ];
    const status = partOf(definition, 'status');
    const condition = {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    };
    status.conditions = [...withCondition(status.conditions, condition, Date.parse(now))];
  },
  prepareForCreate: recordStoredVersion,
  prepareForUpdate: recordStoredVersion,
  validate,
  validateUpdate: (definition, previous) => [
    ...validate(definition),
    ...(['group', 'scope'] as const).flatMap((field) =>
      isEstablished(previous)
        ? validateImmutable(path('spec', field), definition.spec[field], previous.spec[field])
        : [],
    ),
    ...(['kind', 'plural'] as const).flatMap((field) =>
      isEstablished(previous)
        ? validateImmutable(path('spec', 'names', field), definition.spec.names[field], previous.spec.names[field])
        : [],
    ),
  ],
};

/** Keeps a definition in being until none of its objects is left. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True') ?? false;
}

function recordStoredVersion(definition: Draft<CustomResourceDefinition>): void {
  const stored = definition.spec.versions?.find(({ storage }) => storage)?.name;
  if (stored === undefined) return;
  const status = partOf(definition, 'status');
  const versions = status.storedVersions ?? [];
  if (!versions.includes(stored)) status.storedVersions = [...versions, stored];
}

function validate({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  const at = path('spec');
  const { group = '', names, scope } = spec;
  const errors: FieldError[] = [];
  if (metadata.name !== `${names.plural}.${group}`) {
    const message = 'must be spec.names.plural+"."+spec.group';
    errors.push(invalid(path('metadata', 'name'), metadata.name ?? '', message));
  }
  const messages = dns1123Subdomain(group);
  if (group === '') errors.push(required(at.child('group')));
  else if (messages.length > 0) errors.push(invalid(at.child('group'), group, messages.join(',')));
  else if (!group.includes('.')) {
    errors.push(invalid(at.child('group'), group, 'should be a domain with at least one dot'));
  }
  errors.push(...validateRequiredEnum(at.child('scope'), scope, ['Cluster', 'Namespaced']));
  return [...errors, ...validateVersions(at, spec), ...validateNames(at.child('names'), names)];
}

function validateVersions(at: FieldPath, spec: CustomResourceDefinitionSpec): FieldError[] {
  const { versions = [], preserveUnknownFields } = spec;
  const errors: FieldError[] = [];
  if (preserveUnknownFields) {
    const message =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    errors.push(invalid(at.child('preserveUnknownFields'), true, message));
  }
  for (const [index, { name, schema }] of versions.entries()) {
    const here = at.child('versions').index(index);
    const messages = dns1035Label(name ?? '');
    if (messages.length > 0) errors.push(invalid(here.child('name'), name ?? '', messages.join(',')));
    if (!schema?.openAPIV3Schema) {
      errors.push(required(here.child('schema').child('openAPIV3Schema'), 'schemas are required'));
    }
  }
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    errors.push(invalid(at.child('versions'), versions, 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(invalid(at.child('versions'), versions, 'must have exactly one version marked as storage version'));
  }
  return errors;
}

function validateNames(at: FieldPath, names: CustomResourceDefinitionNames): FieldError[] {
  const { kind = '', listKind = '', shortNames = [], categories = [] } = names;
  const errors: FieldError[] = [];
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) {
    if (!names[field]) errors.push(required(at.child(field)));
  }
  for (const field of ['plural', 'singular'] as const)
    errors.push(...validateWord(at.child(field), names[field] ?? ''));
  for (const [index, name] of shortNames.entries())
    errors.push(...validateWord(at.child('shortNames').index(index), name));
  for (const [field, value] of Object.entries({ kind, listKind })) {
    const messages = value === '' ? [] : dns1035Label(value.toLowerCase());
    const message = `may have mixed case, but should otherwise match: ${messages.join(',')}`;
    if (messages.length > 0) errors.push(invalid(at.child(field), value, message));
  }
  for (const [index, name] of categories.entries())
    errors.push(...validateWord(at.child('categories').index(index), name));
  if (kind !== '' && kind === listKind) {
    errors.push(invalid(at.child('listKind'), listKind, 'kind and listKind may not be the same'));
  }
  return errors;
}

function validateWord(at: FieldPath, word: string): FieldError[] {
  const messages = dns1035Label(word);
  return messages.length === 0 ? [] : [invalid(at, word, messages.join(','))];
}

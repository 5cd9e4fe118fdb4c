/**
 * The generic rules for metadata: what the server fills in, what it takes away, and what validation demands, for every kind alike.
 */
import { validateAnnotations } from '../../api/metadata-validation.ts';
import { refused } from '../../api/validation.ts';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
  tooLong,
} from '../../apimachinery/field-error.ts';
import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { validateLabels } from '../../apimachinery/labels.ts';
import type { Draft, KubeObject, ObjectMeta, OwnerReference } from '../../apimachinery/meta.ts';
import { dns1123Label, immutableMessage, nameIsDnsSubdomain, qualifiedName } from '../../apimachinery/names.ts';
import { badRequest } from '../../apimachinery/status.ts';
import { type Random, randomSuffix } from '../../base/random.ts';
import type { StoredKind } from '../served-resource.ts';
import { fieldManagerErrors } from './write-options.ts';

/** Finalizers of the garbage collector. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

const maxGeneratedBaseLength = 58;

/** Takes away what only the server may say. */
export function wipeSystemFields(metadata: Draft<ObjectMeta>): void {
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  metadata.uid = '';
}

export function fillSystemFields(metadata: Draft<ObjectMeta>, now: string, random: Random): void {
  metadata.creationTimestamp = now;
  metadata.uid = random.uuid();
}

export function generateName(base: string, random: Random): string {
  return base.slice(0, maxGeneratedBaseLength) + randomSuffix(random);
}

/** Object and URL must agree on the namespace; what the object leaves open the URL decides. Throws 400. */
export function settleNamespace(
  metadata: Draft<ObjectMeta>,
  kind: { readonly namespaced: boolean },
  namespace: string,
): void {
  if (!kind.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (!metadata.namespace) metadata.namespace = namespace;
  else if (metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** All errors of an object's metadata; what is the very same in `valid` is passed over. */
export function validateMetadata(
  kind: StoredKind,
  { metadata }: KubeObject,
  valid: Partial<ObjectMeta> = noMetadata,
): FieldError[] {
  const at = path('metadata');
  const rule = kind.behaviour.validateName ?? nameIsDnsSubdomain;
  const errors: FieldError[] = [];
  if (metadata.generateName) {
    errors.push(...refused(at.child('generateName'), metadata.generateName, rule(metadata.generateName, true)));
  }
  if (!metadata.name) errors.push(required(at.child('name'), 'name or generateName is required'));
  else errors.push(...refused(at.child('name'), metadata.name, rule(metadata.name, false)));
  errors.push(...validateNamespace(kind, metadata.namespace, at.child('namespace')));
  if ((metadata.generation ?? 0) < 0) {
    errors.push(invalid(at.child('generation'), metadata.generation, 'must be greater than or equal to 0'));
  }
  const { labels, annotations, ownerReferences, finalizers, managedFields } = metadata;
  if (labels !== valid.labels) errors.push(...validateLabels(labels, at.child('labels')));
  if (annotations !== valid.annotations) errors.push(...validateAnnotations(at.child('annotations'), annotations));
  if (ownerReferences && ownerReferences !== valid.ownerReferences)
    errors.push(...validateOwners(ownerReferences, at.child('ownerReferences')));
  if (finalizers && finalizers !== valid.finalizers)
    errors.push(...validateFinalizers(kind, finalizers, at.child('finalizers')));
  if (managedFields && managedFields !== valid.managedFields)
    errors.push(...validateManagers(managedFields, at.child('managedFields')));
  return errors;
}

const noMetadata: Partial<ObjectMeta> = {};

/** What may not change, on top of `validateMetadata`. */
export function validateMetadataUpdate(
  kind: StoredKind,
  next: KubeObject,
  previous: KubeObject,
  isPreviousValid: boolean,
): FieldError[] {
  const at = path('metadata');
  const { metadata } = next;
  const old = previous.metadata;
  const errors: FieldError[] = [];
  if (old.deletionTimestamp) {
    const added = (metadata.finalizers ?? []).filter((finalizer) => !old.finalizers?.includes(finalizer));
    if (added.length > 0) {
      const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map(quote).join(', ')}}`;
      errors.push(forbidden(at.child('finalizers'), detail));
    }
  }
  if ((metadata.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalid(at.child('generation'), metadata.generation ?? 0, 'must not be decremented'));
  }
  const immutable = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const;
  for (const field of immutable) {
    if ((metadata[field] ?? null) === (old[field] ?? null)) continue;
    errors.push(invalid(at.child(field), metadata[field] ?? null, immutableMessage));
  }
  return [...errors, ...validateMetadata(kind, next, isPreviousValid ? old : noMetadata)];
}

function validateNamespace(kind: StoredKind, namespace: string | undefined, at: FieldPath): FieldError[] {
  if (!kind.namespaced) return namespace ? [forbidden(at, 'not allowed on this type')] : [];
  return namespace ? refused(at, namespace, dns1123Label(namespace)) : [required(at)];
}

function validateOwners(owners: readonly OwnerReference[], at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  let controller: OwnerReference | undefined;
  // As upstream: without saying which of them.
  owners.forEach((owner) => {
    const parts = owner.apiVersion.split('/');
    const [version = '', group = ''] = parts.length > 2 ? [] : parts.reverse();
    if (version === '') errors.push(invalid(at.child('apiVersion'), owner.apiVersion, 'version must not be empty'));
    if (!owner.kind) errors.push(invalid(at.child('kind'), owner.kind, 'must not be empty'));
    if (!owner.name) errors.push(invalid(at.child('name'), owner.name, 'must not be empty'));
    if (!owner.uid) errors.push(invalid(at.child('uid'), owner.uid, 'must not be empty'));
    if (group === '' && version === 'v1' && owner.kind === 'Event') {
      errors.push(invalid(at, owner, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (!owner.controller) return;
    if (controller) {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller.kind}/${controller.name} and ${owner.kind}/${owner.name}`;
      errors.push(invalid(at, owners, detail));
    }
    controller ??= owner;
  });
  return errors;
}

const longestSubresource = 256;

function validateManagers(entries: readonly ManagedFieldsEntry[], at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  entries.forEach(({ operation = '', fieldsType, manager = '', subresource = '' }, index) => {
    const here = at.index(index);
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.push(invalid(here.child('operation'), operation, 'must be `Apply` or `Update`'));
    }
    if (fieldsType && fieldsType !== 'FieldsV1') {
      errors.push(invalid(here.child('fieldsType'), fieldsType, 'must be `FieldsV1`'));
    }
    errors.push(...fieldManagerErrors(manager, here.child('manager')));
    if (subresource.length > longestSubresource) errors.push(tooLong(here.child('subresource'), longestSubresource));
  });
  return errors;
}

/** Kinds for which upstream has no stricter rule than for names of any kind. */
function freelyFinalized({ custom, hub }: StoredKind): boolean {
  return custom || freelyFinalizedGroups.has(hub.group);
}

const freelyFinalizedGroups: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
]);

/** Finalizers without a domain. */
export const plainFinalizers: readonly string[] = ['kubernetes', orphanFinalizer, foregroundFinalizer];

function validateFinalizers(kind: StoredKind, finalizers: readonly string[], at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  finalizers.forEach((finalizer, index) => {
    const messages = qualifiedName(finalizer);
    errors.push(...refused(at.index(index), finalizer, messages));
    if (
      !freelyFinalized(kind) &&
      messages.length === 0 &&
      !finalizer.includes('/') &&
      !plainFinalizers.includes(finalizer)
    ) {
      errors.push(
        invalid(at.index(index), finalizer, 'name is neither a standard finalizer name nor is it fully qualified'),
      );
    }
  });
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = 'finalizer orphan and foregroundDeletion cannot be both set';
    errors.push(invalid(at, finalizers, detail));
  }
  return errors;
}

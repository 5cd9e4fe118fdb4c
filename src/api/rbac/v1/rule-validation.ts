/** Rules and subjects, as roles and bindings of both scopes have them. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { dns1123Subdomain, pathSegmentName } from '../../../apimachinery/names.ts';
import { fillEmpty } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { PolicyRule, RoleRef, Subject } from '../../gen/rbac-v1.ts';
import { refused, shown } from '../../validation.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export function validateRules(
  rules: readonly PolicyRule[] | undefined,
  scope: { readonly namespaced: boolean },
): FieldError[] {
  return (rules ?? []).flatMap((rule, index) => validateRule(path('rules').index(index), rule, scope.namespaced));
}

function validateRule(at: FieldPath, rule: PolicyRule, namespaced: boolean): FieldError[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors = verbs?.length ? [] : [required(at.child('verbs'), 'verbs must contain at least one value')];
  if (nonResourceURLs.length > 0) {
    const here = at.child('nonResourceURLs');
    if (namespaced) {
      errors.push(invalid(here, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
    }
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      const message = 'rules cannot apply to both regular resources and non-resource URLs';
      errors.push(invalid(here, nonResourceURLs, message));
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(required(at.child('apiGroups'), 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(required(at.child('resources'), 'resource rules must supply at least one resource'));
  }
  return errors;
}

interface AnyBinding {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[] | undefined;
}

export function defaultBinding(binding: Draft<AnyBinding>): void {
  binding.roleRef ??= { apiGroup: '', kind: '', name: '' };
  fillEmpty(binding.roleRef, 'apiGroup', rbacGroup);
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') fillEmpty(subject, 'apiGroup', rbacGroup);
  }
}

export function validateBinding(
  { roleRef, subjects = [] }: AnyBinding,
  scope: { readonly namespaced: boolean },
): FieldError[] {
  const at = path('roleRef');
  const errors: FieldError[] = [];
  if (roleRef.apiGroup !== rbacGroup) {
    errors.push(notSupported(at.child('apiGroup'), roleRef.apiGroup ?? '', [rbacGroup]));
  }
  const kinds = scope.namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (!kinds.includes(roleRef.kind)) errors.push(notSupported(at.child('kind'), roleRef.kind ?? '', kinds));
  if (!roleRef.name) errors.push(required(at.child('name')));
  else errors.push(...refused(at.child('name'), roleRef.name, pathSegmentName(roleRef.name)));
  const subjectErrors = subjects.flatMap((subject, index) =>
    validateSubject(path('subjects').index(index), subject, scope.namespaced),
  );
  return [...errors, ...subjectErrors];
}

/** What a binding grants is what people approved; granting something else takes a new binding. */
export function validateSameRole(next: AnyBinding, previous: AnyBinding): FieldError[] {
  if (semanticallyEqual(next.roleRef, previous.roleRef)) return [];
  const { apiGroup, kind, name } = next.roleRef;
  return [invalid(path('roleRef'), shown({ APIGroup: apiGroup, Kind: kind, Name: name }), 'cannot change roleRef')];
}

function validateSubject(at: FieldPath, subject: Subject, namespaced: boolean): FieldError[] {
  const { kind, name, apiGroup = '', namespace } = subject;
  const errors = name ? [] : [required(at.child('name'))];
  if (kind === 'ServiceAccount') {
    if (name) errors.push(...refused(at.child('name'), name, dns1123Subdomain(name)));
    if (apiGroup) errors.push(notSupported(at.child('apiGroup'), apiGroup, ['']));
    if (!namespaced && !namespace) errors.push(required(at.child('namespace')));
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== rbacGroup) errors.push(notSupported(at.child('apiGroup'), apiGroup, [rbacGroup]));
  } else errors.push(notSupported(at.child('kind'), kind ?? '', ['ServiceAccount', 'User', 'Group']));
  return errors;
}

/**
 * Which RBAC rules hold for whom: bindings, indexed by subject, lead to roles, and roles to rules. Reads informers only; the answer
 * is as current as they are. Aggregated ClusterRoles are taken as stored (a controller fills them in).
 */
import {
  type ClusterRoleBinding,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  type RoleBinding,
  type RoleRef,
  roleBindings,
  roles,
  type Subject,
} from '../../api/gen/rbac-v1.ts';
import { aggregate, quote } from '../../apimachinery/go-text.ts';
import { notFound } from '../../apimachinery/status.ts';
import type { Informer, InformerSet } from '../../reconcile/informer.ts';
import type { UserInfo } from '../request.ts';

type Binding = ClusterRoleBinding | RoleBinding;

/** Called for each rule; true ends the visit. `source()` tells which binding gave it, in upstream's words. */
export type RuleVisitor = (rule: PolicyRule, source: () => string) => boolean;

export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** Bindings that could not be followed, e.g. to a role that is not there. */
  readonly errors: readonly string[];
}

const bySubject = 'rbac-subject';
const rbacGroup = 'rbac.authorization.k8s.io';

export class RuleResolver {
  readonly #clusterRoles;
  readonly #roles;
  readonly #clusterBindings: Informer<ClusterRoleBinding>;
  readonly #bindings: Informer<RoleBinding>;

  constructor(informers: InformerSet) {
    this.#clusterRoles = informers.of(clusterRoles);
    this.#roles = informers.of(roles);
    this.#clusterBindings = informers.of(clusterRoleBindings);
    this.#bindings = informers.of(roleBindings);
    this.#clusterBindings.addIndex(bySubject, (binding) => subjectKeys(binding.subjects, ''));
    this.#bindings.addIndex(bySubject, (binding) => {
      const namespace = binding.metadata.namespace ?? '';
      return subjectKeys(binding.subjects, namespace).map((key) => `${namespace}|${key}`);
    });
  }

  /** Whether the state of the cluster is known; before that every answer is "no rules". */
  get synced(): boolean {
    return [this.#clusterRoles, this.#roles, this.#clusterBindings, this.#bindings].every(
      (informer) => informer.synced,
    );
  }

  /** Visits the user's rules, cluster-wide ones first; returns the errors met on the way. */
  visit(user: UserInfo, namespace: string, visitor: RuleVisitor): readonly string[] {
    const errors: string[] = [];
    const keys = userKeys(user);
    for (const key of keys) {
      for (const binding of this.#clusterBindings.byIndex(bySubject, key)) {
        if (this.#visitBinding(binding, '', user, visitor, errors)) return errors;
      }
    }
    if (namespace === '') return errors;
    for (const key of keys) {
      for (const binding of this.#bindings.byIndex(bySubject, `${namespace}|${key}`)) {
        if (this.#visitBinding(binding, namespace, user, visitor, errors)) return errors;
      }
    }
    return errors;
  }

  rulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const rules: PolicyRule[] = [];
    const errors = this.visit(user, namespace, (rule) => {
      rules.push(rule);
      return false;
    });
    return { rules, errors };
  }

  /** The rules behind a binding's roleRef. Throws `NotFound` for a role that is not there. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] {
    const { kind, name } = roleRef;
    if (kind !== 'Role' && kind !== 'ClusterRole') throw new Error(`unsupported role reference kind: ${quote(kind)}`);
    const role = kind === 'Role' ? this.#roles.get(`${namespace}/${name}`) : this.#clusterRoles.get(name);
    // Upstream's listers name the resource in the singular here.
    if (!role) throw notFound({ group: rbacGroup, resource: kind.toLowerCase() }, name);
    return role.rules ?? [];
  }

  #visitBinding(binding: Binding, namespace: string, user: UserInfo, visitor: RuleVisitor, errors: string[]): boolean {
    let rules: readonly PolicyRule[];
    try {
      rules = this.rulesOf(binding.roleRef, namespace);
    } catch (error) {
      errors.push((error as Error).message);
      return false;
    }
    const source = () => bindingText(binding, user);
    return rules.some((rule) => visitor(rule, source));
  }
}

/** Several errors as one text, as upstream's aggregates print. */
export function errorsText(errors: readonly string[]): string {
  return aggregate(errors);
}

/** The index keys under which bindings name this user. */
function userKeys(user: UserInfo): string[] {
  const keys = [`User:${user.name}`, ...user.groups.map((group) => `Group:${group}`)];
  if (user.name.startsWith('system:serviceaccount:'))
    keys.push(`ServiceAccount:${user.name.slice('system:serviceaccount:'.length)}`);
  return keys;
}

function subjectKeys(subjects: readonly Subject[] | undefined, bindingNamespace: string): string[] {
  return (subjects ?? []).map((subject) => subjectKey(subject, bindingNamespace));
}

function subjectKey(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind}:${subject.name}`;
  return `ServiceAccount:${subject.namespace || bindingNamespace}:${subject.name}`;
}

/** `RoleBinding "name/namespace" of ClusterRole "view" to ServiceAccount "name/namespace"`: upstream's order of the two is this. */
function bindingText(binding: Binding, user: UserInfo): string {
  const namespace = binding.metadata.namespace ?? '';
  const keys = new Set(userKeys(user));
  const subject = (binding.subjects ?? []).find((candidate) => keys.has(subjectKey(candidate, namespace)));
  const name = namespace === '' ? (binding.metadata.name ?? '') : `${binding.metadata.name}/${namespace}`;
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const to = subject ? subjectText(subject, namespace) : '';
  return `${kind} ${quote(name)} of ${binding.roleRef.kind} ${quote(binding.roleRef.name)} to ${to}`;
}

function subjectText(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${quote(subject.name)}`;
  return `ServiceAccount ${quote(`${subject.name}/${subject.namespace || bindingNamespace}`)}`;
}

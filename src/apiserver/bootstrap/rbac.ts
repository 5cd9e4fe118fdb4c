/**
 * The roles and bindings that the system stands on. At each start missing rules and subjects are added to what is there, so that a new
 * release's rights arrive; what an administrator added stays, and an object annotated `rbac.authorization.kubernetes.io/autoupdate:
 * "false"` is left alone.
 */

import { semanticallyEqual } from '../../api/equality.ts';
import {
  type ClusterRole,
  type ClusterRoleBinding,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  type Role,
  type RoleBinding,
  roleBindings,
  roles,
  type Subject,
} from '../../api/gen/rbac-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import type { Client } from '../../client/client.ts';
import { uncoveredRules } from '../authorization/policy-rules.ts';
import type { RbacObjects } from './bootstrap-data.ts';
import { createOnce, ensureObjects } from './ensure.ts';

const autoupdate = 'rbac.authorization.kubernetes.io/autoupdate';

export type FeatureGates = Readonly<Record<string, boolean>>;

/** `gates`: as given. */
export async function ensureRbac(client: Client, objects: RbacObjects, gates: FeatureGates = {}): Promise<void> {
  const added = objects.gated.filter((one) => one.gates.every((gate) => gates[gate] === true));
  const rules = objects.gatedRules.filter(({ gate }) => gates[gate] === true);
  const known = objects.clusterRoles.map((role) => withRules(role, rules));
  const allRoles = [...known, ...added.map(({ clusterRole }) => clusterRole)];
  const allBindings = [...objects.clusterRoleBindings, ...added.map((one) => one.clusterRoleBinding)];
  await Promise.all([
    ensureObjects<ClusterRole>(client, clusterRoles, withAggregatedRules(allRoles), {
      update: updatedRole,
    }),
    ensureObjects<Role>(client, roles, objects.roles, { update: updatedRole }),
    ensureBindings<ClusterRoleBinding>(client, clusterRoleBindings, allBindings),
    ensureBindings<RoleBinding>(client, roleBindings, objects.roleBindings),
  ]);
}

function withRules(role: ClusterRole, gated: RbacObjects['gatedRules']): ClusterRole {
  const rules = gated.filter(({ clusterRole }) => clusterRole === role.metadata.name).flatMap((one) => one.rules);
  return rules.length === 0 ? role : { ...role, rules: [...(role.rules ?? []), ...rules] };
}

function ensureBindings<T extends ClusterRoleBinding | RoleBinding>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
) {
  return ensureObjects<T>(client, type, wanted, {
    async update(present, binding) {
      if (isLeftAlone(present)) return undefined;
      if (!semanticallyEqual(present.roleRef, binding.roleRef)) {
        // A binding cannot be pointed at another role; it is made anew.
        const { namespace, name = '' } = present.metadata;
        await client.delete(type, { namespace, name });
        await createOnce(client, type, binding);
        return undefined;
      }
      const missing = (binding.subjects ?? []).filter(
        (subject) => !(present.subjects ?? []).some((other) => sameSubject(other, subject)),
      );
      const metadata = completedMetadata(present, binding);
      if (missing.length === 0 && metadata === present.metadata) return undefined;
      return { ...present, metadata, subjects: [...(present.subjects ?? []), ...missing] };
    },
  });
}

function updatedRole<T extends Role | ClusterRole>(present: T, wanted: T): T | undefined {
  if (isLeftAlone(present)) return undefined;
  const metadata = completedMetadata(present, wanted);
  // What an aggregated role holds is the aggregation controller's.
  const missing = 'aggregationRule' in wanted ? [] : uncoveredRules(present.rules ?? [], wanted.rules ?? []);
  if (missing.length === 0 && metadata === present.metadata) return undefined;
  return { ...present, metadata, rules: [...(present.rules ?? []), ...missing] };
}

function isLeftAlone(object: KubeObject): boolean {
  return object.metadata.annotations?.[autoupdate] === 'false';
}

/** The same metadata when no label or annotation is missing; values that were changed stay. */
function completedMetadata(present: KubeObject, wanted: KubeObject): KubeObject['metadata'] {
  const labels = { ...wanted.metadata.labels, ...present.metadata.labels };
  const annotations = { ...wanted.metadata.annotations, ...present.metadata.annotations };
  if (
    semanticallyEqual(labels, present.metadata.labels) &&
    semanticallyEqual(annotations, present.metadata.annotations)
  ) {
    return present.metadata;
  }
  return { ...present.metadata, labels, annotations };
}

function sameSubject(a: Subject, b: Subject): boolean {
  return a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');
}

/**
 * `admin`, `edit` and `view` with the rules that aggregation will give them, so that they hold from the first moment and not only when
 * a controller has run. Roles that aggregate others are filled after those.
 */
function withAggregatedRules(all: readonly ClusterRole[]): readonly ClusterRole[] {
  const rulesOf = (role: ClusterRole): readonly PolicyRule[] => {
    const selectors = role.aggregationRule?.clusterRoleSelectors;
    if (!selectors) return role.rules ?? [];
    const matchers = selectors.map(labelMatcherOf);
    const rules = all
      .filter((other) => other !== role && matchers.some((matcher) => matcher.matches(other.metadata.labels ?? {})))
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .flatMap(rulesOf);
    return rules.filter((rule, i) => rules.findIndex((other) => semanticallyEqual(rule, other)) === i);
  };
  return all.map((role) => (role.aggregationRule ? { ...role, rules: rulesOf(role) } : role));
}

/**
 * Fills ClusterRoles that have an aggregation rule with the rules of all ClusterRoles that it selects: how `admin`, `edit` and
 * `view` come to know about resources that others add.
 */
import { type ClusterRole, clusterRoles, type PolicyRule } from '../../api/gen/rbac-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { equalOnWire } from '../common/wire-equality.ts';

export async function runClusterRoleAggregationController(context: ComponentContext): Promise<void> {
  const all = context.informers.of(clusterRoles);
  const controller = createController(context, {
    name: 'clusterrole-aggregation-controller',
    queue: 'ClusterRoleAggregator',
    workers: 5,
    waitFor: [all],
    async reconcile(name: string) {
      const role = all.get(name);
      if (!role?.aggregationRule) return;
      const rules = planRules(role, all.list());
      if (!equalOnWire(rules, role.rules)) await context.client.update(clusterRoles, { ...role, rules });
    },
  });
  // Any role may be part of any aggregate.
  controller.watchMapped(all, () =>
    all
      .list()
      .filter(({ aggregationRule }) => aggregationRule)
      .map(({ metadata }) => metadata.name ?? ''),
  );
  await controller.run();
}

/** Rules of the selected roles in the order of their names, each once. */
function planRules(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] {
  const sorted = [...all].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const matcher = labelMatcherOf(selector);
    for (const { metadata, rules: own } of sorted) {
      if (metadata.name === role.metadata.name || !matcher.matches(metadata.labels)) continue;
      for (const rule of own ?? []) {
        const key = JSON.stringify([
          rule.verbs,
          rule.apiGroups,
          rule.resources,
          rule.resourceNames,
          rule.nonResourceURLs,
        ]);
        if (!rules.has(key)) rules.set(key, rule);
      }
    }
  }
  return [...rules.values()];
}

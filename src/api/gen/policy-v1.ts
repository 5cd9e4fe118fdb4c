/** Types of policy/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type UnhealthyPodEvictionPolicyType = 'IfHealthyBudget' | 'AlwaysAllow';

export interface Eviction {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly deleteOptions?: metaV1.DeleteOptions | undefined;
}

export interface PodDisruptionBudget {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: PodDisruptionBudgetSpec;
  readonly status?: PodDisruptionBudgetStatus | undefined;
}

export interface PodDisruptionBudgetList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PodDisruptionBudget[];
}

export interface PodDisruptionBudgetSpec {
  readonly minAvailable?: number | string | undefined;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly maxUnavailable?: number | string | undefined;
  readonly unhealthyPodEvictionPolicy?: UnhealthyPodEvictionPolicyType | undefined;
}

export interface PodDisruptionBudgetStatus {
  readonly observedGeneration?: number | undefined;
  readonly disruptedPods?: Readonly<Record<string, string>> | undefined;
  readonly disruptionsAllowed?: number | undefined;
  readonly currentHealthy?: number | undefined;
  readonly desiredHealthy?: number | undefined;
  readonly expectedPods?: number | undefined;
  readonly conditions?: readonly metaV1.Condition[] | undefined;
}

export const podDisruptionBudgets: ResourceType<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  resource: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

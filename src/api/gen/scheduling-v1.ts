/** Types of scheduling/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface PriorityClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly value?: number | undefined;
  readonly globalDefault?: boolean | undefined;
  readonly description?: string | undefined;
  readonly preemptionPolicy?: coreV1.PreemptionPolicy | undefined;
}

export interface PriorityClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PriorityClass[];
}

export const priorityClasses: ResourceType<PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  resource: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

/** Types of node/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface Overhead {
  readonly podFixed?: Readonly<Record<string, string>> | undefined;
}

export interface RuntimeClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly handler: string;
  readonly overhead?: Overhead | undefined;
  readonly scheduling?: Scheduling | undefined;
}

export interface RuntimeClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly RuntimeClass[];
}

export interface Scheduling {
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly tolerations?: readonly coreV1.Toleration[] | undefined;
}

export const runtimeClasses: ResourceType<RuntimeClass> = {
  group: 'node.k8s.io',
  version: 'v1',
  resource: 'runtimeclasses',
  kind: 'RuntimeClass',
  namespaced: false,
  singular: 'runtimeclass',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

/** Types of metrics/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface ContainerMetrics {
  readonly name: string;
  readonly usage: Readonly<Record<string, string>>;
}

export interface NodeMetrics {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly timestamp: string;
  readonly window: string;
  readonly usage: Readonly<Record<string, string>>;
}

export interface NodeMetricsList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly NodeMetrics[];
}

export interface PodMetrics {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly timestamp: string;
  readonly window: string;
  readonly containers: readonly ContainerMetrics[];
}

export interface PodMetricsList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly PodMetrics[];
}

export const nodeMetrics: ResourceType<NodeMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'nodes',
  kind: 'NodeMetrics',
  namespaced: false,
  singular: '',
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  subresources: [],
};

export const podMetrics: ResourceType<PodMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
  singular: '',
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  subresources: [],
};

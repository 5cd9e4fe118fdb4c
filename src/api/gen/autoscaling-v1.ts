/** Types of autoscaling/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export type MetricSourceType = 'Object' | 'Pods' | 'Resource' | 'ContainerResource' | 'External';

export interface ContainerResourceMetricSource {
  readonly name: string;
  readonly targetAverageUtilization?: number | undefined;
  readonly targetAverageValue?: string | undefined;
  readonly container: string;
}

export interface ContainerResourceMetricStatus {
  readonly name: string;
  readonly currentAverageUtilization?: number | undefined;
  readonly currentAverageValue: string;
  readonly container: string;
}

export interface CrossVersionObjectReference {
  readonly kind: string;
  readonly name: string;
  readonly apiVersion?: string | undefined;
}

export interface ExternalMetricSource {
  readonly metricName: string;
  readonly metricSelector?: metaV1.LabelSelector | undefined;
  readonly targetValue?: string | undefined;
  readonly targetAverageValue?: string | undefined;
}

export interface ExternalMetricStatus {
  readonly metricName: string;
  readonly metricSelector?: metaV1.LabelSelector | undefined;
  readonly currentValue: string;
  readonly currentAverageValue?: string | undefined;
}

export interface HorizontalPodAutoscaler {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: HorizontalPodAutoscalerSpec;
  readonly status?: HorizontalPodAutoscalerStatus | undefined;
}

export interface HorizontalPodAutoscalerCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface HorizontalPodAutoscalerList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly HorizontalPodAutoscaler[];
}

export interface HorizontalPodAutoscalerSpec {
  readonly scaleTargetRef: CrossVersionObjectReference;
  readonly minReplicas?: number | undefined;
  readonly maxReplicas: number;
  readonly targetCPUUtilizationPercentage?: number | undefined;
}

export interface HorizontalPodAutoscalerStatus {
  readonly observedGeneration?: number | undefined;
  readonly lastScaleTime?: string | undefined;
  readonly currentReplicas: number;
  readonly desiredReplicas: number;
  readonly currentCPUUtilizationPercentage?: number | undefined;
}

export interface MetricSpec {
  readonly type: MetricSourceType;
  readonly object?: ObjectMetricSource | undefined;
  readonly pods?: PodsMetricSource | undefined;
  readonly resource?: ResourceMetricSource | undefined;
  readonly containerResource?: ContainerResourceMetricSource | undefined;
  readonly external?: ExternalMetricSource | undefined;
}

export interface MetricStatus {
  readonly type: MetricSourceType;
  readonly object?: ObjectMetricStatus | undefined;
  readonly pods?: PodsMetricStatus | undefined;
  readonly resource?: ResourceMetricStatus | undefined;
  readonly containerResource?: ContainerResourceMetricStatus | undefined;
  readonly external?: ExternalMetricStatus | undefined;
}

export interface ObjectMetricSource {
  readonly target: CrossVersionObjectReference;
  readonly metricName: string;
  readonly targetValue: string;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly averageValue?: string | undefined;
}

export interface ObjectMetricStatus {
  readonly target: CrossVersionObjectReference;
  readonly metricName: string;
  readonly currentValue: string;
  readonly selector?: metaV1.LabelSelector | undefined;
  readonly averageValue?: string | undefined;
}

export interface PodsMetricSource {
  readonly metricName: string;
  readonly targetAverageValue: string;
  readonly selector?: metaV1.LabelSelector | undefined;
}

export interface PodsMetricStatus {
  readonly metricName: string;
  readonly currentAverageValue: string;
  readonly selector?: metaV1.LabelSelector | undefined;
}

export interface ResourceMetricSource {
  readonly name: string;
  readonly targetAverageUtilization?: number | undefined;
  readonly targetAverageValue?: string | undefined;
}

export interface ResourceMetricStatus {
  readonly name: string;
  readonly currentAverageUtilization?: number | undefined;
  readonly currentAverageValue: string;
}

export interface Scale {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: ScaleSpec;
  readonly status?: ScaleStatus | undefined;
}

export interface ScaleSpec {
  readonly replicas?: number | undefined;
}

export interface ScaleStatus {
  readonly replicas: number;
  readonly selector?: string | undefined;
}

export const horizontalPodAutoscalers: ResourceType<HorizontalPodAutoscaler> = {
  group: 'autoscaling',
  version: 'v1',
  resource: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};

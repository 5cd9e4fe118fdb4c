/**
 * HorizontalPodAutoscalers are kept as `autoscaling/v2`. Version 1 knows only a target for CPU use; everything else it carries
 * in annotations (`autoscaling.alpha.kubernetes.io/...`), as JSON in v1's own words, so that a client of v1 loses nothing when
 * it reads and writes.
 */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { Conversion } from '../conversion.ts';
import type * as v1 from '../gen/autoscaling-v1.ts';
import type * as v2 from '../gen/autoscaling-v2.ts';

const annotation = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
} as const;

export const horizontalPodAutoscalerConversion: Conversion = {
  identity: false,
  toHub: (object) => toV2(object as Draft<v1.HorizontalPodAutoscaler>) as Draft<KubeObject>,
  fromHub: (object) => toV1(object as v2.HorizontalPodAutoscaler),
};

function toV1(source: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler {
  const { metrics = [], behavior, ...spec } = source.spec;
  const { currentMetrics = [], conditions, ...status } = source.status ?? { desiredReplicas: 0 };
  const target = metrics.find(isCpuUse);
  const current = currentMetrics.find((metric) => metric.type === 'Resource' && metric.resource?.name === 'cpu');
  const notes: Record<string, string> = { ...source.metadata.annotations };
  const others = metrics.filter((metric) => metric !== target);
  if (others.length > 0) notes[annotation.metrics] = JSON.stringify(others.map(metricToV1));
  if (behavior) notes[annotation.behavior] = JSON.stringify(behavior);
  if (conditions?.length) notes[annotation.conditions] = JSON.stringify(conditions);
  if (currentMetrics.length > 0) notes[annotation.currentMetrics] = JSON.stringify(currentMetrics.map(statusToV1));
  const use = target?.resource?.target.averageUtilization;
  const currentUse = current?.resource?.current.averageUtilization;
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata: { ...source.metadata, ...(Object.keys(notes).length > 0 ? { annotations: notes } : {}) },
    spec: { ...spec, ...(use === undefined ? {} : { targetCPUUtilizationPercentage: use }) },
    status: {
      ...status,
      currentReplicas: status.currentReplicas ?? 0,
      ...(currentUse === undefined ? {} : { currentCPUUtilizationPercentage: currentUse }),
    },
  };
}

function toV2(source: Draft<v1.HorizontalPodAutoscaler>): Draft<v2.HorizontalPodAutoscaler> {
  const notes: Record<string, string> = { ...source.metadata.annotations };
  const take = <T>(name: string): T | undefined => {
    const text = notes[name];
    delete notes[name];
    return text === undefined ? undefined : parse<T>(text);
  };
  const metrics = (take<v1.MetricSpec[]>(annotation.metrics) ?? []).map(metricToV2);
  const behavior = take<Draft<v2.HorizontalPodAutoscalerBehavior>>(annotation.behavior);
  const conditions = take<Draft<v2.HorizontalPodAutoscalerCondition>[]>(annotation.conditions);
  const currentMetrics = take<v1.MetricStatus[]>(annotation.currentMetrics)?.map(statusToV2);
  const { targetCPUUtilizationPercentage: use, ...spec } = source.spec;
  if (use !== undefined && use !== null) {
    metrics.unshift({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: use } },
    });
  }
  const { currentCPUUtilizationPercentage: _, ...status } = source.status ?? { currentReplicas: 0, desiredReplicas: 0 };
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { ...source.metadata, annotations: notes },
    spec: {
      ...spec,
      ...(metrics.length > 0 ? { metrics: metrics as Draft<v2.MetricSpec>[] } : {}),
      ...(behavior ? { behavior } : {}),
    },
    status: {
      ...status,
      ...(currentMetrics ? { currentMetrics: currentMetrics as Draft<v2.MetricStatus>[] } : {}),
      ...(conditions ? { conditions } : {}),
    },
  };
}

function isCpuUse(metric: v2.MetricSpec): boolean {
  return (
    metric.type === 'Resource' &&
    metric.resource?.name === 'cpu' &&
    metric.resource.target.averageUtilization !== undefined
  );
}

/** An annotation that a person broke says nothing. */
function parse<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

function metricToV1(metric: v2.MetricSpec): v1.MetricSpec {
  const { object, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type as v1.MetricSourceType,
    ...(object && {
      object: {
        target: object.describedObject,
        metricName: object.metric.name,
        targetValue: object.target.value ?? '0',
        ...selectorOf(object.metric),
        ...(object.target.averageValue === undefined ? {} : { averageValue: object.target.averageValue }),
      },
    }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? '0',
        ...selectorOf(pods.metric),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...averageTargets(resource.target) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        ...averageTargets(containerResource.target),
      },
    }),
    ...(external && {
      external: {
        metricName: external.metric.name,
        ...(external.metric.selector ? { metricSelector: external.metric.selector } : {}),
        ...(external.target.value === undefined ? {} : { targetValue: external.target.value }),
        ...(external.target.averageValue === undefined ? {} : { targetAverageValue: external.target.averageValue }),
      },
    }),
  };
}

function metricToV2(metric: v1.MetricSpec): v2.MetricSpec {
  const { object, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type,
    ...(object && {
      object: {
        describedObject: object.target,
        metric: { name: object.metricName, ...selectorOf(object) },
        target: targetOf(object.averageValue === undefined ? object.targetValue : undefined, object.averageValue),
      },
    }),
    ...(pods && {
      pods: {
        metric: { name: pods.metricName, ...selectorOf(pods) },
        target: targetOf(undefined, pods.targetAverageValue),
      },
    }),
    ...(resource && {
      resource: {
        name: resource.name,
        target: targetOf(undefined, resource.targetAverageValue, resource.targetAverageUtilization),
      },
    }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        target: targetOf(undefined, containerResource.targetAverageValue, containerResource.targetAverageUtilization),
      },
    }),
    ...(external && {
      external: {
        metric: {
          name: external.metricName,
          ...(external.metricSelector ? { selector: external.metricSelector } : {}),
        },
        target: targetOf(external.targetValue, external.targetAverageValue),
      },
    }),
  };
}

function statusToV1(metric: v2.MetricStatus): v1.MetricStatus {
  const { object, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type as v1.MetricSourceType,
    ...(object && {
      object: {
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? '0',
        ...selectorOf(object.metric),
        ...(object.current.averageValue === undefined ? {} : { averageValue: object.current.averageValue }),
      },
    }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? '0',
        ...selectorOf(pods.metric),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...averageValues(resource.current) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        ...averageValues(containerResource.current),
      },
    }),
    ...(external && {
      external: {
        metricName: external.metric.name,
        ...(external.metric.selector ? { metricSelector: external.metric.selector } : {}),
        currentValue: external.current.value ?? '0',
        ...(external.current.averageValue === undefined ? {} : { currentAverageValue: external.current.averageValue }),
      },
    }),
  };
}

function statusToV2(metric: v1.MetricStatus): v2.MetricStatus {
  const { object, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type,
    ...(object && {
      object: {
        describedObject: object.target,
        metric: { name: object.metricName, ...selectorOf(object) },
        current: metricValue(object.currentValue, object.averageValue),
      },
    }),
    ...(pods && {
      pods: {
        metric: { name: pods.metricName, ...selectorOf(pods) },
        current: metricValue(undefined, pods.currentAverageValue),
      },
    }),
    ...(resource && {
      resource: {
        name: resource.name,
        current: metricValue(undefined, resource.currentAverageValue, resource.currentAverageUtilization),
      },
    }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        container: containerResource.container,
        current: metricValue(
          undefined,
          containerResource.currentAverageValue,
          containerResource.currentAverageUtilization,
        ),
      },
    }),
    ...(external && {
      external: {
        metric: {
          name: external.metricName,
          ...(external.metricSelector ? { selector: external.metricSelector } : {}),
        },
        current: metricValue(external.currentValue, external.currentAverageValue),
      },
    }),
  };
}

function selectorOf(source: { readonly selector?: v2.MetricIdentifier['selector'] }) {
  return source.selector ? { selector: source.selector } : {};
}

function averageTargets(target: v2.MetricTarget) {
  return {
    ...(target.averageUtilization === undefined ? {} : { targetAverageUtilization: target.averageUtilization }),
    ...(target.averageValue === undefined ? {} : { targetAverageValue: target.averageValue }),
  };
}

function averageValues(current: v2.MetricValueStatus) {
  return {
    ...(current.averageUtilization === undefined ? {} : { currentAverageUtilization: current.averageUtilization }),
    currentAverageValue: current.averageValue ?? '0',
  };
}

function targetOf(value?: string, averageValue?: string, averageUtilization?: number): v2.MetricTarget {
  const type = averageUtilization !== undefined ? 'Utilization' : averageValue !== undefined ? 'AverageValue' : 'Value';
  return { type, ...metricValue(value, averageValue, averageUtilization) };
}

function metricValue(value?: string, averageValue?: string, averageUtilization?: number): v2.MetricValueStatus {
  return {
    ...(value === undefined ? {} : { value }),
    ...(averageValue === undefined ? {} : { averageValue }),
    ...(averageUtilization === undefined ? {} : { averageUtilization }),
  };
}

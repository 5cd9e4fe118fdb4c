/**
 * What each metric of an autoscaler calls for: reads the resource, custom and external metrics APIs and applies `recommend.ts`. Throws
 * a `MetricFailure` with the reason that the condition carries.
 */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus, MetricTarget } from '../../api/gen/autoscaling-v2.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { type PodMetrics, podMetrics } from '../../api/gen/metrics-v1beta1.ts';
import { formatLabels, labelMatcherOf } from '../../apimachinery/labels.ts';
import { parseQuantity } from '../../apimachinery/quantity.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import type { Client } from '../../client/client.ts';
import {
  groupPods,
  type Recommendation,
  recommend,
  recommendByShare,
  recommendByValue,
  type Sample,
  type StartupTimes,
  type Tolerances,
} from './recommend.ts';

export interface MetricContext {
  readonly client: Client;
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly current: number;
  readonly selector: string;
  readonly pods: readonly Pod[];
  readonly tolerances: Tolerances;
  readonly times: StartupTimes;
  readonly nowMs: number;
}

export interface MetricAnswer {
  readonly replicas: number;
  /** As messages name it, e.g. `cpu resource utilization (percentage of request)`. */
  readonly name: string;
  readonly status: MetricStatus;
}

export class MetricFailure extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export async function answerOf(metric: MetricSpec, context: MetricContext): Promise<MetricAnswer> {
  const { resource, containerResource, pods, object, external } = metric;
  if (metric.type === 'Resource' && resource) {
    return await reasoned('FailedGetResourceMetric', `failed to get ${resource.name} utilization`, () =>
      ofResource(context, { ...resource, container: undefined }),
    );
  }
  if (metric.type === 'ContainerResource' && containerResource) {
    return await reasoned(
      'FailedGetContainerResourceMetric',
      `failed to get ${containerResource.name} container metric value`,
      () => ofResource(context, containerResource),
    );
  }
  if (metric.type === 'Pods' && pods) {
    return await reasoned('FailedGetPodsMetric', 'failed to get pods metric value', () => ofPods(context, pods));
  }
  if (metric.type === 'Object' && object) {
    return await reasoned('FailedGetObjectMetric', 'failed to get object metric value', () =>
      ofObject(context, object),
    );
  }
  if (metric.type === 'External' && external) {
    return await reasoned('FailedGetExternalMetric', 'failed to get external metric', () =>
      ofExternal(context, external),
    );
  }
  throw new MetricFailure('InvalidMetricSourceType', `unknown metric source type ${JSON.stringify(metric.type)}`);
}

async function reasoned(reason: string, what: string, ask: () => Promise<MetricAnswer>): Promise<MetricAnswer> {
  try {
    return await ask();
  } catch (error) {
    throw new MetricFailure(reason, `${what}: ${messageOf(error)}`);
  }
}

async function ofResource(
  context: MetricContext,
  {
    name,
    target,
    container,
  }: { readonly name: string; readonly target: MetricTarget; readonly container: string | undefined },
): Promise<MetricAnswer> {
  const { client, autoscaler, selector, pods, current, tolerances, times, nowMs } = context;
  const { namespace } = autoscaler.metadata;
  const { items } = await client.list(podMetrics, { namespace, labelSelector: selector });
  if (items.length === 0)
    throw new Error(`unable to get metrics for resource ${name}: no metrics returned from resource metrics API`);
  const samples = new Map(items.flatMap((item) => sampleOf(item, name, container)));
  const grouped = groupPods(pods, { samples, resource: name, times, nowMs });
  const aim =
    target.averageUtilization === undefined
      ? { averageMilli: milli(target.averageValue ?? '0') }
      : { percent: target.averageUtilization, requestMilli: (pod: Pod) => requestMilli(pod, name, container) };
  const found = recommend({ current, pods, samples, grouped, tolerances, target: aim });
  const source = { name, current: statusOf(found, name) };
  const kind = container === undefined ? 'resource' : 'container resource';
  return {
    replicas: found.replicas,
    name:
      target.averageUtilization === undefined
        ? `${name} ${kind}`
        : `${name} ${kind} utilization (percentage of request)`,
    status:
      container === undefined
        ? { type: 'Resource', resource: source }
        : { type: 'ContainerResource', containerResource: { ...source, container } },
  };
}

/** Nothing for a Pod of which a container is missing: half an answer would look like little use. */
function sampleOf(
  { metadata, timestamp, window, containers }: PodMetrics,
  resource: string,
  container: string | undefined,
): [string, Sample][] {
  const counted = container === undefined ? containers : containers.filter(({ name }) => name === container);
  const amounts = counted.map(({ usage }) => usage[resource]);
  if (counted.length === 0 || amounts.some((amount) => amount === undefined)) return [];
  const used = amounts.reduce((sum, amount) => sum + milli(amount ?? '0'), 0);
  return [
    [metadata.name ?? '', { milli: used, takenAtMs: Date.parse(timestamp), windowMs: parseDuration(window) ?? 60_000 }],
  ];
}

function requestMilli(pod: Pod, resource: string, container: string | undefined): number {
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const counted = [...pod.spec.containers, ...sidecars].filter(
    ({ name }) => container === undefined || name === container,
  );
  return counted.reduce((sum, { name, resources }) => {
    const request = resources?.requests?.[resource];
    if (request === undefined)
      throw new Error(`missing request for ${resource} in container ${name} of Pod ${pod.metadata.name}`);
    return sum + (resource === 'cpu' ? amountOf('cpu', request) : milli(request));
  }, 0);
}

function statusOf({ utilization, averageMilli }: Recommendation, resource: string) {
  const averageValue = resource === 'cpu' ? `${Math.round(averageMilli)}m` : String(Math.round(averageMilli / 1000));
  return { ...(utilization === undefined ? {} : { averageUtilization: utilization }), averageValue };
}

interface ValueList {
  readonly items: readonly {
    readonly describedObject?: { readonly name?: string };
    readonly value: string;
    readonly timestamp?: string;
  }[];
}

async function values(client: Client, path: string, query: ReadonlyMap<string, string>): Promise<ValueList['items']> {
  const { items } = (await client.raw({ method: 'GET', path, query })) as ValueList;
  if (items.length === 0) throw new Error('no metrics returned');
  return items;
}

async function ofPods(
  context: MetricContext,
  { metric, target }: NonNullable<MetricSpec['pods']>,
): Promise<MetricAnswer> {
  const { client, autoscaler, selector, pods, current, tolerances, times, nowMs } = context;
  const path = `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${autoscaler.metadata.namespace}/pods/*/${metric.name}`;
  const items = await values(
    client,
    path,
    new Map([['labelSelector', selector], ...selectorQuery('metricLabelSelector', metric)]),
  );
  const samples = new Map(
    items.map(({ describedObject, value, timestamp }) => [
      describedObject?.name ?? '',
      { milli: milli(value), takenAtMs: Date.parse(timestamp ?? ''), windowMs: 60_000 },
    ]),
  );
  const grouped = groupPods(pods, { samples, resource: '', times, nowMs });
  const found = recommend({
    current,
    pods,
    samples,
    grouped,
    tolerances,
    target: { averageMilli: milli(target.averageValue ?? '0') },
  });
  const status: MetricStatus = {
    type: 'Pods',
    pods: { metric, current: { averageValue: `${Math.round(found.averageMilli)}m` } },
  };
  return { replicas: found.replicas, name: `pods metric ${metric.name}`, status };
}

async function ofObject(context: MetricContext, source: NonNullable<MetricSpec['object']>): Promise<MetricAnswer> {
  const { client, autoscaler, current, pods, tolerances } = context;
  const { describedObject, metric, target } = source;
  const plural = `${describedObject.kind.toLowerCase()}s`;
  const path = `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${autoscaler.metadata.namespace}/${plural}/${describedObject.name}/${metric.name}`;
  const [first] = await values(client, path, new Map(selectorQuery('metricLabelSelector', metric)));
  const value = milli(first?.value ?? '0');
  const replicas =
    target.value === undefined
      ? recommendByShare({ totalMilli: value, averageMilli: milli(target.averageValue ?? '0'), current }, tolerances)
      : recommendByValue({ valueMilli: value, targetMilli: milli(target.value), current }, { pods, tolerances });
  const status: MetricStatus = { type: 'Object', object: { describedObject, metric, current: { value: `${value}m` } } };
  return { replicas, name: `${describedObject.kind} metric ${metric.name}`, status };
}

async function ofExternal(
  context: MetricContext,
  { metric, target }: NonNullable<MetricSpec['external']>,
): Promise<MetricAnswer> {
  const { client, autoscaler, current, pods, tolerances } = context;
  const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${autoscaler.metadata.namespace}/${metric.name}`;
  const items = await values(client, path, new Map(selectorQuery('labelSelector', metric)));
  const total = items.reduce((sum, { value }) => sum + milli(value), 0);
  const replicas =
    target.averageValue === undefined
      ? recommendByValue({ valueMilli: total, targetMilli: milli(target.value ?? '0'), current }, { pods, tolerances })
      : recommendByShare({ totalMilli: total, averageMilli: milli(target.averageValue), current }, tolerances);
  return {
    replicas,
    name: `external metric ${metric.name}`,
    status: { type: 'External', external: { metric, current: { value: `${total}m` } } },
  };
}

function selectorQuery(parameter: string, { selector }: NonNullable<MetricSpec['pods']>['metric']): [string, string][] {
  if (!selector) return [];
  const plain =
    selector.matchExpressions === undefined ? formatLabels(selector.matchLabels) : labelMatcherOf(selector).toString();
  return [[parameter, plain]];
}

function milli(quantity: string): number {
  return Number(parseQuantity(quantity).milliValue());
}

/**
 * LimitRanger: a namespace's LimitRanges give containers default requests and limits, and refuse containers, Pods and claims outside
 * their minimum, maximum and ratio.
 */
import {
  type Container,
  type LimitRange,
  type LimitRangeItem,
  limitRanges,
  type PersistentVolumeClaim,
  type Pod,
} from '../../../api/gen/core-v1.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { parseQuantity, type Quantity } from '../../../apimachinery/quantity.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext, whenReady } from '../plugin-context.ts';
import { type Amounts, amountsOf, podAmounts } from '../pod-quantities.ts';
import { refusal } from '../refusal.ts';

const annotation = 'kubernetes.io/limit-ranger';
/** A namespace without LimitRanges in the informer is looked up at the server, and that answer kept so long. */
const liveLookupTtlMs = 30_000;
const liveLookupEntries = 10_000;

export function limitRanger(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(limitRanges);
  const lookups = new Map<string, { readonly untilMs: number; readonly items: readonly LimitRange[] }>();

  async function rangesOf(attributes: AdmissionAttributes): Promise<readonly LimitRange[]> {
    const { namespace } = attributes;
    await whenReady(context, informer, attributes);
    const known = informer.list(namespace);
    if (known.length > 0) return known;
    const now = context.clock.monotonic();
    const remembered = lookups.get(namespace);
    if (remembered && remembered.untilMs > now) return remembered.items;
    const { items } = await context.client.list(limitRanges, { namespace });
    if (lookups.size >= liveLookupEntries) lookups.clear();
    lookups.set(namespace, { untilMs: now + liveLookupTtlMs, items });
    return items;
  }

  /** What is on its way out may be changed freely. */
  const beingDeleted = ({ oldObject }: AdmissionAttributes) => oldObject?.metadata.deletionTimestamp !== undefined;

  return {
    name: 'LimitRanger',
    handles(operation, resource, subresource) {
      if (isResource(resource, '', 'persistentvolumeclaims'))
        return subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
      if (!isResource(resource, '', 'pods')) return false;
      return (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'resize');
    },
    async admit(attributes) {
      if (attributes.resource.resource !== 'pods' || beingDeleted(attributes)) return;
      for (const range of await rangesOf(attributes)) applyDefaults(range, attributes.object as Draft<Pod>);
    },
    async validate(attributes) {
      if (beingDeleted(attributes)) return;
      const isPod = attributes.resource.resource === 'pods';
      for (const range of await rangesOf(attributes)) {
        const problems = range.spec.limits.flatMap((item) =>
          isPod
            ? podProblems(item, attributes.object as Pod)
            : claimProblems(item, attributes.object as unknown as PersistentVolumeClaim),
        );
        if (problems.length > 0) throw refusal(attributes, aggregate(problems));
      }
    },
  };
}

function applyDefaults(range: LimitRange, pod: Draft<Pod>): void {
  const items = range.spec.limits.filter((item) => item.type === 'Container');
  const requests: Record<string, string> = Object.assign({}, ...items.map((item) => item.defaultRequest));
  const limits: Record<string, string> = Object.assign({}, ...items.map((item) => item.default));
  const notes = [
    ...pod.spec.containers.flatMap((container) => fill(container, 'container', requests, limits)),
    ...(pod.spec.initContainers ?? []).flatMap((container) => fill(container, 'init container', requests, limits)),
  ];
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

/** Returns what was set, as the annotation tells it. */
function fill(
  container: Draft<Container>,
  title: string,
  requests: Readonly<Record<string, string>>,
  limits: Readonly<Record<string, string>>,
): string[] {
  container.resources ??= {};
  const { resources } = container;
  const missing = (defaults: Readonly<Record<string, string>>, present: Readonly<Record<string, string>> | undefined) =>
    Object.keys(defaults)
      .filter((name) => present?.[name] === undefined)
      .sort();
  const setLimits = missing(limits, resources.limits);
  const setRequests = missing(requests, resources.requests);
  for (const name of setLimits) resources.limits = { ...resources.limits, [name]: limits[name]! };
  for (const name of setRequests) resources.requests = { ...resources.requests, [name]: requests[name]! };
  return [
    ...(setRequests.length > 0 ? [`${setRequests.join(', ')} request for ${title} ${container.name}`] : []),
    ...(setLimits.length > 0 ? [`${setLimits.join(', ')} limit for ${title} ${container.name}`] : []),
  ];
}

function podProblems(item: LimitRangeItem, pod: Pod): string[] {
  if (item.type === 'Pod') return constraintProblems(item, podAmounts(pod, 'requests'), podAmounts(pod, 'limits'));
  if (item.type !== 'Container') return [];
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap((container) =>
    constraintProblems(item, amountsOf(container.resources?.requests), amountsOf(container.resources?.limits)),
  );
}

function claimProblems(item: LimitRangeItem, claim: PersistentVolumeClaim): string[] {
  if (item.type !== 'PersistentVolumeClaim') return [];
  const requests = amountsOf(claim.spec.resources?.requests);
  return [
    ...bounds(item.min).map(([name, bound]) => minProblem(item.type, name, bound, requests, new Map())),
    // A claim has no limits, so its request is held against the maximum.
    ...bounds(item.max).map(([name, bound]) => {
      const request = requests.get(name);
      const rule = `maximum ${name} usage per ${item.type} is ${bound}`;
      if (!request) return `${rule}.  No request is specified`;
      return request.compare(bound) > 0 ? `${rule}, but request is ${request}` : undefined;
    }),
  ].filter((problem) => problem !== undefined);
}

function constraintProblems(item: LimitRangeItem, requests: Amounts, limits: Amounts): string[] {
  return [
    ...bounds(item.min).map(([name, bound]) => minProblem(item.type, name, bound, requests, limits)),
    ...bounds(item.max).map(([name, bound]) => maxProblem(item.type, name, bound, requests, limits)),
    ...bounds(item.maxLimitRequestRatio).map(([name, bound]) => ratioProblem(item.type, name, bound, requests, limits)),
  ].filter((problem) => problem !== undefined);
}

function minProblem(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `minimum ${name} usage per ${type} is ${bound}`;
  if (!request) return `${rule}.  No request is specified`;
  if (request.compare(bound) < 0) return `${rule}, but request is ${request}`;
  return limit && limit.compare(bound) < 0 ? `${rule}, but limit is ${limit}` : undefined;
}

function maxProblem(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `maximum ${name} usage per ${type} is ${bound}`;
  if (!limit) return `${rule}.  No limit is specified`;
  if (limit.compare(bound) > 0) return `${rule}, but limit is ${limit}`;
  return request && request.compare(bound) > 0 ? `${rule}, but request is ${request}` : undefined;
}

function ratioProblem(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `${name} max limit to request ratio per ${type} is ${bound}`;
  if (!request || request.isZero) return `${rule}, but no request is specified or request is 0`;
  if (!limit || limit.isZero) return `${rule}, but no limit is specified or limit is 0`;
  const ratio = limit.toNumber() / request.toNumber();
  return ratio > bound.toNumber() ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

/** In the order of names, so that messages are the same each time. */
function bounds(list: Readonly<Record<string, string>> | undefined): readonly (readonly [string, Quantity])[] {
  return Object.keys(list ?? {})
    .sort()
    .map((name) => [name, parseQuantity(list![name]!)] as const);
}

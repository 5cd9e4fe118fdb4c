/**
 * What one object takes from a namespace's quota: itself as a count, and for Pods, Services and claims what they ask for. Pure
 * functions; the names are those of `ResourceQuota.spec.hard`.
 */
import type {
  PersistentVolumeClaim,
  Pod,
  ScopedResourceSelectorRequirement,
  Service,
} from '../../../api/gen/core-v1.ts';
import { parseQuantity, type Quantity, quantityOf } from '../../../apimachinery/quantity.ts';
import { type GroupVersionResource, groupResource } from '../../../apimachinery/resource.ts';
import { parseTime } from '../../../apimachinery/time.ts';
import { type Amounts, podAmounts } from '../pod-quantities.ts';

const computeNames = ['cpu', 'memory', 'ephemeral-storage'];
/** Of these, a quota makes every container say what it wants. */
const mandatoryNames = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']);
const podNames = new Set([
  ...computeNames.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  'pods',
  'count/pods',
]);
/** Kinds counted under their own name as well as under `count/`. */
const plainCounts = new Set([
  'configmaps',
  'secrets',
  'resourcequotas',
  'replicationcontrollers',
  'services',
  'persistentvolumeclaims',
]);
const claimClassNames = /^.+\.storageclass\.storage\.k8s\.io\/(requests\.storage|persistentvolumeclaims)$/;

/** `nowMs` decides whether a Pod past its grace period still counts. */
export function usageOf(resource: GroupVersionResource, object: unknown, nowMs: number): Map<string, Quantity> {
  const usage = new Map([[countName(resource), quantityOf(1)]]);
  if (resource.group !== '') return usage;
  if (plainCounts.has(resource.resource)) usage.set(resource.resource, quantityOf(1));
  if (resource.resource === 'pods') addPod(usage, object as Pod, nowMs);
  if (resource.resource === 'services') addService(usage, object as Service);
  if (resource.resource === 'persistentvolumeclaims') addClaim(usage, object as PersistentVolumeClaim);
  return usage;
}

/** Which of a quota's names are about this kind of object at all. */
export function namesAbout(resource: GroupVersionResource, names: readonly string[]): readonly string[] {
  const core = resource.group === '' ? resource.resource : '';
  return names.filter((name) => {
    if (name === countName(resource)) return true;
    if (core === 'pods') return podNames.has(name) || isPrefixedPodName(name);
    if (core === 'services') return name === 'services' || name.startsWith('services.');
    if (core === 'persistentvolumeclaims') {
      return name === 'persistentvolumeclaims' || name === 'requests.storage' || claimClassNames.test(name);
    }
    return plainCounts.has(core) && name === core;
  });
}

/** Whether a scope of a quota takes this object in. Only Pods and claims for volumes have scopes. */
export function inScope(
  requirement: ScopedResourceSelectorRequirement,
  resource: GroupVersionResource,
  object: unknown,
): boolean {
  if (resource.group !== '') return false;
  if (resource.resource === 'persistentvolumeclaims') return claimInScope(requirement, object as PersistentVolumeClaim);
  if (resource.resource !== 'pods') return false;
  const pod = object as Pod;
  switch (requirement.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass':
      return matchesClass(requirement, pod.spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      return hasCrossNamespaceAffinity(pod);
    default:
      return false;
  }
}

/** What can change in an object and decides which scopes take it in: another text, maybe other scopes. */
export function scopeTraits(resource: GroupVersionResource, object: unknown): string {
  if (resource.group !== '') return '';
  if (resource.resource === 'persistentvolumeclaims') {
    return [...new Set(attributesClassesOf(object as PersistentVolumeClaim))].sort().join();
  }
  if (resource.resource !== 'pods') return '';
  const pod = object as Pod;
  return `${isTerminating(pod)},${isBestEffort(pod)}`;
}

/** What a quota makes the Pod's containers state, and they do not; undefined when all is stated. */
export function unstatedResources(
  resource: GroupVersionResource,
  object: unknown,
  names: readonly string[],
): string | undefined {
  if (resource.group !== '' || resource.resource !== 'pods') return undefined;
  const { spec } = object as Pod;
  if (spec.resources && Object.keys({ ...spec.resources.requests, ...spec.resources.limits }).length > 0)
    return undefined;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const missing = names
    .filter((name) => mandatoryNames.has(name))
    .sort()
    .map((name) => {
      const [list, key] = name.startsWith('limits.')
        ? (['limits', name.slice(7)] as const)
        : (['requests', name.replace('requests.', '')] as const);
      const without = containers.filter((container) => container.resources?.[list]?.[key] === undefined);
      return [name, [...new Set(without.map((container) => container.name))].sort()] as const;
    })
    .filter(([, without]) => without.length > 0);
  if (missing.length === 0) return undefined;
  return `must specify ${missing.map(([name, without]) => `${name} for: ${without.join(',')}`).join('; ')}`;
}

function countName(resource: GroupVersionResource): string {
  return `count/${groupResource(resource)}`;
}

function isPrefixedPodName(name: string): boolean {
  if (name.startsWith('hugepages-') || name.startsWith('requests.hugepages-')) return true;
  return name.startsWith('requests.') && isExtended(name.slice('requests.'.length));
}

function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/');
}

function addPod(usage: Map<string, Quantity>, pod: Pod, nowMs: number): void {
  if (isPastItsEnd(pod, nowMs)) return;
  usage.set('pods', quantityOf(1));
  const requests: Amounts = podAmounts(pod, 'requests', { overhead: true });
  const limits: Amounts = podAmounts(pod, 'limits', { overhead: true });
  for (const [name, amount] of requests) {
    if (computeNames.includes(name) || name.startsWith('hugepages-')) {
      usage.set(name, amount);
      usage.set(`requests.${name}`, amount);
    } else if (isExtended(name)) usage.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of limits) if (computeNames.includes(name)) usage.set(`limits.${name}`, amount);
}

/** Finished, or still there after its grace period: a node that does not answer must not hold the quota for ever. */
function isPastItsEnd(pod: Pod, nowMs: number): boolean {
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > (parseTime(deletionTimestamp) ?? nowMs) + deletionGracePeriodSeconds * 1000;
}

/** Node ports are counted by intent: when admission runs they are not allocated yet. */
function addService(usage: Map<string, Quantity>, { spec }: Service): void {
  const ports = spec.ports ?? [];
  const isLoadBalancer = spec.type === 'LoadBalancer';
  const explicitOnly = isLoadBalancer && spec.allocateLoadBalancerNodePorts === false;
  const nodePorts = explicitOnly ? ports.filter((port) => port.nodePort).length : ports.length;
  usage.set('services.loadbalancers', quantityOf(isLoadBalancer ? 1 : 0));
  usage.set('services.nodeports', quantityOf(isLoadBalancer || spec.type === 'NodePort' ? nodePorts : 0));
}

function addClaim(usage: Map<string, Quantity>, claim: PersistentVolumeClaim): void {
  const storageClass =
    claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec.storageClassName ?? '';
  const suffix = `${storageClass}.storageclass.storage.k8s.io`;
  if (storageClass !== '') usage.set(`${suffix}/persistentvolumeclaims`, quantityOf(1));
  const storage = storageOf(claim);
  if (storage === undefined) return;
  usage.set('requests.storage', storage);
  if (storageClass !== '') usage.set(`${suffix}/requests.storage`, storage);
}

/** What is asked for, or what the volume was given before that was taken back; in whole bytes. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const text = spec.resources?.requests?.storage;
  if (text === undefined) return undefined;
  const asked = parseQuantity(text).roundUp(0);
  const allocated = parseQuantity(status?.allocatedResources?.storage ?? '0').roundUp(0);
  return allocated.compare(asked) > 0 ? allocated : asked;
}

function isTerminating(pod: Pod): boolean {
  return (pod.spec.activeDeadlineSeconds ?? -1) >= 0;
}

function isBestEffort(pod: Pod): boolean {
  const stated = (lists: Pod['spec']['resources']) =>
    ['cpu', 'memory'].some((name) => isPositive(lists?.requests?.[name]) || isPositive(lists?.limits?.[name]));
  if (stated(pod.spec.resources)) return false;
  return ![...pod.spec.containers, ...(pod.spec.initContainers ?? [])].some((container) => stated(container.resources));
}

function isPositive(text: string | undefined): boolean {
  return text !== undefined && parseQuantity(text).sign > 0;
}

/** By every class of attributes that a claim has, had or is to have. */
function claimInScope(requirement: ScopedResourceSelectorRequirement, claim: PersistentVolumeClaim): boolean {
  if (requirement.scopeName !== 'VolumeAttributesClass') return false;
  const names = attributesClassesOf(claim);
  if (names.length === 0) return matchesClass(requirement, '');
  return names.some((name) => matchesClass(requirement, name));
}

function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  return [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name): name is string => typeof name === 'string' && name !== '');
}

function matchesClass({ operator, values = [] }: ScopedResourceSelectorRequirement, name: string): boolean {
  switch (operator) {
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    case 'In':
      return name !== '' && values.includes(name);
    case 'NotIn':
      return !values.includes(name);
    default:
      return false;
  }
}

function hasCrossNamespaceAffinity({ spec }: Pod): boolean {
  return [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]
    .flatMap((affinity) => [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
    ])
    .some((term) => (term.namespaces?.length ?? 0) > 0 || term.namespaceSelector !== undefined);
}

/** From requests and limits to what cgroups understand. Pure; the arithmetic is upstream's. */
import { amountOf, amountsOf, podLimits, podRequests, type ResourceAmounts } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { CgroupLimits } from '../cgroups/cgroup-limits.ts';
import { pageSizeOf } from '../cgroups/page-size.ts';
import { hasCriticalPriority } from '../pods/pod-phase.ts';
import type { LinuxResources } from '../runtime/runtime.ts';
import { type SwapSettings, swapResources } from './swap.ts';

export interface ResourceSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly memoryCapacityBytes: number;
  /** Processes of a Pod; not above 0: no limit. */
  readonly podPidsLimit?: number | undefined;
  /** Huge pages that the machine has, as resources. */
  readonly hugepages?: readonly string[] | undefined;
  /** cgroup v2. */
  readonly isUnified?: boolean | undefined;
  /** Out of memory, all processes of a container end. */
  readonly killsWholeContainer?: boolean | undefined;
  /** Absent where swap cannot be limited. */
  readonly swap?: SwapSettings | undefined;
  readonly memoryQos?: MemoryQosSettings | undefined;
  /** Which processors and memory nodes a container is to use. */
  placementOf?(podUid: string, container: string): Pick<LinuxResources, 'cpusetCpus' | 'cpusetMems'>;
  /** Has processors for itself, and needs no quota. */
  hasOwnCpus?(podUid: string, container: string): boolean;
}

export interface MemoryQosSettings {
  readonly throttlingFactor: number;
  readonly allocatableBytes: number;
  /** Whether requests are kept from being reclaimed. */
  readonly reserves: boolean;
}

const minShares = 2;
const maxShares = 262_144;
const minQuotaMicroseconds = 1000;

export function cpuShares(milliCpu: number): number {
  if (milliCpu === 0) return minShares;
  return Math.min(maxShares, Math.max(minShares, Math.floor((milliCpu * 1024) / 1000)));
}

/** Microseconds of a period; 0: no limit. */
export function cpuQuota(milliCpu: number, periodMicroseconds: number): number {
  return milliCpu === 0 ? 0 : Math.max(minQuotaMicroseconds, Math.floor((milliCpu * periodMicroseconds) / 1000));
}

export function containerResources(pod: Pod, container: Container, settings: ResourceSettings): LinuxResources {
  const { requests = {} } = container.resources ?? {};
  const limits = effectiveLimits(pod, container);
  const limitCpu = limits.cpu === undefined ? 0 : amountOf('cpu', limits.cpu);
  // Where only a limit is given it counts as the request as well.
  const requestCpu = requests.cpu === undefined ? limitCpu : amountOf('cpu', requests.cpu);
  const { hugepages = [], isUnified = false, memoryCapacityBytes, swap } = settings;
  const uid = pod.metadata.uid ?? '';
  const ownsCpus = settings.hasOwnCpus?.(uid, container.name) ?? false;
  const swapLimits = swap ? swapResources(pod, container, { swap, memoryCapacityBytes, isUnified }) : {};
  const unified = {
    ...swapLimits.unified,
    ...(settings.killsWholeContainer ? { 'memory.oom.group': '1' } : {}),
    ...(settings.memoryQos ? memoryQosFiles(pod, container, settings.memoryQos) : {}),
  };
  return {
    ...cpuResources(requestCpu, limitCpu, { ...settings, cpuCfsQuota: settings.cpuCfsQuota && !ownsCpus }),
    ...settings.placementOf?.(uid, container.name),
    memoryLimitBytes: limits.memory === undefined ? undefined : amountOf('memory', limits.memory),
    oomScoreAdj: oomScoreAdj(pod, container, memoryCapacityBytes),
    ...(hugepages.length > 0 ? { hugepageLimits: hugepageLimits(pod, container, hugepages) } : {}),
    ...swapLimits,
    ...(Object.keys(unified).length > 0 ? { unified } : {}),
  };
}

/** The Pod's as a whole where the container has none of its own. */
export function effectiveLimits(pod: Pod, container: Container): Readonly<Record<string, string>> {
  const own = container.resources?.limits ?? {};
  const missing = Object.entries(pod.spec.resources?.limits ?? {}).filter(
    ([name]) => (name === 'cpu' || name === 'memory') && (own[name] === undefined || amountOf(name, own[name]) === 0),
  );
  return missing.length === 0 ? own : { ...own, ...Object.fromEntries(missing) };
}

/** None of what a container does not ask for; what the Pod as a whole may have where the container names none. */
function hugepageLimits(
  pod: Pod,
  container: Container,
  hugepages: readonly string[],
): LinuxResources['hugepageLimits'] {
  const limits = { ...pod.spec.resources?.limits, ...container.resources?.limits };
  return hugepages.map((name) => ({
    pageSize: pageSizeOf(name),
    limitBytes: limits[name] === undefined ? 0 : amountOf(name, limits[name]),
  }));
}

const pageBytes = 4096;

/** Above `memory.high` the kernel slows a container down before its limit ends it. */
function memoryQosFiles(pod: Pod, container: Container, settings: MemoryQosSettings): Record<string, string> {
  const amount = (list: Readonly<Record<string, string>> | undefined) =>
    list?.memory === undefined ? 0 : amountOf('memory', list.memory);
  const request = amount(container.resources?.requests);
  const limit = amount(container.resources?.limits);
  const files: Record<string, string> =
    request > 0 && settings.reserves
      ? { [qosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) }
      : { 'memory.min': '0', 'memory.low': '0' };
  const ceiling = limit || settings.allocatableBytes;
  const high = Math.floor((request + (ceiling - request) * settings.throttlingFactor) / pageBytes) * pageBytes;
  if (request !== limit && ceiling > 0 && high > request) files['memory.high'] = String(high);
  return files;
}

function cpuResources(requestMilli: number, limitMilli: number, settings: ResourceSettings): LinuxResources {
  const period = settings.cpuCfsQuotaPeriodMs * 1000;
  const quota = settings.cpuCfsQuota ? cpuQuota(limitMilli, period) : 0;
  return { cpuShares: cpuShares(requestMilli), ...(quota > 0 ? { cpuQuota: quota, cpuPeriod: period } : {}) };
}

/** Of the Pod as a whole: limits only where every container has one. */
export function podResources(pod: Pod, settings: ResourceSettings): LinuxResources {
  const requests: ResourceAmounts = podRequests(pod);
  const limits: ResourceAmounts = podLimits(pod);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const bounds = (resource: string) =>
    pod.spec.resources?.limits?.[resource] !== undefined ||
    all.every((container) => container.resources?.limits?.[resource] !== undefined);
  if (qosClass(pod) === 'BestEffort') return { cpuShares: minShares };
  const ownsCpus = all.some(({ name }) => settings.hasOwnCpus?.(pod.metadata.uid ?? '', name));
  return {
    ...cpuResources(requests.cpu ?? 0, bounds('cpu') ? (limits.cpu ?? 0) : 0, {
      ...settings,
      cpuCfsQuota: settings.cpuCfsQuota && !ownsCpus,
    }),
    ...(bounds('memory') && limits.memory ? { memoryLimitBytes: limits.memory } : {}),
  };
}

/** What the sandbox takes for itself, as the Pod's RuntimeClass says: guaranteed, and no more than that. */
export function overheadResources(pod: Pod, settings: ResourceSettings): LinuxResources | undefined {
  if (!pod.spec.overhead) return undefined;
  const { cpu = 0, memory } = amountsOf(pod.spec.overhead);
  return { ...cpuResources(cpu, cpu, settings), ...(memory ? { memoryLimitBytes: memory } : {}) };
}

/** Of the Pod's own group, which the kubelet makes. */
export function podCgroupLimits(pod: Pod, settings: ResourceSettings): CgroupLimits {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes } = podResources(pod, settings);
  const { hugepages = [], memoryQos, podPidsLimit = 0 } = settings;
  const requests = podRequests(pod);
  const reserved = memoryQos?.reserves && requests.memory ? requests.memory : undefined;
  const isGuaranteed = qosClass(pod) === 'Guaranteed';
  return {
    cpuShares,
    ...(cpuQuota === undefined ? {} : { cpuQuota, cpuPeriod }),
    ...(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }),
    ...(reserved === undefined ? {} : isGuaranteed ? { memoryMinBytes: reserved } : { memoryLowBytes: reserved }),
    ...(podPidsLimit > 0 ? { pidsMax: podPidsLimit } : {}),
    hugepages: hugepages.map((name) => ({ pageSize: pageSizeOf(name), limitBytes: requests[name] ?? 0 })),
  };
}

/** The kernel kills the highest first: best effort before what exceeds its request before what is guaranteed. */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if (hasCriticalPriority(pod)) return -997;
  switch (qosClass(pod)) {
    case 'Guaranteed':
      return -997;
    case 'BestEffort':
      return 1000;
    default: {
      const share = unassignedMemoryShare(pod);
      const scoreOf = ({ resources }: Container) => {
        const request = resources?.requests?.memory;
        return burstableScore(share + (request === undefined ? 0 : amountOf('memory', request)), memoryCapacityBytes);
      };
      const score = scoreOf(container);
      if (!isSidecar(container) || !pod.spec.initContainers?.includes(container)) return score;
      // A sidecar must not die before the containers that need it.
      return Math.min(score, ...pod.spec.containers.map(scoreOf));
    }
  }
}

/** What the Pod asks for as a whole and no container for itself counts for all of them alike. */
function unassignedMemoryShare(pod: Pod): number {
  const asked = pod.spec.resources?.requests?.memory;
  if (asked === undefined) return 0;
  const assigned = podRequests(pod, { withoutPodLevel: true, withoutOverhead: true }).memory ?? 0;
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return Math.trunc((amountOf('memory', asked) - assigned) / count);
}

function burstableScore(requestBytes: number, capacityBytes: number): number {
  const score = 1000 - Math.floor((1000 * requestBytes) / Math.max(1, capacityBytes));
  return Math.min(999, Math.max(1000 - 997, score));
}

/** From requests and limits to what cgroups understand. Pure; the arithmetic is upstream's. */
import { amountOf, podLimits, podRequests, type ResourceAmounts } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { LinuxResources } from '../runtime/runtime.ts';

export interface ResourceSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly memoryCapacityBytes: number;
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
  const { requests = {}, limits = {} } = container.resources ?? {};
  const limitCpu = limits.cpu === undefined ? 0 : amountOf('cpu', limits.cpu);
  // Where only a limit is given it counts as the request as well.
  const requestCpu = requests.cpu === undefined ? limitCpu : amountOf('cpu', requests.cpu);
  return {
    ...cpuResources(requestCpu, limitCpu, settings),
    memoryLimitBytes: limits.memory === undefined ? undefined : amountOf('memory', limits.memory),
    oomScoreAdj: oomScoreAdj(pod, container, settings.memoryCapacityBytes),
  };
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
  return {
    ...cpuResources(requests.cpu ?? 0, bounds('cpu') ? (limits.cpu ?? 0) : 0, settings),
    ...(bounds('memory') && limits.memory ? { memoryLimitBytes: limits.memory } : {}),
  };
}

/** The kernel kills the highest first: best effort before what exceeds its request before what is guaranteed. */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  const criticalPriority = 2_000_000_000;
  if ((pod.spec.priority ?? 0) >= criticalPriority) return -997;
  switch (qosClass(pod)) {
    case 'Guaranteed':
      return -997;
    case 'BestEffort':
      return 1000;
    default: {
      const request = container.resources?.requests?.memory;
      const score = burstableScore(request === undefined ? 0 : amountOf('memory', request), memoryCapacityBytes);
      if (!isSidecar(container) || !pod.spec.initContainers?.includes(container)) return score;
      // A sidecar must not die before the containers that need it.
      const lowest = Math.min(
        ...pod.spec.containers.map(({ resources }) =>
          burstableScore(
            resources?.requests?.memory ? amountOf('memory', resources.requests.memory) : 0,
            memoryCapacityBytes,
          ),
        ),
      );
      return Math.min(score, lowest);
    }
  }
}

function burstableScore(requestBytes: number, capacityBytes: number): number {
  const score = 1000 - Math.floor((1000 * requestBytes) / Math.max(1, capacityBytes));
  return Math.min(999, Math.max(1000 - 997, score));
}

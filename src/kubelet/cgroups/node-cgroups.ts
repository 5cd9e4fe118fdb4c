/**
 * Limits of the groups above Pods. All Pods together have what is not reserved for the system and the kubelet; the classes share
 * processors by what they requested, and best effort gets what is left. Memory that is kept for Pods is kept for the groups above them
 * too, or the kernel would not heed it. Pure.
 */
import { podRequests } from '../../api/core/v1/pod-resources.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import { cpuShares } from '../containers/resources.ts';
import type { MachineFacts } from '../host/host.ts';
import { reservedAmounts } from '../node/capacity.ts';
import type { NodeCgroupLimits } from './cgroup-limits.ts';
import { pageSizeOf } from './page-size.ts';

export interface NodeCgroupInput {
  readonly facts: MachineFacts;
  readonly configuration: KubeletConfiguration;
  readonly pods: readonly Pod[];
}

/** What Pods of a class asked for together, in bytes. */
export interface RequestedMemory {
  readonly guaranteed: number;
  readonly burstable: number;
}

const unboundedPages = 2 ** 62;

export function nodeCgroupLimits(input: NodeCgroupInput): NodeCgroupLimits {
  const { facts, configuration, pods } = input;
  const enforced = configuration.enforceNodeAllocatable.includes('pods');
  const reserved = enforced ? reservedAmounts(configuration) : {};
  const left = (resource: string, capacity: number) => Math.max(0, capacity - (reserved[resource] ?? 0));
  const burstable = pods.filter((pod) => qosClass(pod) === 'Burstable').map((pod) => podRequests(pod));
  const kept = keptMemory(input);
  const hugepages = Object.keys(facts.hugepages).map((name) => ({
    pageSize: pageSizeOf(name),
    limitBytes: unboundedPages,
  }));
  return {
    pods: {
      cpuShares: cpuShares(left('cpu', facts.cpuCount * 1000)),
      memoryLimitBytes: left('memory', facts.memoryBytes),
      ...(kept && { memoryMinBytes: kept.guaranteed + kept.burstable }),
      ...(facts.pidsMax > 0 ? { pidsMax: left('pid', facts.pidsMax) } : {}),
      hugepages: Object.entries(facts.hugepages).map(([name, bytes]) => ({
        pageSize: pageSizeOf(name),
        limitBytes: left(name, bytes),
      })),
    },
    burstable: {
      cpuShares: cpuShares(burstable.reduce((sum, { cpu = 0 }) => sum + cpu, 0)),
      ...(kept && { memoryLowBytes: kept.burstable }),
      hugepages,
    },
    bestEffort: { cpuShares: 2, hugepages },
  };
}

/** Nothing is kept unless the configuration says so; undefined where memory has no qualities of service. */
export function keptMemory({ facts, configuration, pods }: NodeCgroupInput): RequestedMemory | undefined {
  if (facts.cgroupVersion !== 'v2' || !isGateOn(configuration.featureGates, 'MemoryQoS')) return undefined;
  if (configuration.memoryReservationPolicy !== 'TieredReservation') return { guaranteed: 0, burstable: 0 };
  const requestedBy = (qos: 'Guaranteed' | 'Burstable') =>
    pods.reduce((sum, pod) => sum + (qosClass(pod) === qos ? (podRequests(pod).memory ?? 0) : 0), 0);
  return { guaranteed: requestedBy('Guaranteed'), burstable: requestedBy('Burstable') };
}

/**
 * Limits of the groups above Pods. All Pods together have what is not reserved for the system and the kubelet; the classes share
 * processors by what they requested, and best effort gets what is left. Pure.
 */
import { podRequests } from '../../api/core/v1/pod-resources.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
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

const unboundedPages = 2 ** 62;

export function nodeCgroupLimits({ facts, configuration, pods }: NodeCgroupInput): NodeCgroupLimits {
  const enforced = configuration.enforceNodeAllocatable.includes('pods');
  const reserved = enforced ? reservedAmounts(configuration) : {};
  const left = (resource: string, capacity: number) => Math.max(0, capacity - (reserved[resource] ?? 0));
  const burstable = pods.filter((pod) => qosClass(pod) === 'Burstable').map((pod) => podRequests(pod));
  const hugepages = Object.keys(facts.hugepages).map((name) => ({
    pageSize: pageSizeOf(name),
    limitBytes: unboundedPages,
  }));
  return {
    pods: {
      cpuShares: cpuShares(left('cpu', facts.cpuCount * 1000)),
      memoryLimitBytes: left('memory', facts.memoryBytes),
      ...(facts.pidsMax > 0 ? { pidsMax: left('pid', facts.pidsMax) } : {}),
      hugepages: Object.entries(facts.hugepages).map(([name, bytes]) => ({
        pageSize: pageSizeOf(name),
        limitBytes: left(name, bytes),
      })),
    },
    burstable: { cpuShares: cpuShares(burstable.reduce((sum, { cpu = 0 }) => sum + cpu, 0)), hugepages },
    bestEffort: { cpuShares: 2, hugepages },
  };
}

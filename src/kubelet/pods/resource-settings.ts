/** What of the machine and the configuration decides which limits containers get. */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { ResourceSettings } from '../containers/resources.ts';
import type { PodServices } from './pod-services.ts';

export function resourceSettings({ allocatable, configuration, facts, resources }: PodServices): ResourceSettings {
  const { featureGates, memoryReservationPolicy, memoryThrottlingFactor, singleProcessOomKill, swapBehavior } =
    configuration;
  const isUnified = facts.cgroupVersion === 'v2';
  const memory = allocatable().memory;
  return {
    cpuCfsQuota: configuration.cpuCfsQuota,
    cpuCfsQuotaPeriodMs: configuration.cpuCfsQuotaPeriodMs,
    memoryCapacityBytes: facts.memoryBytes,
    placementOf: (podUid, container) => resources?.placementOf(podUid, container) ?? {},
    hasOwnCpus: (podUid, container) => resources?.hasOwnCpus(podUid, container) ?? false,
    podPidsLimit: configuration.podPidsLimit,
    hugepages: Object.keys(facts.hugepages),
    isUnified,
    killsWholeContainer: isUnified && !singleProcessOomKill,
    ...(facts.hasSwapController ? { swap: { behavior: swapBehavior, capacityBytes: facts.swapBytes } } : {}),
    ...(isUnified && isGateOn(featureGates, 'MemoryQoS')
      ? {
          memoryQos: {
            throttlingFactor: memoryThrottlingFactor,
            allocatableBytes: memory === undefined ? 0 : amountOf('memory', memory),
            reserves: memoryReservationPolicy === 'TieredReservation',
          },
        }
      : {}),
  };
}

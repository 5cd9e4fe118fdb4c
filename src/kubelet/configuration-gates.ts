/**
 * What a kubelet's settings may say only while a feature gate is on, and what about shutdowns does not go together. The messages are
 * upstream's (`pkg/kubelet/apis/config/validation`).
 */
import { formatDuration } from '../apimachinery/time.ts';
import { type FeatureGates, isGateOn } from '../serving/feature-gates.ts';
import type { KubeletConfiguration } from './configuration.ts';

/** `memorySwap` as the configuration file has it. */
export function gateProblems(
  configuration: KubeletConfiguration,
  memorySwap: { readonly swapBehavior?: string } | undefined,
): readonly string[] {
  const { featureGates: gates, memoryReservationPolicy } = configuration;
  const problems = shutdownProblems(configuration, gates);
  if (memorySwap?.swapBehavior && !isGateOn(gates, 'NodeSwap'))
    problems.push('memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled');
  if (memoryReservationPolicy === 'TieredReservation' && !isGateOn(gates, 'MemoryQoS'))
    problems.push('memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled');
  return problems.map((problem) => `invalid configuration: ${problem}`);
}

function shutdownProblems(configuration: KubeletConfiguration, gates: FeatureGates): string[] {
  const total = configuration.shutdownGracePeriodMs;
  const critical = configuration.shutdownGracePeriodCriticalPodsMs;
  const hasTable = configuration.shutdownGracePeriodByPodPriority.length > 0;
  const problems: string[] = [];
  if (isGateOn(gates, 'GracefulNodeShutdown')) {
    if (critical > total)
      problems.push(
        `shutdownGracePeriodCriticalPods {${formatDuration(critical)}} must be <= shutdownGracePeriod {${formatDuration(total)}}`,
      );
    for (const [name, periodMs] of [
      ['shutdownGracePeriod', total],
      ['shutdownGracePeriodCriticalPods', critical],
    ] as const)
      if (periodMs !== 0 && periodMs < 1000)
        problems.push(`${name} {${formatDuration(periodMs)}} must be either zero or otherwise >= 1 sec`);
  } else if (total > 0 || critical > 0)
    problems.push(
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    );
  if (hasTable && !isGateOn(gates, 'GracefulNodeShutdownBasedOnPodPriority'))
    problems.push(
      'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    );
  else if (hasTable && (total > 0 || critical > 0))
    problems.push('Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time');
  return problems;
}

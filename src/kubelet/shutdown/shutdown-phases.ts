/**
 * In which order, and with how much time, Pods end when the machine is about to be switched off. Pure; the rules are the documents'.
 *
 *     priority: 100000 300 s, 1000 120 s, 0 60 s
 *     Pods of 0 .. 999 end first and have 60 s, then those of 1000 .. 99999, then all from 100000 on
 *
 * A Pod below the lowest priority goes with the lowest. A phase without Pods takes no time.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { systemCriticalPriority } from '../pods/pod-phase.ts';

export interface ShutdownPhase {
  /** The lowest priority of its Pods. */
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownSettings {
  readonly shutdownGracePeriodMs: number;
  readonly shutdownGracePeriodCriticalPodsMs: number;
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPhase[];
}

/** The least important first; none: the kubelet does not delay a shutdown. */
export function shutdownPhases(settings: ShutdownSettings): readonly ShutdownPhase[] {
  const { shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs, shutdownGracePeriodByPodPriority } = settings;
  if (shutdownGracePeriodByPodPriority.length > 0)
    return [...shutdownGracePeriodByPodPriority].sort((a, b) => a.priority - b.priority);
  const regularMs = shutdownGracePeriodMs - shutdownGracePeriodCriticalPodsMs;
  if (shutdownGracePeriodMs === 0 || regularMs < 0) return [];
  return [
    { priority: 0, seconds: Math.floor(regularMs / 1000) },
    { priority: systemCriticalPriority, seconds: Math.floor(shutdownGracePeriodCriticalPodsMs / 1000) },
  ];
}

/** How long the machine has to wait for all phases. */
export function totalSeconds(phases: readonly ShutdownPhase[]): number {
  return phases.reduce((sum, { seconds }) => sum + seconds, 0);
}

export interface PhasePods {
  readonly phase: ShutdownPhase;
  readonly pods: readonly Pod[];
}

/** Phases that have Pods. */
export function podsByPhase(phases: readonly ShutdownPhase[], pods: readonly Pod[]): readonly PhasePods[] {
  const phaseOf = ({ spec }: Pod) =>
    Math.max(
      0,
      phases.findLastIndex(({ priority }) => priority <= (spec.priority ?? 0)),
    );
  return phases
    .map((phase, index) => ({ phase, pods: pods.filter((pod) => phaseOf(pod) === index) }))
    .filter((group) => group.pods.length > 0);
}

/** What a Pod asks for, if its phase gives it as much. */
export function graceSecondsOf(pod: Pod, phase: ShutdownPhase): number {
  return Math.min(pod.spec.terminationGracePeriodSeconds ?? phase.seconds, phase.seconds);
}

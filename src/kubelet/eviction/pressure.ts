/**
 * From thresholds and what is left to what the node suffers from and what has to be done: soft thresholds wait for their grace period,
 * one that was acted on counts until its minimum reclaim is free too, and a condition stays for the transition period after it was
 * last seen, so that it does not flap. Pure: each look takes the state of the one before.
 *
 *     0 s   memory.available below 100Mi, hard:  condition MemoryPressure, due at once
 *     10 s  105Mi free, minReclaim 10Mi:         still due, for 110Mi are asked
 *     20 s  120Mi free:                          nothing due; MemoryPressure stays until 310 s
 */
import type { Observation, Observations } from './measurement.ts';
import { type Signal, type Threshold, thresholdAmount } from './thresholds.ts';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export interface PressureState {
  /** Thresholds that were due at the last look. */
  readonly due: readonly Threshold[];
  readonly firstMetMs: ReadonlyMap<Threshold, number>;
  readonly conditionSeenMs: ReadonlyMap<PressureCondition, number>;
}

export const noPressure: PressureState = { due: [], firstMetMs: new Map(), conditionSeenMs: new Map() };

export interface PressureSettings {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
}

export function nextPressure(
  before: PressureState,
  observations: Observations,
  nowMs: number,
  settings: PressureSettings,
): PressureState {
  const unresolved = before.due.filter((threshold) =>
    isMet(threshold, observations.get(threshold.signal), 'withReclaim'),
  );
  const met = settings.thresholds.filter(
    (threshold) => unresolved.includes(threshold) || isMet(threshold, observations.get(threshold.signal)),
  );
  const firstMetMs = new Map(met.map((threshold) => [threshold, before.firstMetMs.get(threshold) ?? nowMs]));
  const conditionSeenMs = new Map(before.conditionSeenMs);
  for (const { signal } of met) conditionSeenMs.set(conditionOf(signal), nowMs);
  for (const [condition, seenMs] of conditionSeenMs)
    if (seenMs !== nowMs && nowMs - seenMs >= settings.transitionMs) conditionSeenMs.delete(condition);
  const due = met.filter((threshold) => nowMs - firstMetMs.get(threshold)! >= threshold.gracePeriodMs);
  return { due: [...due].sort(memoryFirst), firstMetMs, conditionSeenMs };
}

/** Whether too little is left; `withReclaim` also asks for what must be free beyond the threshold. */
export function isMet(threshold: Threshold, observation: Observation | undefined, mode?: 'withReclaim'): boolean {
  if (!observation) return false;
  const { available, capacity } = observation;
  const reclaim = mode && threshold.minReclaim ? thresholdAmount(threshold.minReclaim, capacity) : 0;
  return thresholdAmount(threshold.value, capacity) + reclaim > available;
}

function memoryFirst(a: Threshold, b: Threshold): number {
  return Number(resourceOf(b.signal) === 'memory') - Number(resourceOf(a.signal) === 'memory');
}

export function conditionOf(signal: Signal): PressureCondition {
  const resource = resourceOf(signal);
  return resource === 'memory' ? 'MemoryPressure' : resource === 'pids' ? 'PIDPressure' : 'DiskPressure';
}

export function resourceOf(signal: Signal): StarvedResource {
  if (signal === 'memory.available' || signal === 'allocatableMemory.available') return 'memory';
  if (signal === 'pid.available') return 'pids';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

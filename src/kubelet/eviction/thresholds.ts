/**
 * Eviction thresholds as the configuration names them: `memory.available: 100Mi`, `nodefs.available: 10%`, soft ones with a grace period,
 * each with what must be free beyond it before its pressure counts as over. Pure; messages are upstream's.
 */
import { parseQuantity, type Quantity, QuantityError } from '../../apimachinery/quantity.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import type { KubeletConfiguration } from '../configuration.ts';

export const signals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;

export type Signal = (typeof signals)[number];

/** A share of the whole, or an amount in bytes, inodes or processes. */
export type ThresholdValue = { readonly share: number } | { readonly amount: Quantity };

export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** 0: hard. */
  readonly gracePeriodMs: number;
  readonly minReclaim?: ThresholdValue | undefined;
}

export interface ThresholdSettings {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Whether the cgroup of all Pods is bounded, so that memory can run out in it while the node has some. */
  readonly enforcesAllocatable: boolean;
}

/** Throws an `Error` for what cannot be a threshold. */
export function parseThresholds(settings: ThresholdSettings): readonly Threshold[] {
  const graces = parseAll(settings.evictionSoftGracePeriod, gracePeriod);
  const reclaims = parseAll(settings.evictionMinimumReclaim, minimumReclaim);
  const hard = [...parseAll(settings.evictionHard, thresholdValue)].map(([signal, value]) => ({
    signal,
    value,
    gracePeriodMs: 0,
  }));
  const soft = [...parseAll(settings.evictionSoft, thresholdValue)].map(([signal, value]) => {
    const gracePeriodMs = graces.get(signal);
    if (gracePeriodMs === undefined)
      throw new Error(`grace period must be specified for the soft eviction threshold ${signal}`);
    return { signal, value, gracePeriodMs };
  });
  const all = [...hard, ...soft].map((threshold) => withReclaim(threshold, reclaims.get(threshold.signal)));
  const memory = settings.enforcesAllocatable
    ? all.filter(({ signal, gracePeriodMs }) => signal === 'memory.available' && gracePeriodMs === 0)
    : [];
  return [...all, ...memory.map((threshold): Threshold => ({ ...threshold, signal: 'allocatableMemory.available' }))];
}

export function thresholdsOf(configuration: KubeletConfiguration): readonly Threshold[] {
  return parseThresholds({
    ...configuration,
    enforcesAllocatable: configuration.cgroupsPerQos && configuration.enforceNodeAllocatable.includes('pods'),
  });
}

function withReclaim(threshold: Threshold, minReclaim: ThresholdValue | undefined): Threshold {
  return minReclaim ? { ...threshold, minReclaim } : threshold;
}

/** Where containers' layers lie on the disk of images, or of everything else, its thresholds are theirs too; own ones are ignored. */
export function withContainerFilesystem(
  thresholds: readonly Threshold[],
  dedicatedImageFs: boolean,
): readonly Threshold[] {
  const origin = dedicatedImageFs ? 'imagefs' : 'nodefs';
  const derived = thresholds
    .filter(({ signal }) => signal.startsWith(`${origin}.`))
    .map((threshold) => ({ ...threshold, signal: threshold.signal.replace(origin, 'containerfs') as Signal }));
  return [...thresholds.filter(({ signal }) => !signal.startsWith('containerfs.')), ...derived];
}

function parseAll<T>(
  statements: Readonly<Record<string, string>>,
  parse: (signal: Signal, text: string) => T | undefined,
): Map<Signal, T> {
  const parsed = new Map<Signal, T>();
  for (const [name, text] of Object.entries(statements)) {
    const signal = signals.find((candidate) => candidate === name);
    if (!signal) throw new Error(`unsupported eviction signal ${name}`);
    const value = parse(signal, text);
    if (value !== undefined) parsed.set(signal, value);
  }
  return parsed;
}

/** None and all of it are no thresholds. */
function thresholdValue(signal: Signal, text: string): ThresholdValue | undefined {
  if (text === '0%' || text === '100%') return undefined;
  const value = parseThresholdValue(text);
  if ('share' in value) {
    if (value.share < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (value.share > 1) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
  } else if (value.amount.sign <= 0) {
    throw new Error(`eviction threshold ${signal} must be positive: ${value.amount}`);
  }
  return value;
}

function minimumReclaim(signal: Signal, text: string): ThresholdValue {
  const value = parseThresholdValue(text);
  if ('share' in value) {
    if (value.share <= 0) throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
  } else if (value.amount.sign < 0) {
    throw new Error(`negative eviction minimum reclaim specified for ${signal}`);
  }
  return value;
}

function gracePeriod(_signal: Signal, text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new Error(`time: invalid duration ${JSON.stringify(text)}`);
  if (milliseconds < 0) throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return milliseconds;
}

/** Shares have single precision, as upstream's have: their last digits are seen in messages. */
export function parseThresholdValue(text: string): ThresholdValue {
  if (!text.endsWith('%')) return { amount: amountIn(text) };
  const percent = Number(text.slice(0, -1).trim() || Number.NaN);
  if (Number.isNaN(percent))
    throw new Error(`strconv.ParseFloat: parsing ${JSON.stringify(text.slice(0, -1))}: invalid syntax`);
  return { share: Math.fround(Math.fround(percent) / 100) };
}

function amountIn(text: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) throw new Error(error.message, { cause: error });
    throw error;
  }
}

/** In units of `capacity`. */
export function thresholdAmount(value: ThresholdValue, capacity: number): number {
  return 'share' in value ? Math.trunc(capacity * value.share) : Number(value.amount.value());
}

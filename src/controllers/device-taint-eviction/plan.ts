/**
 * When a Pod must leave because a device it uses has a NoExecute taint, by the device's driver (ResourceSlice) or by an administrator
 * (DeviceTaintRule): pure. A claim's time is the earliest of its devices' taints, each put off by the least of the tolerations that fit
 * it; a Pod's is the earliest of its claims.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
  ResourceSlice,
} from '../../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../../api/gen/resource-v1beta2.ts';
import { isControlledBy } from '../../apimachinery/meta.ts';

export interface Eviction {
  readonly dueAtMs: number;
  /** Rules that are among the reasons, by uid. */
  readonly rules: ReadonlySet<string>;
  /** `driver/pool/device` of each device that is a reason. */
  readonly devices: ReadonlySet<string>;
}

export interface Taints {
  /** Slices of one pool, of whatever generation. */
  slicesOf(driver: string, pool: string): readonly ResourceSlice[];
  readonly rules: readonly DeviceTaintRule[];
}

interface TrackedTaint {
  readonly taint: Pick<DeviceTaint, 'key' | 'value' | 'effect' | 'timeAdded'>;
  readonly rule?: string | undefined;
}

/** Of a pool only the newest generation counts. */
export function currentSlices(slices: readonly ResourceSlice[]): readonly ResourceSlice[] {
  const newest = Math.max(...slices.map(({ spec }) => spec.pool.generation));
  return slices.filter(({ spec }) => spec.pool.generation === newest);
}

export function selects(
  { spec: { deviceSelector } }: Pick<DeviceTaintRule, 'spec'>,
  device: Pick<DeviceRequestAllocationResult, 'driver' | 'pool' | 'device'>,
): boolean {
  if (!deviceSelector) return false;
  const { driver = device.driver, pool = device.pool, device: name = device.device } = deviceSelector;
  return driver === device.driver && pool === device.pool && name === device.device;
}

function claimEviction(claim: ResourceClaim, taints: Taints): Eviction | undefined {
  let dueAtMs: number | undefined;
  const rules = new Set<string>();
  const devices = new Set<string>();
  for (const allocated of claim.status?.allocation?.devices?.results ?? []) {
    for (const { taint, rule } of evictingTaints(allocated, taints)) {
      const seconds = toleratedSeconds(taint, allocated.tolerations ?? []);
      if (seconds === Number.POSITIVE_INFINITY || !taint.timeAdded) continue;
      const atMs = Date.parse(taint.timeAdded) + seconds * 1000;
      dueAtMs = Math.min(dueAtMs ?? atMs, atMs);
      devices.add(`${allocated.driver}/${allocated.pool}/${allocated.device}`);
      if (rule) rules.add(rule);
    }
  }
  return dueAtMs === undefined ? undefined : { dueAtMs, rules, devices };
}

function evictingTaints(allocated: DeviceRequestAllocationResult, { slicesOf, rules }: Taints): TrackedTaint[] {
  const slices = currentSlices(slicesOf(allocated.driver, allocated.pool));
  const device = slices.flatMap(({ spec }) => spec.devices ?? []).find(({ name }) => name === allocated.device);
  const own = (device?.taints ?? []).map((taint): TrackedTaint => ({ taint }));
  const ruled = rules
    .filter((rule) => selects(rule, allocated))
    .map(({ spec, metadata }): TrackedTaint => ({ taint: spec.taint, rule: metadata.uid }));
  return [...own, ...ruled].filter(({ taint }) => taint.effect === 'NoExecute');
}

/** 0 when nothing tolerates the taint. A toleration counts only when it names the effect. */
function toleratedSeconds(taint: TrackedTaint['taint'], tolerations: readonly DeviceToleration[]): number {
  const fitting = tolerations.filter((toleration) => tolerates(toleration, taint));
  if (fitting.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return Number.POSITIVE_INFINITY;
  if (fitting.length === 0) return 0;
  return Math.min(...fitting.map(({ tolerationSeconds = 0 }) => Math.max(0, tolerationSeconds)));
}

function tolerates({ key, operator, value, effect }: DeviceToleration, taint: TrackedTaint['taint']): boolean {
  if (effect !== taint.effect || (key && key !== taint.key)) return false;
  return operator === 'Exists' || ((operator ?? 'Equal') === 'Equal' && (value ?? '') === (taint.value ?? ''));
}

/** Keys of the claims that a Pod refers to, as far as they are made, and whether each must be its own. */
function claimsUsed({ metadata, spec, status }: Pod): readonly { readonly key: string; readonly own: boolean }[] {
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName, resourceClaimTemplateName }) => {
    const made = status?.resourceClaimStatuses?.find((entry) => entry.name === name)?.resourceClaimName;
    const claim = resourceClaimName ?? (resourceClaimTemplateName ? made : undefined);
    return claim ? [{ key: `${metadata.namespace}/${claim}`, own: resourceClaimName === undefined }] : [];
  });
}

/** Undefined: it may stay. A claim that is reserved for others says nothing about this Pod. */
export function podEviction(
  pod: Pod,
  claimOf: (key: string) => ResourceClaim | undefined,
  taints: Taints,
): Eviction | undefined {
  if (!pod.spec.nodeName) return undefined;
  const evictions = claimsUsed(pod).flatMap(({ key, own }) => {
    const claim = claimOf(key);
    const reserved = claim?.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid);
    if (!claim || !reserved || (own && !isControlledBy(claim, pod))) return [];
    return claimEviction(claim, taints) ?? [];
  });
  if (evictions.length === 0) return undefined;
  return {
    dueAtMs: Math.min(...evictions.map(({ dueAtMs }) => dueAtMs)),
    rules: new Set(evictions.flatMap(({ rules }) => [...rules])),
    devices: new Set(evictions.flatMap(({ devices }) => [...devices])),
  };
}

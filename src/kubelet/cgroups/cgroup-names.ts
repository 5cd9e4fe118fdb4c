/**
 * Where cgroups lie: `kubepods/burstable/podUID` with the `cgroupfs` driver, a slice within a slice with `systemd`. In systemd's names a
 * dash means "below", so each slice repeats those above it. Pure.
 *
 *     cgroupfs  /kubepods/burstable/pod1-2
 *     systemd   /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice
 */
import { posix } from 'node:path';
import type { PodQOSClass } from '../../api/gen/core-v1.ts';

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** From the outermost to the innermost: `['kubepods', 'burstable', 'podUID']`. */
export type CgroupName = readonly string[];

export const podsGroup: CgroupName = ['kubepods'];
export const burstableGroup: CgroupName = ['kubepods', 'burstable'];
export const bestEffortGroup: CgroupName = ['kubepods', 'besteffort'];

export function podGroup(uid: string, qos: PodQOSClass): CgroupName {
  const parent = { Guaranteed: podsGroup, Burstable: burstableGroup, BestEffort: bestEffortGroup }[qos];
  return [...parent, `pod${uid}`];
}

/** Below the mount point of the hierarchy. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver, root: string): string {
  return posix.join(
    root,
    ...(driver === 'cgroupfs' ? name : name.map((_, depth) => sliceOf(name.slice(0, depth + 1)))),
  );
}

/** The unit's name. */
export function sliceOf(name: CgroupName): string {
  return `${name.map((part) => part.replaceAll('-', '_')).join('-')}.slice`;
}

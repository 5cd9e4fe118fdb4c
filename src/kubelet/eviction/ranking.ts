/**
 * In which order Pods are evicted: those above their requests before those within, then the less important, then by how far they are
 * above. What a Pod uses of a disk depends on which disk it is. Pure; the rules are upstream's.
 */
import { podRequests } from '../../api/core/v1/pod-resources.ts';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import type { DiskUse } from '../host/host.ts';
import type { PodUse } from './measurement.ts';
import { resourceOf } from './pressure.ts';
import type { Signal } from './thresholds.ts';

export type UseOf = (pod: Pod) => PodUse | undefined;

export interface RankingOptions {
  readonly useOf: UseOf;
  /** Images, and with them writable layers, have a file system of their own. */
  readonly dedicatedImageFs: boolean;
}

/** The first is evicted first. */
export function rankForEviction(signal: Signal, pods: readonly Pod[], options: RankingOptions): readonly Pod[] {
  const resource = resourceOf(signal);
  const ranked = pods.map((pod) => ({ pod, priority: pod.spec.priority ?? 0, ...standing(signal, pod, options) }));
  ranked.sort((a, b) => {
    // A Pod that nothing is known of goes first.
    const byKnowledge = Number(a.isKnown) - Number(b.isKnown);
    const byRequest = resource === 'pids' ? 0 : byKnowledge || Number(b.exceeds) - Number(a.exceeds);
    return byRequest || a.priority - b.priority || byKnowledge || b.excess - a.excess;
  });
  return ranked.map(({ pod }) => pod);
}

interface Standing {
  readonly isKnown: boolean;
  readonly exceeds: boolean;
  readonly excess: number;
}

function standing(signal: Signal, pod: Pod, { useOf, dedicatedImageFs }: RankingOptions): Standing {
  const use = useOf(pod);
  if (!use) return { isKnown: false, exceeds: true, excess: 0 };
  const requests = podRequests(pod);
  const resource = resourceOf(signal);
  if (resource === 'pids') return { isKnown: true, exceeds: false, excess: use.processes };
  if (resource === 'memory') {
    const excess = use.memoryBytes - (requests.memory ?? 0);
    return { isKnown: true, exceeds: excess > 0, excess };
  }
  const parts = dedicatedImageFs ? (signal.startsWith('nodefs') ? nodeParts : imageParts) : allParts;
  const disk = podDiskUse(pod, use, parts);
  const storage = requests['ephemeral-storage'] ?? 0;
  // Nobody requests inodes: each Pod that has one is above its request.
  return resource === 'inodes'
    ? { isKnown: true, exceeds: disk.inodes > 0, excess: disk.inodes - storage }
    : { isKnown: true, exceeds: disk.bytes > storage, excess: disk.bytes - storage };
}

type DiskPart = 'layer' | 'logs' | 'volumes';
const nodeParts: readonly DiskPart[] = ['logs', 'volumes'];
const imageParts: readonly DiskPart[] = ['layer'];
const allParts: readonly DiskPart[] = ['layer', 'logs', 'volumes'];

export function podDiskUse(pod: Pod, use: PodUse, parts: readonly DiskPart[] = allParts): DiskUse {
  const pieces: (DiskUse | undefined)[] = [];
  if (parts.includes('layer')) pieces.push(...use.containers.map(({ layer }) => layer));
  if (parts.includes('logs')) pieces.push(...use.containers.map(({ logs }) => logs));
  if (parts.includes('volumes'))
    pieces.push(...(pod.spec.volumes ?? []).filter(isLocal).map(({ name }) => use.volumes.get(name)));
  return {
    bytes: pieces.reduce((sum, piece) => sum + (piece?.bytes ?? 0), 0),
    inodes: pieces.reduce((sum, piece) => sum + (piece?.inodes ?? 0), 0),
  };
}

/** Lies on a disk of the node and goes with the Pod. */
export function isLocalEphemeral(volume: Volume): boolean {
  const onDisk =
    volume.emptyDir && volume.emptyDir.medium !== 'Memory' && !volume.emptyDir.medium?.startsWith('HugePages');
  return Boolean(onDisk ?? volume.configMap ?? volume.gitRepo);
}

function isLocal(volume: Volume): boolean {
  return volume.hostPath !== undefined || isLocalEphemeral(volume);
}

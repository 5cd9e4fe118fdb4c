/**
 * Which dead containers and sandboxes go: per container of a Pod the newest ones stay for their logs, and over all a number may be
 * set. Pure; carried out once a minute. What the kubelet did not make, or belongs to a Pod that it does not know, is never named here:
 * the former is not ours, the latter goes with a worker of its own.
 *
 *     MaxPerPodContainer 3, MaxContainers 4, two containers with 3 dead each: 6 would stay, so each keeps 4 / 2 = 2
 *     MaxContainers 1: each keeps one, and then the older of the two goes as well
 */
import type { Container, Sandbox } from '../runtime/runtime.ts';
import { runtimeLabels } from '../runtime/runtime.ts';

export interface ContainerCollectionPolicy {
  /** A container must have existed that long; 0: any. */
  readonly minAgeMs: number;
  /** Below 0: no limit. */
  readonly maxPerPodContainer: number;
  readonly maxContainers: number;
  /** Under pressure nothing of Pods that have ended stays, whatever the limits. */
  readonly removesEnded?: boolean | undefined;
}

/** `ended`: nothing of the Pod will run again, but its object is still there. */
export type PodPresence = 'active' | 'ended' | 'unknown';

export interface Collected {
  /** In the order of removal: the oldest first. */
  readonly containers: readonly Container[];
  readonly sandboxes: readonly Sandbox[];
}

export interface CollectionInput {
  readonly containers: readonly Container[];
  readonly sandboxes: readonly Sandbox[];
  presenceOf(uid: string): PodPresence;
  readonly nowMs: number;
}

export function collectable(input: CollectionInput, policy: ContainerCollectionPolicy): Collected {
  const { nowMs, presenceOf } = input;
  const dead = input.containers.filter(
    ({ state, createdAtMs, labels }) =>
      state !== 'running' && isOurs(labels, presenceOf) && nowMs - createdAtMs >= policy.minAgeMs,
  );
  const units = [...groupBy(dead, ({ labels, name }) => `${uidOf(labels)}/${name}`).values()].map(newestFirst);
  const gone = new Set<Container>();
  const isEnded = (uid: string) => policy.removesEnded === true && presenceOf(uid) === 'ended';
  const kept = units.filter(([first]) => !isEnded(uidOf(first!.labels)));
  for (const unit of units) if (!kept.includes(unit)) for (const container of unit) gone.add(container);
  if (policy.maxPerPodContainer >= 0) keepNewest(kept, policy.maxPerPodContainer, gone);
  if (policy.maxContainers >= 0) keepWithin(kept, policy.maxContainers, gone);
  return { containers: newestFirst([...gone]).reverse(), sandboxes: deadSandboxes(input, gone, isEnded) };
}

const uidOf = (labels: Readonly<Record<string, string>>) => labels[runtimeLabels.podUid] ?? '';

function isOurs(labels: Readonly<Record<string, string>>, presenceOf: CollectionInput['presenceOf']): boolean {
  return labels[runtimeLabels.podUid] !== undefined && presenceOf(uidOf(labels)) !== 'unknown';
}

function keepNewest(units: readonly (readonly Container[])[], count: number, gone: Set<Container>): void {
  for (const unit of units) for (const container of unit.slice(count)) gone.add(container);
}

/** Too many over all: fewer for each, at least one; if even that is too many, the oldest go. */
function keepWithin(units: readonly (readonly Container[])[], max: number, gone: Set<Container>): void {
  const left = () => units.flat().filter((container) => !gone.has(container));
  if (left().length <= max) return;
  keepNewest(units, Math.max(1, Math.floor(max / units.length)), gone);
  for (const container of newestFirst(left()).slice(max)) gone.add(container);
}

/** The newest sandbox of a Pod stays; so does one that still holds a container. */
function deadSandboxes(
  { containers, sandboxes, presenceOf }: CollectionInput,
  gone: ReadonlySet<Container>,
  isEnded: (uid: string) => boolean,
): Sandbox[] {
  const inUse = new Set(containers.filter((container) => !gone.has(container)).map(({ sandboxId }) => sandboxId));
  const found: Sandbox[] = [];
  for (const [uid, ofPod] of groupBy(sandboxes, ({ labels }) => uidOf(labels))) {
    if (!ofPod.every(({ labels }) => isOurs(labels, presenceOf))) continue;
    const candidates = newestFirst(ofPod).slice(isEnded(uid) ? 0 : 1);
    found.push(...candidates.filter(({ id, state }) => state === 'notReady' && !inUse.has(id)));
  }
  return found;
}

function newestFirst<T extends { readonly createdAtMs: number }>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => b.createdAtMs - a.createdAtMs);
}

function groupBy<T>(list: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(keyOf(item)) ?? [];
    group.push(item);
    groups.set(keyOf(item), group);
  }
  return groups;
}

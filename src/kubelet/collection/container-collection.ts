/**
 * Which dead containers and sandboxes go: per container of a Pod the newest ones stay for their logs, and over all a number may be
 * set. Pure; carried out once a minute. Containers of deleted Pods go with their Pod's worker, not here.
 */
import type { Container, Sandbox } from '../runtime/runtime.ts';
import { runtimeLabels } from '../runtime/runtime.ts';

export interface ContainerCollectionPolicy {
  /** A container must have existed that long. */
  readonly minAgeMs: number;
  /** Below 0: no limit. */
  readonly maxPerPodContainer: number;
  readonly maxContainers: number;
}

export interface Collected {
  readonly containers: readonly Container[];
  readonly sandboxes: readonly Sandbox[];
}

export interface CollectionInput {
  readonly containers: readonly Container[];
  readonly sandboxes: readonly Sandbox[];
  /** Pods that the node still has. */
  hasPod(uid: string): boolean;
  readonly nowMs: number;
}

export function collectable(input: CollectionInput, policy: ContainerCollectionPolicy): Collected {
  const { nowMs, hasPod } = input;
  const ofPods = input.containers.filter(({ labels }) => labels[runtimeLabels.podUid] !== undefined);
  const dead = ofPods.filter(
    ({ state, createdAtMs, labels }) =>
      state !== 'running' && hasPod(uidOf(labels)) && nowMs - createdAtMs >= policy.minAgeMs,
  );
  const units = [...groupBy(dead, ({ labels, name }) => `${uidOf(labels)}/${name}`).values()].map(newestFirst);
  const gone = new Set<Container>();
  if (policy.maxPerPodContainer >= 0) keepNewest(units, policy.maxPerPodContainer, gone);
  if (policy.maxContainers >= 0) keepWithin(units, policy.maxContainers, gone);
  return { containers: [...gone], sandboxes: deadSandboxes(input, gone) };
}

const uidOf = (labels: Readonly<Record<string, string>>) => labels[runtimeLabels.podUid] ?? '';

function keepNewest(units: readonly (readonly Container[])[], count: number, gone: Set<Container>): void {
  for (const unit of units) for (const container of unit.slice(count)) gone.add(container);
}

/** Too many over all: fewer for each, at least one; if even that is too many, the oldest go. */
function keepWithin(units: readonly (readonly Container[])[], max: number, gone: Set<Container>): void {
  const left = () => units.flat().filter((container) => !gone.has(container));
  if (left().length <= max) return;
  keepNewest(units, Math.max(1, Math.floor(max / Math.max(1, units.length))), gone);
  const rest = newestFirst(left());
  for (const container of rest.slice(max)) gone.add(container);
}

/** The newest sandbox of a Pod stays; so does one that still holds a container. */
function deadSandboxes({ containers, sandboxes, hasPod }: CollectionInput, gone: ReadonlySet<Container>): Sandbox[] {
  const inUse = new Set(containers.filter((container) => !gone.has(container)).map(({ sandboxId }) => sandboxId));
  const found: Sandbox[] = [];
  for (const [uid, ofPod] of groupBy(sandboxes, ({ labels }) => uidOf(labels))) {
    if (uid === '' || !hasPod(uid)) continue;
    const [, ...older] = newestFirst(ofPod);
    found.push(...older.filter(({ id, state }) => state === 'notReady' && !inUse.has(id)));
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

/**
 * What a DaemonSet does next: where Pods are missing or wrong, and, when those are right, one step of a rolling update. Pure.
 */
import { isPodAvailable, isPodReady } from '../../api/core/v1/pod-status.ts';
import type { DaemonSet, DaemonSetStatus } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { revisionHashLabel } from '../common/history.ts';
import { scaledValue } from '../common/rounding.ts';
import { placementOn, targetNodeOf } from './placement.ts';

export interface ObservedDaemonSet {
  readonly daemonSet: DaemonSet;
  readonly nodes: readonly Node[];
  /** Its Pods. */
  readonly pods: readonly Pod[];
  /** Of the present template. */
  readonly hash: string;
  /** Milliseconds until a failed Pod of this Node may be replaced; 0: now. */
  replacementInMs(nodeName: string): number;
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** Names of Nodes that get a Pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Pods to be removed because they ended, for Events. */
  readonly ended: readonly { readonly pod: Pod; readonly node: string; readonly failed: boolean }[];
  /** When a failed Pod that must wait may be replaced. */
  readonly againAfterMs: number | undefined;
}

export function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  return Map.groupBy(
    pods.filter((pod) => targetNodeOf(pod) !== undefined),
    (pod) => targetNodeOf(pod)!,
  );
}

export function planPlacement(observed: ObservedDaemonSet): DaemonPlan {
  const { daemonSet, nodes, pods } = observed;
  const byNode = podsByNode(pods);
  const create: string[] = [];
  const remove: Pod[] = [];
  const ended: { readonly pod: Pod; readonly node: string; readonly failed: boolean }[] = [];
  let againAfterMs: number | undefined;
  for (const node of nodes) {
    const name = node.metadata.name ?? '';
    const { run, keep } = placementOn(daemonSet, node);
    const present = byNode.get(name) ?? [];
    if (run && present.length === 0) create.push(name);
    else if (!keep) remove.push(...present.filter((pod) => !pod.metadata.deletionTimestamp));
    else {
      const running: Pod[] = [];
      for (const pod of present) {
        const phase = pod.status?.phase;
        if (pod.metadata.deletionTimestamp) continue;
        if (phase === 'Failed') {
          const waitMs = observed.replacementInMs(name);
          if (waitMs > 0) againAfterMs = Math.min(againAfterMs ?? waitMs, waitMs);
          else ended.push({ pod, node: name, failed: true });
        } else if (phase === 'Succeeded') ended.push({ pod, node: name, failed: false });
        else running.push(pod);
      }
      remove.push(...surplus(observed, running));
    }
  }
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const homeless = pods.filter(
    (pod) => !pod.spec.nodeName && !pod.metadata.deletionTimestamp && !known.has(targetNodeOf(pod)),
  );
  remove.push(...homeless, ...ended.map(({ pod }) => pod));
  return { create, remove, ended, againAfterMs };
}

/** One Pod a Node; while surging, an old one may serve until the new one does. */
function surplus({ daemonSet, hash, nowMs }: ObservedDaemonSet, running: readonly Pod[]): readonly Pod[] {
  if (running.length <= 1) return [];
  const sorted = [...running].sort(byCreation);
  if (limitsOf(daemonSet, running.length).maxSurge === 0) return sorted.slice(1);
  const isNew = (pod: Pod) => pod.metadata.labels?.[revisionHashLabel] === hash;
  const fresh = sorted.find(isNew);
  const old = sorted.find((pod) => !isNew(pod));
  const extra = sorted.filter((pod) => pod !== fresh && pod !== old);
  const done = fresh && old && (!isPodReady(old) || isPodAvailable(fresh, daemonSet.spec.minReadySeconds ?? 0, nowMs));
  return done ? [...extra, old] : extra;
}

function byCreation(a: Pod, b: Pod): number {
  return (
    Number(b.spec.nodeName !== undefined) - Number(a.spec.nodeName !== undefined) ||
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
    (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
  );
}

/** Both are rounded up; with neither, one Pod may be unavailable. */
export function limitsOf(
  daemonSet: DaemonSet,
  desired: number,
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { type, rollingUpdate } = daemonSet.spec.updateStrategy ?? {};
  if (type === 'OnDelete') return { maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = scaledValue(rollingUpdate?.maxSurge ?? 0, desired, true) ?? 0;
  const maxUnavailable = scaledValue(rollingUpdate?.maxUnavailable ?? 1, desired, true) ?? 1;
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** One step of a rolling update, to be asked for when nothing is missing or wrong. */
export function planUpdate(observed: ObservedDaemonSet): Pick<DaemonPlan, 'create' | 'remove'> {
  const { daemonSet, nodes, pods } = observed;
  if (daemonSet.spec.updateStrategy?.type === 'OnDelete') return { create: [], remove: [] };
  const byNode = podsByNode(pods);
  const wanted = nodes.filter((node) => placementOn(daemonSet, node).run);
  const { maxSurge, maxUnavailable } = limitsOf(daemonSet, wanted.length);
  const views = wanted.map((node) => viewNode(observed, node.metadata.name ?? '', byNode));
  return maxSurge > 0 ? planSurge(views, maxSurge) : { create: [], remove: planReplacement(views, maxUnavailable) };
}

interface NodeView {
  readonly name: string;
  readonly fresh: Pod | undefined;
  readonly old: Pod | undefined;
  /** More than one of a sort: wait until placement has put it right. */
  readonly crowded: boolean;
  readonly freshAvailable: boolean;
  readonly oldAvailable: boolean;
}

function viewNode(
  { daemonSet, hash, nowMs }: ObservedDaemonSet,
  name: string,
  byNode: ReadonlyMap<string, readonly Pod[]>,
): NodeView {
  const live = (byNode.get(name) ?? []).filter((pod) => !pod.metadata.deletionTimestamp);
  const fresh = live.filter((pod) => pod.metadata.labels?.[revisionHashLabel] === hash);
  const old = live.filter((pod) => pod.metadata.labels?.[revisionHashLabel] !== hash);
  const available = (pod: Pod | undefined) =>
    pod !== undefined && isPodAvailable(pod, daemonSet.spec.minReadySeconds ?? 0, nowMs);
  return {
    name,
    fresh: fresh[0],
    old: old[0],
    crowded: fresh.length > 1 || old.length > 1,
    freshAvailable: available(fresh[0]),
    oldAvailable: available(old[0]),
  };
}

/** Old Pods that serve nobody go at once; others as far as unavailability allows. */
function planReplacement(views: readonly NodeView[], maxUnavailable: number): readonly Pod[] {
  let unavailable = 0;
  const useless: Pod[] = [];
  const candidates: Pod[] = [];
  for (const { fresh, old, crowded, freshAvailable, oldAvailable } of views) {
    if (crowded || Boolean(fresh) === Boolean(old)) unavailable++;
    else if (fresh) unavailable += Number(!freshAvailable);
    else if (old) (oldAvailable ? candidates : useless).push(old);
  }
  return [...useless, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))];
}

/** The new Pod comes first, the old one goes when the new one is available. */
function planSurge(views: readonly NodeView[], maxSurge: number): Pick<DaemonPlan, 'create' | 'remove'> {
  let surging = 0;
  const urgent: string[] = [];
  const candidates: string[] = [];
  const remove: Pod[] = [];
  for (const { name, fresh, old, crowded, freshAvailable, oldAvailable } of views) {
    if (crowded) surging++;
    else if (!old) continue;
    else if (!fresh) (oldAvailable ? candidates : urgent).push(name);
    else if (freshAvailable) remove.push(old);
    else surging++;
  }
  return { create: [...urgent, ...candidates.slice(0, Math.max(0, maxSurge - surging))], remove };
}

export function planDaemonStatus({
  daemonSet,
  nodes,
  pods,
  hash,
  nowMs,
}: Omit<ObservedDaemonSet, 'replacementInMs'>): DaemonSetStatus {
  const byNode = podsByNode(pods);
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
  for (const node of nodes) {
    const present = [...(byNode.get(node.metadata.name ?? '') ?? [])].sort(byCreation);
    if (!placementOn(daemonSet, node).run) {
      if (present.length > 0) counts.misscheduled++;
      continue;
    }
    counts.desired++;
    const [pod] = present;
    if (!pod) continue;
    counts.current++;
    if (isPodReady(pod)) counts.ready++;
    if (isPodAvailable(pod, daemonSet.spec.minReadySeconds ?? 0, nowMs)) counts.available++;
    if (pod.metadata.labels?.[revisionHashLabel] === hash) counts.updated++;
  }
  return {
    ...daemonSet.status,
    observedGeneration: daemonSet.metadata.generation,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
}

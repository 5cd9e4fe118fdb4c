/** What keeps a DaemonSet from its next step: failed Pods that are replaced after a pause, and the pace of a rolling update. Pure. */
import { isPodAvailable } from '../../api/core/v1/pod-status.ts';
import { type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import { revisionHashLabel } from '../common/history.ts';
import { placementOn } from './placement.ts';
import { limitsOf, type ObservedDaemonSet, podsByNode } from './plan.ts';

/** More names than this would tell the reader nothing. */
const namedPods = 3;

export function daemonCauses(observed: ObservedDaemonSet): readonly CauseNote[] {
  return [...failures(observed), ...updatePace(observed)];
}

function failures({ pods, nowMs, replacementInMs }: ObservedDaemonSet): readonly CauseNote[] {
  const failed = pods.filter(({ metadata, status }) => status?.phase === 'Failed' && !metadata.deletionTimestamp);
  const waiting = failed.map((pod) => ({ pod, waitMs: replacementInMs(pod.spec.nodeName ?? '') }));
  const held = waiting.filter(({ waitMs }) => waitMs > 0);
  if (held.length === 0) return [];
  const message = `failed Pods are replaced after a pause that grows with each failure: ${held.length} ${held.length === 1 ? 'waits' : 'wait'}`;
  const untilMs = nowMs + Math.min(...held.map(({ waitMs }) => waitMs));
  return [{ reason: 'BackingOff', message, untilMs, waitsFor: named(held.map(({ pod }) => pod)) }];
}

function updatePace({ daemonSet, nodes, pods, hash, nowMs }: ObservedDaemonSet): readonly CauseNote[] {
  const byNode = podsByNode(pods);
  const wanted = nodes.filter((node) => placementOn(daemonSet, node).run);
  const present = wanted.flatMap(({ metadata }) => byNode.get(metadata.name ?? '') ?? []);
  const old = present.filter((pod) => pod.metadata.labels?.[revisionHashLabel] !== hash);
  if (old.length === 0) return [];
  if (daemonSet.spec.updateStrategy?.type === 'OnDelete') {
    const message = `${old.length} old Pods are replaced only when somebody deletes them (update strategy OnDelete)`;
    return [{ reason: 'UpdateOnDelete', message, waitsFor: named(old) }];
  }
  const unavailable = present.filter((pod) => !isPodAvailable(pod, daemonSet.spec.minReadySeconds ?? 0, nowMs));
  const { maxSurge, maxUnavailable } = limitsOf(daemonSet, wanted.length);
  const limit = maxSurge > 0 ? `${maxSurge} more than one for each node` : `${maxUnavailable} unavailable`;
  const message = `${old.length} old Pods wait to be replaced: the update allows ${limit}, and ${unavailable.length} are not available`;
  return [{ reason: 'UpdatePaced', message, waitsFor: named(unavailable) }];
}

function named(pods: readonly Pod[]): CauseNote['waitsFor'] {
  return pods.slice(0, namedPods).map((pod) => subjectOf(podType, pod));
}

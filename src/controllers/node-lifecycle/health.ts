/**
 * Whether a Node is heard of: pure. Heartbeats are noticed by their being different from the last ones seen, and timed by our own
 * clock, never by the node's. A Node that stays silent past its grace period gets conditions of status Unknown.
 */
import type { Node, NodeCondition } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { formatTime } from '../../apimachinery/time.ts';

export interface HealthSettings {
  /** Silence after which a Node that was heard of before becomes Unknown. */
  readonly monitorGraceMs: number;
  /** The same for one whose kubelet never reported. */
  readonly startupGraceMs: number;
}

/** What is remembered of a Node between looks. */
export interface HealthRecord {
  readonly ready: NodeCondition | undefined;
  readonly leaseRenewTime: string | undefined;
  /** When something new was last noticed, on our clock. */
  readonly heardAtMs: number;
}

export interface HealthReport {
  readonly record: HealthRecord;
  /** What Ready was before this look; Unknown where there was none. */
  readonly before: string;
  /** What Ready is now, once `conditions` are written; undefined while the kubelet may still be starting. */
  readonly after: string | undefined;
  /** All conditions of the Node, to be written; undefined when nothing changes. */
  readonly conditions: readonly NodeCondition[] | undefined;
}

/** NetworkUnavailable is not the kubelet's to report, so its silence says nothing about it. */
const reported = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

export interface HealthLook {
  /** Of the Node's Lease, where it has one. */
  readonly leaseRenewTime: string | undefined;
  /** What the look before has left. */
  readonly previous: HealthRecord | undefined;
  readonly nowMs: number;
}

export function reviewHealth(node: Node, settings: HealthSettings, look: HealthLook): HealthReport {
  const { nowMs } = look;
  const ready = findCondition(node.status?.conditions, 'Ready');
  const record = remember(node, ready, look);
  const graceMs = ready ? settings.monitorGraceMs : settings.startupGraceMs;
  const before = ready?.status ?? 'Unknown';
  const unchanged = { record, before, after: ready?.status, conditions: undefined };
  if (nowMs <= record.heardAtMs + graceMs) return unchanged;
  const conditions = silenced(node, nowMs);
  const next = findCondition(conditions, 'Ready');
  if (next === ready) return unchanged;
  return { record: { ...record, ready: next }, before, after: 'Unknown', conditions };
}

function remember(
  node: Node,
  ready: NodeCondition | undefined,
  { leaseRenewTime, previous, nowMs }: HealthLook,
): HealthRecord {
  const renewed = leaseRenewTime !== undefined && leaseRenewTime > (previous?.leaseRenewTime ?? '');
  let heardAtMs: number;
  if (!previous) heardAtMs = ready ? nowMs : Date.parse(node.metadata.creationTimestamp ?? '') || nowMs;
  else if (Boolean(previous.ready) !== Boolean(ready)) heardAtMs = nowMs;
  else if (previous.ready?.lastHeartbeatTime !== ready?.lastHeartbeatTime) heardAtMs = nowMs;
  else heardAtMs = previous.heardAtMs;
  const newestRenewal = renewed ? leaseRenewTime : previous?.leaseRenewTime;
  return { ready, leaseRenewTime: newestRenewal, heardAtMs: renewed ? nowMs : heardAtMs };
}

function silenced(node: Node, nowMs: number): readonly NodeCondition[] {
  const now = formatTime(nowMs);
  const conditions = [...(node.status?.conditions ?? [])];
  for (const type of reported) {
    const index = conditions.findIndex((condition) => condition.type === type);
    const present = conditions[index];
    if (!present) {
      conditions.push({
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: node.metadata.creationTimestamp,
        lastTransitionTime: now,
      });
    } else if (present.status !== 'Unknown') {
      conditions[index] = {
        ...present,
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: now,
      };
    }
  }
  return conditions;
}

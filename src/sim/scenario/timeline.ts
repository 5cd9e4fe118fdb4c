/**
 * What happened in a simulation, in the words of `kubectl`: read off the history while it is written. One entry is one thing that a person who
 * watches would want to see; Leases, counters and the like are left out.
 */
import { isPodReady, isPodTerminal } from '../../api/core/v1/pod-status.ts';
import type { Deployment } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import type { Change } from '../history.ts';
import type { Simulation } from '../simulation.ts';

export interface TimelineEntry {
  /** Virtual seconds since the scenario began. */
  readonly atSeconds: number;
  /** `node/node-0`, `pod/default/web-1`, `zone/a`; `scenario` for what the script did. */
  readonly object: string;
  readonly what: string;
}

export class Timeline {
  readonly entries: TimelineEntry[] = [];
  readonly #cluster: Simulation;
  #beganMs: number;

  constructor(cluster: Simulation) {
    this.#cluster = cluster;
    this.#beganMs = cluster.nowMs();
    cluster.history.onChange((change) => this.#follow(change));
  }

  /** Counts from now on; what was before is forgotten. */
  begin(): void {
    this.entries.length = 0;
    this.#beganMs = this.#cluster.nowMs();
  }

  /** Of the script itself. */
  note(what: string): void {
    this.#tell('scenario', what);
  }

  #tell(object: string, what: string): void {
    const atSeconds = Math.round(this.#cluster.nowMs() - this.#beganMs) / 1000;
    this.entries.push({ atSeconds, object, what });
  }

  #follow({ key, value, previous }: Change): void {
    const resource = key.split('/')[2] ?? '';
    const read = readers[resource];
    const object = value ?? previous?.value;
    if (!read || !object) return;
    const name = `${read.kind}/${keyOf(object)}`;
    for (const what of read.changes(value, previous?.value)) this.#tell(name, what);
  }
}

interface Reader {
  readonly kind: string;
  changes(now: KubeObject | undefined, before: KubeObject | undefined): Iterable<string>;
}

const readers: Readonly<Record<string, Reader>> = {
  minions: { kind: 'node', changes: nodeChanges as Reader['changes'] },
  pods: { kind: 'pod', changes: podChanges as Reader['changes'] },
  deployments: { kind: 'deployment', changes: deploymentChanges as Reader['changes'] },
};

function* nodeChanges(now: Node | undefined, before: Node | undefined): Iterable<string> {
  if (!before) yield 'registered';
  if (!now) {
    yield 'deleted';
    return;
  }
  const ready = findCondition(now.status?.conditions, 'Ready');
  const was = findCondition(before?.status?.conditions, 'Ready');
  if (ready && ready.status !== was?.status) yield `Ready is ${ready.status} (${ready.reason})`;
  const taints = (node: Node | undefined) => (node?.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  for (const taint of taints(now)) if (!taints(before).includes(taint)) yield `tainted ${taint}`;
  for (const taint of taints(before)) if (!taints(now).includes(taint)) yield `no longer tainted ${taint}`;
  if (now.spec?.unschedulable && !before?.spec?.unschedulable) yield 'cordoned';
  if (!now.spec?.unschedulable && before?.spec?.unschedulable) yield 'uncordoned';
}

function* podChanges(now: Pod | undefined, before: Pod | undefined): Iterable<string> {
  if (!before) yield 'created';
  if (!now) {
    yield 'gone';
    return;
  }
  if (now.spec.nodeName && !before?.spec.nodeName) yield `bound to ${now.spec.nodeName}`;
  if (isPodReady(now) && !(before && isPodReady(before))) yield 'Ready';
  if (before && isPodReady(before) && !isPodReady(now)) yield 'no longer Ready';
  if (now.metadata.deletionTimestamp && !before?.metadata.deletionTimestamp) yield 'terminating';
  if (isPodTerminal(now) && !(before && isPodTerminal(before))) yield String(now.status?.phase);
}

function* deploymentChanges(now: Deployment | undefined, before: Deployment | undefined): Iterable<string> {
  if (!before) yield 'created';
  if (!now) {
    yield 'deleted';
    return;
  }
  const counts = ({ spec, status }: Deployment) =>
    `${status?.readyReplicas ?? 0} of ${spec?.replicas ?? 1} ready, ${status?.updatedReplicas ?? 0} updated`;
  if (!before || counts(now) !== counts(before)) yield counts(now);
}

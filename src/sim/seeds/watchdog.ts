/**
 * What must hold at every moment, faults or none, checked on every write: no more Pods than asked for and the surge, no identity of a
 * StatefulSet twice, no node fuller than it is, no node tainted faster than its zone's rate, no eviction that breaks a budget's word.
 *
 * A write whose answer was lost is known to the server alone: whoever repeats it does no wrong, so each such write allows one more for a
 * while. What was asked a moment ago may still be what a component with a lagging watch knows.
 */
import { amountsOf, podRequests } from '../../api/core/v1/pod-resources.ts';
import { isPodActive, isPodTerminal } from '../../api/core/v1/pod-status.ts';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import { controllerOf, type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import { timeOr } from '../../apimachinery/time.ts';
import type { Change } from '../history.ts';
import type { Simulation } from '../simulation.ts';
import { longestHoldMs } from './adversary.ts';

/** How long a component may act on what was true before. */
const memoryMs = 4 * longestHoldMs;
const evictionEveryMs = 10_000;
/** A taint tells its time in whole seconds, and conflicts are tried again. */
const evictionToleranceMs = 3000;
/** For faults to be overcome. */
const recoveryMs = 120_000;
const noExecute = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'];

interface Asked {
  readonly atMs: number;
  readonly count: number;
}

export class Watchdog {
  readonly violations: string[] = [];
  readonly #cluster: Simulation;
  readonly #objects = new Map<string, KubeObject>();
  /** By owner's uid: how many were asked for, lately. */
  readonly #asked = new Map<string, Asked[]>();
  /** By zone: when a node was last told to be emptied, and by which life of the controllers. */
  readonly #evictions = new Map<string, { readonly atMs: number; readonly life: number }>();

  #calmSinceMs = Number.POSITIVE_INFINITY;

  constructor(cluster: Simulation) {
    this.#cluster = cluster;
    cluster.history.onChange((change, atMs) => this.#look(change, atMs));
  }

  /** Faults are over: once they are overcome, no node may be taken for sick any more. */
  calm(): void {
    this.#calmSinceMs = this.#cluster.nowMs();
  }

  #look(change: Change, atMs: number): void {
    const { key, value } = change;
    const [, , resource] = key.split('/');
    if (!watched.has(resource ?? '')) return;
    if (!value) {
      this.#objects.delete(key);
      return;
    }
    this.#objects.set(key, value);
    const before = change.previous?.value;
    if (resource === 'replicasets') this.#checkSurge(value as ReplicaSet, before as ReplicaSet | undefined, atMs);
    else if (resource === 'deployments' || resource === 'jobs') this.#noteAsked(value, atMs);
    else if (resource === 'minions') this.#checkNode(value as Node, before as Node | undefined, atMs);
    else if (resource === 'pods') this.#checkPod(value as Pod, before as Pod | undefined, atMs);
  }

  #noteAsked(owner: KubeObject, atMs: number): void {
    const { spec } = owner as Deployment & ReplicaSet & Job;
    const count = owner.kind === 'Job' ? (spec?.parallelism ?? 1) : (spec?.replicas ?? 1);
    const uid = owner.metadata.uid ?? '';
    const asked = this.#asked.get(uid) ?? [];
    if (asked.at(-1)?.count !== count) this.#asked.set(uid, [...asked, { atMs, count }]);
  }

  /** The most that somebody may still believe to be asked for. */
  #mostAsked(uid: string, atMs: number): number {
    const asked = this.#asked.get(uid) ?? [];
    // Each counts until the next one was written, and as long as memory lasts.
    return Math.max(
      0,
      ...asked.filter((_, i) => (asked[i + 1]?.atMs ?? atMs) >= atMs - memoryMs).map(({ count }) => count),
    );
  }

  #lost(path: string, atMs: number): number {
    return this.#cluster.lostAnswers.filter((lost) => lost.path.includes(path) && lost.atMs >= atMs - 3 * memoryMs)
      .length;
  }

  /** Whoever asks for more must stay within the limit; what was adopted may be beyond it, and is brought down. */
  #checkSurge(set: ReplicaSet, before: ReplicaSet | undefined, atMs: number): void {
    this.#noteAsked(set, atMs);
    if ((set.spec?.replicas ?? 1) <= (before?.spec?.replicas ?? 0)) return;
    const owner = controllerOf(set);
    const deployment = [...this.#of<Deployment>('deployments')].find(({ metadata }) => metadata.uid === owner?.uid);
    if (!deployment) return;
    const wanted = this.#mostAsked(owner?.uid ?? '', atMs);
    const surge = deployment.spec?.strategy?.rollingUpdate?.maxSurge ?? 0;
    const most = wanted + (typeof surge === 'number' ? surge : Math.ceil((wanted * Number.parseInt(surge, 10)) / 100));
    const own = [...this.#of<ReplicaSet>('replicasets')].filter((one) => controllerOf(one)?.uid === owner?.uid);
    const total = own.reduce((sum, { spec }) => sum + (spec?.replicas ?? 1), 0);
    if (total > most)
      this.#report(atMs, `deployment ${deployment.metadata.name} asks for ${total} pods, at most ${most} are allowed`);
  }

  #checkPod(pod: Pod, before: Pod | undefined, atMs: number): void {
    if (!before) this.#checkCount(pod, atMs);
    if (pod.spec.nodeName && !before?.spec.nodeName) this.#checkRoom(pod, atMs);
    if (controllerOf(pod)?.kind === 'StatefulSet') this.#checkTwins(pod, atMs);
  }

  #checkCount(pod: Pod, atMs: number): void {
    const owner = controllerOf(pod);
    if (!owner || (owner.kind !== 'ReplicaSet' && owner.kind !== 'Job')) return;
    let count = 0;
    for (const one of this.#of<Pod>('pods')) if (controllerOf(one)?.uid === owner.uid && isPodActive(one)) count++;
    const most = this.#mostAsked(owner.uid, atMs) + this.#lost('/pods', atMs);
    if (count > most)
      this.#report(atMs, `${owner.kind} ${owner.name} has ${count} active pods, at most ${most} were asked for`);
  }

  #checkRoom(pod: Pod, atMs: number): void {
    const node = this.#objects.get(`/registry/minions/${pod.spec.nodeName}`) as Node | undefined;
    if (!node || this.#lost('/binding', atMs) > 0 || controllerOf(pod)?.kind === 'DaemonSet') return;
    const room = amountsOf(node.status?.allocatable);
    const used: Record<string, number> = {};
    for (const one of this.#of<Pod>('pods')) {
      if (one.spec.nodeName !== pod.spec.nodeName || isPodTerminal(one)) continue;
      for (const [name, amount] of Object.entries(podRequests(one))) used[name] = (used[name] ?? 0) + amount;
    }
    for (const [name, amount] of Object.entries(used))
      if (amount > (room[name] ?? 0))
        this.#report(atMs, `node ${node.metadata.name} is asked for ${amount} of ${room[name]} ${name}`);
  }

  /** At most one: two machines must never run the same identity. */
  #checkTwins(pod: Pod, atMs: number): void {
    const twins = this.#cluster.runningPods().filter((run) => keyOf(run.pod) === keyOf(pod));
    if (twins.length > 1) this.#report(atMs, `pod ${keyOf(pod)} runs ${twins.length} times at once`);
  }

  #checkNode(node: Node, before: Node | undefined, atMs: number): void {
    const isReady = (one: Node | undefined) => isConditionTrue(one?.status?.conditions, 'Ready');
    if (isReady(before) && !isReady(node) && atMs >= this.#calmSinceMs + recoveryMs)
      this.#report(atMs, `node ${node.metadata.name} is taken for sick and is not`);
    const taintOf = (one: Node | undefined) =>
      one?.spec?.taints?.find(({ key, effect }) => effect === 'NoExecute' && noExecute.includes(key));
    const taint = taintOf(node);
    if (!taint || taintOf(before)) return;
    // When it was decided: the message may have been held up since.
    const decidedMs = timeOr(taint.timeAdded, atMs);
    const zone = node.metadata.labels?.['topology.kubernetes.io/zone'] ?? '';
    const life = this.#cluster.component('kube-controller-manager').incarnations;
    const last = this.#evictions.get(zone);
    this.#evictions.set(zone, { atMs: decidedMs, life });
    if (last?.life !== life || this.#lost('/nodes/', atMs) > 0) return;
    const gapMs = Math.abs(decidedMs - last.atMs);
    if (gapMs < evictionEveryMs - evictionToleranceMs)
      this.#report(atMs, `two nodes of zone ${zone} are emptied within ${(gapMs / 1000).toFixed(1)} s`);
  }

  *#of<T>(resource: string): Iterable<T> {
    const prefix = `/registry/${resource}/`;
    for (const [key, object] of this.#objects) if (key.startsWith(prefix)) yield object as unknown as T;
  }

  #report(atMs: number, what: string): void {
    const seconds = ((atMs - this.#cluster.startMs) / 1000).toFixed(3);
    this.violations.push(`${seconds} s: ${what}`);
  }
}

const watched: ReadonlySet<string> = new Set(['pods', 'replicasets', 'deployments', 'jobs', 'minions']);

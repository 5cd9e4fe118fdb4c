/**
 * Watches over the Nodes' health: marks silent ones Unknown, turns conditions into taints, and puts the NoExecute taints on under
 * per-zone rates. It deletes no Pod (the taint eviction controller does) and no Node.
 */

import { isPodReady } from '../../api/core/v1/pod-status.ts';
import { leases } from '../../api/gen/coordination-v1.ts';
import { type Node, nodes as nodeType, type Pod, pods as podType } from '../../api/gen/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { isConflict, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { sleep } from '../../base/clock.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { indexByNode, podsOnNode } from '../common/node-pods.ts';
import { changeTaints, hasTaint } from '../common/taints.ts';
import { noExecuteTaints, notReadyNoExecute, planNoScheduleTaints, unreachableNoExecute } from './condition-taints.ts';
import { type HealthRecord, type HealthReport, reviewHealth } from './health.ts';
import { PacedQueue } from './paced-queue.ts';
import { planSecondaryLabels } from './secondary-labels.ts';
import { countsForDisruption, heldBack, planZones, type RateSettings, type ZoneState, zoneOf } from './zones.ts';

const leaseNamespace = 'kube-node-lease';
const nodeRetries = 5;
const nodeRetryMs = 20;

export interface NodeLifecycleOptions {
  /** Between two looks at all Nodes; default 5 s. */
  readonly monitorPeriodMs?: number | undefined;
  /** Silence after which a Node is Unknown; default 40 s. */
  readonly monitorGraceMs?: number | undefined;
  /** The same for a Node whose kubelet never reported; default 60 s. */
  readonly startupGraceMs?: number | undefined;
  /** Nodes a second that may get a NoExecute taint, per zone; default 0.1. */
  readonly evictionRate?: number | undefined;
  /** The same in a partly disrupted large zone; default 0.01. */
  readonly secondaryEvictionRate?: number | undefined;
  /** Zones of up to this many Nodes are not emptied at all while partly disrupted; default 50. */
  readonly largeClusterThreshold?: number | undefined;
  /** Share of unhealthy Nodes from which a zone is partly disrupted; default 0.55. */
  readonly unhealthyThreshold?: number | undefined;
}

export async function runNodeLifecycleController(
  context: ComponentContext,
  options: NodeLifecycleOptions = {},
): Promise<void> {
  const nodes = context.informers.of(nodeType);
  const pods = context.informers.of(podType);
  indexByNode(pods);
  const monitor = new NodeMonitor(context, nodes, pods, options);
  const controller = createController(context, {
    name: 'node-lifecycle-controller',
    queue: 'node_lifecycle_controller',
    workers: 8,
    waitFor: [nodes, pods],
    reconcile: (key: string) => monitor.followConditions(key),
  });
  controller.watch(nodes);
  pods.onChange({
    added: (pod) => monitor.podBound(pod),
    updated: (pod, previous) => {
      if (pod.spec.nodeName !== previous.spec.nodeName) monitor.podBound(pod);
    },
  });
  await Promise.all([controller.run(), monitor.run(options.monitorPeriodMs ?? 5000)]);
}

const reporter = 'node-lifecycle-controller';
const lostTaints = [notReadyNoExecute, unreachableNoExecute];

/** What every look asks of every Node, found once for each of its versions: a large cluster has thousands, looked at every few seconds. */
interface Traits {
  readonly name: string;
  readonly zone: string;
  readonly leaseKey: string;
  readonly counts: boolean;
  /** Whether it still has a NoExecute taint from when it was silent or not ready. */
  readonly isTaintedAsLost: boolean;
}

class NodeMonitor {
  readonly #context: ComponentContext;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #leases;
  readonly #events: EventRecorder;
  readonly #health = new Map<string, HealthRecord>();
  readonly #known = new Map<string, Node>();
  readonly #traits = new WeakMap<Node, Traits>();
  readonly #queues = new Map<string, PacedQueue>();
  readonly #settings: RateSettings & { readonly monitorGraceMs: number; readonly startupGraceMs: number };
  #states: ReadonlyMap<string, ZoneState> = new Map();
  #heldBack: ReadonlySet<string> = new Set();

  constructor(context: ComponentContext, nodes: Informer<Node>, pods: Informer<Pod>, options: NodeLifecycleOptions) {
    this.#context = context;
    this.#nodes = nodes;
    this.#pods = pods;
    this.#leases = context.informers.of(leases);
    this.#events = context.eventRecorder('node-controller');
    this.#settings = {
      monitorGraceMs: options.monitorGraceMs ?? 40_000,
      startupGraceMs: options.startupGraceMs ?? 60_000,
      evictionRate: options.evictionRate ?? 0.1,
      secondaryEvictionRate: options.secondaryEvictionRate ?? 0.01,
      largeClusterThreshold: options.largeClusterThreshold ?? 50,
      unhealthyThreshold: options.unhealthyThreshold ?? 0.55,
    };
  }

  async run(periodMs: number): Promise<void> {
    const { clock, log, signal } = this.#context;
    try {
      await Promise.all([this.#nodes, this.#pods, this.#leases].map((informer) => informer.whenSynced(signal)));
      while (!signal.aborted) {
        await this.#look().catch((error) => log.error('monitoring node health failed', { error: messageOf(error) }));
        await sleep(clock, periodMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const queue of this.#queues.values()) queue.stop();
    }
  }

  /** NoSchedule taints and the older names of labels, whenever a Node changes. */
  async followConditions(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (!node) return;
    const { client, clock } = this.#context;
    await changeTaints(client, node, planNoScheduleTaints(node, formatTime(clock.now())));
    const labels = planSecondaryLabels(node.metadata.labels);
    if (!labels) return;
    try {
      await client.patch(nodeType, { name }, { type: 'strategic', body: { metadata: { labels } } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** A Pod that lands on a Node that is not ready cannot be ready either. */
  podBound(pod: Pod): void {
    const node = pod.spec.nodeName ? this.#nodes.get(pod.spec.nodeName) : undefined;
    const ready = findCondition(node?.status?.conditions, 'Ready');
    if (ready && ready.status !== 'True' && isPodReady(pod)) void this.#markPodsNotReady([pod]);
  }

  async #look(): Promise<void> {
    const nodes = this.#nodes.list();
    this.#noteMembers(nodes);
    const readyByZone = new Map<string, string[]>();
    const note = (node: Node, ready: string | undefined) => {
      const { zone, counts } = this.#traitsOf(node);
      if (ready === undefined || !counts) return;
      const known = readyByZone.get(zone);
      if (known) known.push(ready);
      else readyByZone.set(zone, [ready]);
    };
    const unwell: Promise<void>[] = [];
    for (const node of nodes) {
      if (this.#isWell(node)) note(node, 'True');
      else unwell.push(this.#lookAt(node).then((ready) => note(node, ready)));
    }
    await Promise.all(unwell);
    await this.#paceZones(readyByZone);
  }

  #noteMembers(nodes: readonly Node[]): void {
    for (const node of nodes) {
      const { name, zone } = this.#traitsOf(node);
      this.#queueOf(zone);
      if (this.#known.has(name)) continue;
      this.#nodeEvent(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`);
      this.#known.set(name, node);
    }
    // All that are there are known, so if they are as many, none has gone.
    if (this.#known.size === nodes.length) return;
    const present = new Set(nodes.map(({ metadata }) => metadata.name ?? ''));
    for (const [name, node] of this.#known) {
      if (present.has(name)) continue;
      this.#nodeEvent(node, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`);
      this.#known.delete(name);
      this.#health.delete(name);
      for (const queue of this.#queues.values()) queue.remove(name);
    }
  }

  #nodeEvent(node: Node, reason: string, message: string): void {
    this.#events.record(withKind(nodeType, node), 'Normal', reason, message);
  }

  /** Whether the Node is heard of and ready and nothing is left to be done about it: so it is with nearly all, each looked at every few seconds. */
  #isWell(node: Node): boolean {
    const { name, zone, isTaintedAsLost } = this.#traitsOf(node);
    if (isTaintedAsLost) return false;
    const { record, after, conditions } = this.#review(node);
    if (after !== 'True' || conditions) return false;
    this.#health.set(name, record);
    this.#queueOf(zone).remove(name);
    return true;
  }

  #traitsOf(node: Node): Traits {
    let traits = this.#traits.get(node);
    if (!traits) {
      const { name = '' } = node.metadata;
      traits = {
        name,
        zone: zoneOf(node),
        leaseKey: `${leaseNamespace}/${name}`,
        counts: countsForDisruption(node),
        isTaintedAsLost: lostTaints.some((taint) => hasTaint(node, taint)),
      };
      this.#traits.set(node, traits);
    }
    return traits;
  }

  #review(node: Node): HealthReport {
    const { name, leaseKey } = this.#traitsOf(node);
    const renewTime = this.#leases.get(leaseKey)?.spec?.renewTime;
    return reviewHealth(node, this.#settings, {
      leaseRenewTime: renewTime,
      previous: this.#health.get(name),
      nowMs: this.#context.clock.now(),
    });
  }

  /** Returns the Ready status after the look, or undefined when nothing is known of it yet. */
  async #lookAt(listed: Node): Promise<string | undefined> {
    const { client, clock } = this.#context;
    const name = listed.metadata.name ?? '';
    let node = listed;
    for (let attempt = 1; ; attempt++) {
      const report = this.#review(node);
      try {
        if (report.conditions) {
          node = await client.updateStatus(nodeType, {
            ...node,
            status: { ...node.status, conditions: report.conditions },
          });
        }
        this.#health.set(name, report.record);
        if (report.after === undefined) return undefined;
        await this.#actOn(node, report.before, report.after);
        return report.after;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (attempt === nodeRetries) {
          this.#context.log.error('updating node health failed, skipping the node', {
            node: name,
            error: messageOf(error),
          });
          return undefined;
        }
        await sleep(clock, nodeRetryMs, this.#context.signal);
        if (isConflict(error)) node = await client.get(nodeType, { name });
      }
    }
  }

  #actOn(node: Node, before: string, after: string): Promise<unknown> | undefined {
    const taints = noExecuteTaints(after);
    return taints ? this.#actOnLost(node, { before, after, taints }) : this.#markReachable(node);
  }

  async #actOnLost(
    node: Node,
    {
      before,
      after,
      taints,
    }: { before: string; after: string; taints: NonNullable<ReturnType<typeof noExecuteTaints>> },
  ): Promise<void> {
    const name = node.metadata.name ?? '';
    if (hasTaint(node, taints.drop)) await this.#taint(name, after);
    else if (!hasTaint(node, taints.want)) this.#queueOf(zoneOf(node)).add(name);
    if (before === 'True' && after !== 'True') {
      this.#nodeEvent(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    }
    await this.#markPodsNotReady(podsOnNode(this.#pods, name));
  }

  #markReachable(node: Node): Promise<unknown> | undefined {
    this.#queueOf(zoneOf(node)).remove(node.metadata.name ?? '');
    if (!this.#traitsOf(node).isTaintedAsLost) return undefined;
    return changeTaints(this.#context.client, node, { remove: lostTaints });
  }

  async #taint(name: string, ready: string | undefined): Promise<void> {
    const node = this.#nodes.get(name);
    const taints = noExecuteTaints(ready);
    if (!node || !taints) return;
    const { client, clock } = this.#context;
    const timeAdded = formatTime(clock.now());
    await changeTaints(client, node, { add: [{ ...taints.want, timeAdded }], remove: [taints.drop] });
  }

  /** Their containers may well run, but nobody can say so, and Services must not count on them. */
  async #markPodsNotReady(pods: readonly Pod[]): Promise<void> {
    const { client, clock, log } = this.#context;
    for (const pod of pods.filter(isPodReady)) {
      const now = formatTime(clock.now());
      const conditions = (pod.status?.conditions ?? []).map((condition) =>
        condition.type === 'Ready' ? { ...condition, status: 'False' as const, lastTransitionTime: now } : condition,
      );
      try {
        await client.updateStatus(podType, { ...pod, status: { ...pod.status, conditions } });
        this.#events.record(withKind(podType, pod), 'Warning', 'NodeNotReady', 'Node is not ready');
      } catch (error) {
        if (isNotFound(error) || isConflict(error)) continue;
        log.warn('marking a pod not ready failed', { pod: pod.metadata.name, error: messageOf(error) });
      }
    }
  }

  async #paceZones(readyByZone: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const plan = planZones(readyByZone, this.#states, this.#settings);
    for (const [zone, state] of plan.states) {
      if (this.#states.get(zone) !== state) {
        this.#context.log.info('controller detected that zone is in a new state', { zone, state });
      }
    }
    for (const [zone, rate] of plan.rates) this.#queueOf(zone).setRate(rate);
    if (plan.reprieve) {
      for (const queue of this.#queues.values()) queue.clear();
      for (const node of this.#nodes.list()) await this.#markReachable(node);
    }
    if (plan.restart) {
      const heardAtMs = this.#context.clock.now();
      for (const [name, record] of this.#health) this.#health.set(name, { ...record, heardAtMs });
    }
    this.#states = plan.states;
    this.#explainWaiting();
  }

  /** A Node whose Pods would go by now but for the rate. */
  #explainWaiting(): void {
    const { causes, clock } = this.#context;
    const held = new Set<string>();
    for (const [zone, queue] of this.#queues) {
      const rate = queue.perSecond;
      for (const [index, name] of queue.waiting.entries()) {
        held.add(name);
        const message = heldBack(this.#states.get(zone) ?? 'Initial', { rate, ahead: index });
        const untilMs = rate > 0 ? clock.now() + ((index + 1) * 1000) / rate : undefined;
        causes.replace(reporter, { kind: 'Node', name }, [{ reason: 'EvictionHeldBack', message, untilMs }]);
      }
    }
    for (const name of this.#heldBack) if (!held.has(name)) causes.replace(reporter, { kind: 'Node', name }, []);
    this.#heldBack = held;
  }

  #queueOf(zone: string): PacedQueue {
    const present = this.#queues.get(zone);
    if (present) return present;
    const { clock, log } = this.#context;
    const queue = new PacedQueue(clock, this.#settings.evictionRate, (name) => {
      const ready = findCondition(this.#nodes.get(name)?.status?.conditions, 'Ready')?.status;
      this.#taint(name, ready).catch((error) => {
        log.warn('tainting a node failed', { node: name, error: messageOf(error) });
        queue.add(name);
      });
    });
    this.#queues.set(zone, queue);
    return queue;
  }
}

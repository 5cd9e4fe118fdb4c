/**
 * The scheduler: gives every Pod that names this scheduler a node. It pops the most important waiting Pod, places it against the
 * cluster as it knows it, counts it there at once, and binds it through the API while it goes on with the next. What cannot be placed gets an
 * Event and a condition that say why, and waits for a change that could help.
 */

import { isPodTerminal } from '../api/core/v1/pod-status.ts';
import { replicaSets, statefulSets } from '../api/gen/apps-v1.ts';
import {
  type Node,
  namespaces,
  nodes,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  replicationControllers,
  services,
} from '../api/gen/core-v1.ts';
import { podDisruptionBudgets } from '../api/gen/policy-v1.ts';
import { storageClasses } from '../api/gen/storage-v1.ts';
import { LabelMatcher, labelMatcherOf, labelMatcherOfSet } from '../apimachinery/labels.ts';
import { controllerOf, type KubeObject } from '../apimachinery/meta.ts';
import { isNotFound } from '../apimachinery/status.ts';
import { formatTime } from '../apimachinery/time.ts';
import type { ObjectReference } from '../client/client.ts';
import { subjectOf } from '../reconcile/causes.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import type { EventRecorder } from '../reconcile/events.ts';
import { ClusterState } from './cluster-state.ts';
import { type Diagnosis, diagnosisMessage, rejectingPlugins } from './diagnosis.ts';
import { type ClusterEvent, SchedulingFailure, type SchedulingPlugin, type SchedulingProfile } from './framework.ts';
import { type Placement, type PlacementContext, place, priorityOf } from './placement.ts';
import type { DevicePlugin } from './plugins/dynamic-resources.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { interPodAffinity } from './plugins/inter-pod-affinity.ts';
import { nodeAffinity } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import { nodeResourcesBalancedAllocation, nodeResourcesFit } from './plugins/node-resources.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { podTopologySpread } from './plugins/pod-topology-spread.ts';
import { schedulingGates } from './plugins/scheduling-gates.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import { volumeBinding } from './plugins/volume-binding.ts';
import { preempt } from './preemption.ts';
import { type QueuedPod, SchedulingQueue } from './scheduling-queue.ts';

export interface SchedulerOptions {
  /** Names that Pods call this scheduler by; each gets the default plugins. */
  readonly schedulerNames?: readonly string[];
  readonly percentageOfNodesToScore?: number;
}

/** How long to place Pods before other work of the process gets its turn. */
const turnMs = 5;

export async function runScheduler(context: ComponentContext, options: SchedulerOptions = {}): Promise<void> {
  const scheduler = new Scheduler(context, options);
  await context.informers.whenSynced(context.signal);
  await scheduler.run();
}

const reporter = 'kube-scheduler';

class Scheduler {
  readonly #context: ComponentContext;
  readonly #state = new ClusterState();
  readonly #profiles: ReadonlyMap<string, SchedulingProfile>;
  readonly #queue: SchedulingQueue;
  readonly #events: EventRecorder;
  readonly #placement: PlacementContext;
  readonly #budgets;
  #wake: (() => void) | undefined;

  constructor(context: ComponentContext, options: SchedulerOptions) {
    this.#context = context;
    const plugins = defaultPlugins(context, this.#pluginOfDevices());
    const names = options.schedulerNames ?? ['default-scheduler'];
    const percentageOfNodesToScore = options.percentageOfNodesToScore ?? 0;
    this.#profiles = new Map(
      names.map((schedulerName) => [schedulerName, { schedulerName, plugins, percentageOfNodesToScore }]),
    );
    const helped = new Map(plugins.map((plugin) => [plugin.name, plugin.helpedBy]));
    this.#queue = new SchedulingQueue({
      clock: context.clock,
      helpedBy: (plugin) => helped.get(plugin) ?? ['NodeAdded', 'NodeChanged', 'PodChanged', 'PodRemoved'],
      onReady: () => this.#wake?.(),
    });
    this.#placement = { random: context.random, startIndex: 0 };
    this.#events = context.eventRecorder(names[0] ?? 'default-scheduler');
    this.#budgets = context.informers.of(podDisruptionBudgets);
    this.#follow();
  }

  /** Feeds the state and the queue from informers. */
  #follow(): void {
    const { informers } = this.#context;
    const tell = (event: ClusterEvent) => this.#queue.onEvent(event);
    informers.of(nodes).onChange({
      added: (node) => {
        this.#state.setNode(node);
        tell('NodeAdded');
      },
      updated: (node, previous) => {
        this.#state.setNode(node);
        if (nodeChangeMatters(node, previous)) tell('NodeChanged');
      },
      deleted: (node) => this.#state.removeNode(node.metadata.name ?? ''),
    });
    informers.of(pods).onChange({
      added: (pod) => this.#podChanged(pod, undefined),
      updated: (pod, previous) => this.#podChanged(pod, previous),
      deleted: (pod) => this.#podGone(pod),
    });
    const volumeHandler = {
      added: () => tell('VolumeChanged'),
      updated: () => tell('VolumeChanged'),
      deleted: () => tell('VolumeChanged'),
    };
    for (const type of [persistentVolumeClaims, persistentVolumes, storageClasses])
      informers.of<KubeObject>(type).onChange(volumeHandler);
    informers
      .of(namespaces)
      .onChange({ added: () => tell('NamespaceChanged'), updated: () => tell('NamespaceChanged') });
  }

  #podChanged(pod: Pod, previous: Pod | undefined): void {
    const key = pod.metadata.uid ?? '';
    if (pod.spec.nodeName) {
      if (previous && !previous.spec.nodeName) this.#context.causes.replace(reporter, subjectOf(pods, pod), []);
      this.#queue.remove(key);
      if (isPodTerminal(pod)) {
        this.#state.removePod(key);
        if (!previous || !isPodTerminal(previous)) this.#queue.onEvent('PodRemoved');
        return;
      }
      const wasKnown = previous?.spec.nodeName !== undefined || this.#state.isAssumed(key);
      this.#state.setPod(pod);
      this.#queue.onEvent(wasKnown ? 'PodChanged' : 'PodAdded');
    } else if (
      isPodTerminal(pod) ||
      pod.metadata.deletionTimestamp ||
      !this.#profiles.has(pod.spec.schedulerName ?? '')
    )
      this.#queue.remove(key);
    else if (!this.#state.isAssumed(key)) {
      // A nomination of ours that the API server does not tell of yet stands.
      const { nominatedNodeName } = pod.status ?? {};
      if (nominatedNodeName || previous?.status?.nominatedNodeName)
        this.#state.nominate(this.#state.infoOf(pod), nominatedNodeName);
      this.#queue.set(pod, key, !previous || asksOtherwise(pod, previous));
    }
  }

  #podGone(pod: Pod): void {
    const key = pod.metadata.uid ?? '';
    this.#queue.remove(key);
    this.#state.removePod(key);
    this.#context.causes.replace(reporter, subjectOf(pods, pod), []);
    if (pod.spec.nodeName) this.#queue.onEvent('PodRemoved');
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#context;
    this.#queue.start();
    const stop = () => this.#wake?.();
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      const turnEndsMs = clock.monotonic() + turnMs;
      let entry = this.#queue.pop();
      while (entry) {
        this.#schedule(entry);
        if (clock.monotonic() >= turnEndsMs) break;
        entry = this.#queue.pop();
      }
      if (entry) await new Promise<void>((resolve) => clock.soon(resolve));
      else if (!signal.aborted)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    this.#queue.stop();
  }

  #schedule(entry: QueuedPod): void {
    const { pod } = entry;
    const profile = this.#profiles.get(pod.spec.schedulerName ?? '');
    if (!profile || pod.metadata.deletionTimestamp) return this.#queue.done(entry.key);
    const gate = profile.plugins.map((plugin) => plugin.mayEnqueue?.(pod)).find((rejection) => rejection !== undefined);
    // A gated Pod says so in its condition from its creation on (the API server sets it); it only waits here, and has not been tried.
    if (gate) {
      // Gates stand in the Pod for everybody to see.
      if (gate.plugin !== schedulingGates.name)
        this.#context.causes.replace(reporter, subjectOf(pods, pod), [
          { reason: 'Unschedulable', message: `${gate.reasons.join(', ')}; waits for that before any node is tried` },
        ]);
      entry.attempts--;
      return this.#queue.park(entry, new Set([gate.plugin]));
    }
    let placement: Placement;
    try {
      placement = place(
        pod,
        this.#state,
        profile,
        Object.assign(this.#placement, { nominatedNode: pod.status?.nominatedNodeName }),
      );
      if (!placement.node) return this.#reject(entry, profile, placement.diagnosis);
    } catch (error) {
      this.#failed(entry, error);
      return;
    }
    const { node, prepared } = placement;
    this.#state.assume(pod, node.name);
    for (const plugin of prepared.plugins) plugin.prepared.reserve?.(node);
    void this.#bind(entry, placement);
  }

  /** The attempt came to no answer. What is wrong with what the Pod asks for is told to who made it. */
  #failed(entry: QueuedPod, error: unknown): void {
    const { pod } = entry;
    if (error instanceof SchedulingFailure) {
      this.#events.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Warning', 'FailedScheduling', error.message);
      void this.#explain(pod, { reason: 'SchedulerError', message: error.message }, pod.status?.nominatedNodeName);
    } else this.#context.log.error('placing a pod failed', { pod: podName(pod), error });
    this.#queue.retry(entry);
  }

  /** Stands for the plugin of devices: neither it nor what it must know of is there before the first Pod asks for some. */
  #pluginOfDevices(): SchedulingPlugin {
    const name = 'DynamicResources';
    let isLoading = false;
    let made: DevicePlugin | undefined;
    let loaded: DevicePlugin | undefined;
    const onChange = () => this.#queue.onEvent('DevicesChanged');
    const load = async () => {
      const { dynamicResources } = await import('./plugins/dynamic-resources.ts');
      const event = (pod: Pod, reason: string, message: string) =>
        this.#events.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Normal', reason, message);
      made ??= dynamicResources({ ...this.#context, onChange, event });
      await made.whenKnown();
      loaded = made;
      onChange();
    };
    return {
      name,
      weight: 2,
      helpedBy: ['DevicesChanged', 'NodeAdded', 'NodeChanged'],
      mayEnqueue: (pod) => {
        if ((pod.spec.resourceClaims?.length ?? 0) === 0) return undefined;
        if (loaded) return loaded.mayEnqueue?.(pod);
        if (!isLoading) {
          isLoading = true;
          load().catch((error) => {
            if (!this.#context.signal.aborted)
              this.#context.log.error('what is known of devices cannot be had', { error });
            isLoading = false;
          });
        }
        return { plugin: name, reasons: ['devices are not known yet'], resolvable: false };
      },
      prepare: (pod) => loaded?.prepare(pod),
    };
  }

  async #bind(entry: QueuedPod, placement: Extract<Placement, { readonly prepared: unknown }>): Promise<void> {
    const { client, signal, log } = this.#context;
    const { pod } = entry;
    const { namespace, name = '', uid } = pod.metadata;
    const target = placement.node.name;
    try {
      for (const { prepared } of placement.prepared.plugins) await prepared.beforeBind?.(placement.node, signal);
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { kind: 'Node', name: target },
      };
      await client.createSubresource(pods, { namespace, name }, 'binding', binding, { signal });
      this.#queue.done(entry.key);
      this.#events.record(
        { ...pod, apiVersion: 'v1', kind: 'Pod' },
        'Normal',
        'Scheduled',
        `Successfully assigned ${podName(pod)} to ${target}`,
      );
    } catch (error) {
      this.#state.forget(entry.key);
      await Promise.all(placement.prepared.plugins.map(({ prepared }) => prepared.unreserve?.()));
      if (signal.aborted || isNotFound(error)) return this.#queue.done(entry.key);
      log.warn('binding a pod failed', { pod: podName(pod), node: target, error });
      const message = error instanceof Error ? error.message : String(error);
      this.#events.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Warning', 'FailedScheduling', message);
      this.#queue.retry(entry);
      this.#queue.onEvent('PodRemoved');
    }
  }

  #reject(entry: QueuedPod, profile: SchedulingProfile, diagnosis: Diagnosis): void {
    const { pod } = entry;
    const outcome =
      diagnosis.nodeCount === 0
        ? { victims: undefined, message: '', keepsNomination: true }
        : preempt(pod, diagnosis, {
            state: this.#state,
            profile,
            isProtected: (candidate) => this.#isProtected(candidate),
          });
    const message = diagnosisMessage({ ...diagnosis, preemption: outcome.message });
    const rejectedBy = rejectingPlugins(diagnosis);
    this.#queue.park(entry, rejectedBy);
    const tried = entry.attempts === 1 ? 'once' : `${entry.attempts} times`;
    const waits = rejectedBy.size > 0 ? `; waits for a change that ${[...rejectedBy].join(', ')} would mind` : '';
    this.#context.causes.replace(reporter, subjectOf(pods, pod), [
      { reason: 'Unschedulable', message: `${message} Tried ${tried}${waits}.` },
    ]);
    this.#events.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, 'Warning', 'FailedScheduling', message);
    const keeps = !outcome.victims && outcome.keepsNomination;
    const nominatedNodeName = outcome.victims?.node.name ?? (keeps ? pod.status?.nominatedNodeName : undefined);
    this.#state.nominate(this.#state.infoOf(pod), nominatedNodeName);
    void this.#explain(pod, { reason: 'Unschedulable', message }, nominatedNodeName);
    if (!outcome.victims) return;
    this.#takeNominations(pod, outcome.victims.node.name);
    void this.#evict(pod, outcome.victims.pods, outcome.victims.node.name);
  }

  /** Less important Pods that waited for this node may not get it now: they look for another. */
  #takeNominations(pod: Pod, nodeName: string): void {
    for (const other of this.#state.nominatedOn(nodeName)) {
      if (priorityOf(other.pod) >= priorityOf(pod)) continue;
      this.#state.nominate(other, undefined);
      const { namespace, name = '' } = other.pod.metadata;
      const body = { status: { nominatedNodeName: null } };
      void this.#patchStatus({ namespace, name }, body);
    }
  }

  #isProtected(pod: Pod): boolean {
    return this.#budgets.list(pod.metadata.namespace).some((budget) => {
      const selector = budget.spec?.selector;
      return (
        selector !== undefined &&
        labelMatcherOf(selector).matches(pod.metadata.labels) &&
        (budget.status?.disruptionsAllowed ?? 0) <= 0
      );
    });
  }

  /** Writes why into the Pod's PodScheduled condition, unless it says so already. */
  async #explain(
    pod: Pod,
    { reason, message }: { readonly reason: 'Unschedulable' | 'SchedulerError'; readonly message: string },
    nominatedNodeName: string | undefined,
  ): Promise<void> {
    const current = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled');
    const same = current?.status === 'False' && current.reason === reason && current.message === message;
    const renominated = (pod.status?.nominatedNodeName ?? '') !== (nominatedNodeName ?? '');
    if (same && !renominated) return;
    const nowText = formatTime(this.#context.clock.now());
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason,
      message,
      lastProbeTime: null,
      lastTransitionTime: current?.status === 'False' ? current.lastTransitionTime : nowText,
      observedGeneration: pod.metadata.generation,
    };
    const nomination = renominated ? { nominatedNodeName: nominatedNodeName ?? null } : {};
    const { namespace, name = '' } = pod.metadata;
    await this.#patchStatus({ namespace, name }, { status: { conditions: [condition], ...nomination } });
  }

  async #patchStatus(ref: ObjectReference, body: object): Promise<void> {
    const { client, signal, log } = this.#context;
    try {
      await client.patch(pods, ref, { type: 'strategic', body }, { subresource: 'status', signal });
    } catch (error) {
      if (!signal.aborted && !isNotFound(error))
        log.warn('writing a pod condition failed', { pod: `${ref.namespace}/${ref.name}`, error });
    }
  }

  async #evict(preemptor: Pod, victims: readonly Pod[], nodeName: string): Promise<void> {
    const { client, clock, signal, log } = this.#context;
    for (const victim of victims) {
      const { namespace, name = '', uid } = victim.metadata;
      const message = `${preemptor.spec.schedulerName}: preempting to accommodate a higher priority pod`;
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'PreemptionByScheduler',
        message,
        lastTransitionTime: formatTime(clock.now()),
      };
      try {
        const body = { metadata: { uid }, status: { conditions: [condition] } };
        await client.patch(pods, { namespace, name }, { type: 'strategic', body }, { subresource: 'status', signal });
        await client.delete(pods, { namespace, name }, { ...(uid ? { preconditions: { uid } } : {}), signal });
        this.#events.record(
          { ...victim, apiVersion: 'v1', kind: 'Pod' },
          'Normal',
          'Preempted',
          `Preempted by pod ${preemptor.metadata.uid} on node ${nodeName}`,
        );
      } catch (error) {
        if (!signal.aborted && !isNotFound(error)) log.warn('preempting a pod failed', { pod: podName(victim), error });
      }
    }
  }
}

function podName(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

/** Heartbeats change a Node all the time; only these changes can make room. */
function nodeChangeMatters(node: Node, previous: Node): boolean {
  const relevant = ({ metadata, spec, status }: Node) =>
    JSON.stringify([
      metadata.labels,
      spec?.taints,
      spec?.unschedulable,
      status?.allocatable,
      status?.conditions?.map((c) => [c.type, c.status]),
    ]);
  return relevant(node) !== relevant(previous);
}

/** The scheduler's own note in the status must not bring a Pod back at once; that claims were made for it must. */
function asksOtherwise(pod: Pod, previous: Pod): boolean {
  const asked = ({ metadata, status }: Pod) =>
    JSON.stringify([metadata.generation, metadata.labels, status?.resourceClaimStatuses]);
  return asked(pod) !== asked(previous);
}

/** Upstream's default profile, in its order. */
function defaultPlugins(context: ComponentContext, devices: SchedulingPlugin): readonly SchedulingPlugin[] {
  const { informers, client, clock } = context;
  const namespaceInformer = informers.of(namespaces);
  const selectors = {
    services: informers.of(services),
    replicaSets: informers.of(replicaSets),
    replicationControllers: informers.of(replicationControllers),
    statefulSets: informers.of(statefulSets),
  };
  const defaultSpread = (pod: Pod): LabelMatcher | undefined => {
    const namespace = pod.metadata.namespace;
    const requirements = selectors.services
      .list(namespace)
      .filter(
        ({ spec }) =>
          spec?.selector &&
          Object.keys(spec.selector).length > 0 &&
          labelMatcherOfSet(spec.selector).matches(pod.metadata.labels),
      )
      .flatMap(({ spec }) => labelMatcherOfSet(spec?.selector ?? {}).requirements);
    const owner = controllerOf(pod);
    const ownerKey = `${namespace}/${owner?.name}`;
    if (owner?.kind === 'ReplicaSet')
      requirements.push(...labelMatcherOf(selectors.replicaSets.get(ownerKey)?.spec?.selector ?? {}).requirements);
    if (owner?.kind === 'StatefulSet')
      requirements.push(...labelMatcherOf(selectors.statefulSets.get(ownerKey)?.spec?.selector ?? {}).requirements);
    if (owner?.kind === 'ReplicationController')
      requirements.push(
        ...labelMatcherOfSet(selectors.replicationControllers.get(ownerKey)?.spec?.selector ?? {}).requirements,
      );
    return requirements.length === 0 ? undefined : new LabelMatcher(requirements);
  };
  return [
    schedulingGates,
    nodeUnschedulable,
    nodeName,
    taintToleration,
    nodeAffinity,
    nodePorts,
    nodeResourcesFit,
    volumeBinding({
      client,
      clock,
      claims: informers.of(persistentVolumeClaims),
      volumes: informers.of(persistentVolumes),
      classes: informers.of(storageClasses),
      bindTimeoutMs: 600_000,
    }),
    podTopologySpread(defaultSpread),
    interPodAffinity((namespace) => namespaceInformer.get(namespace)?.metadata.labels),
    devices,
    nodeResourcesBalancedAllocation,
    imageLocality,
  ];
}

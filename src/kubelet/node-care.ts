/**
 * What the kubelet does for the node rather than for a Pod: eviction, collection, and an orderly end when the machine is switched off.
 * Joins them with the Pods' workers and with the Node's status; each knows nothing of the others.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { quote } from '../apimachinery/go-text.ts';
import { messageOf } from '../apimachinery/status.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { podsGroup } from './cgroups/cgroup-names.ts';
import { keptMemory, type NodeCgroupInput, nodeCgroupLimits, type RequestedMemory } from './cgroups/node-cgroups.ts';
import { reservedGroups } from './cgroups/reserved-groups.ts';
import { Housekeeping, type HousekeepingOptions } from './collection/housekeeping.ts';
import type { KubeletConfiguration } from './configuration.ts';
import { Eviction } from './eviction/eviction.ts';
import type { PressureCondition } from './eviction/pressure.ts';
import type { MachineFacts, NodeHost } from './host/host.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import type { Rejection } from './pods/admission.ts';
import type { TerminationCause } from './pods/pod-status.ts';
import type { PodWorkers } from './pods/pod-workers.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';
import { NodeShutdown } from './shutdown/node-shutdown.ts';
import { shutdownPhases } from './shutdown/shutdown-phases.ts';

export interface NodeCareOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly metrics?: KubeletMetrics | undefined;
  readonly host: NodeHost;
  readonly facts: MachineFacts;
  /** Asked for only once the kubelet runs. */
  workers(): PodWorkers;
  /** Resolves when the API server has the newest status of the Pod. */
  statusWritten(pod: Pod): Promise<void>;
  onImages: HousekeepingOptions['onImages'];
  /** Whether resources of the machine can run out. */
  readonly evicts: boolean;
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
  podEvent(pod: Pod, reason: string, message: string, annotations: Readonly<Record<string, string>>): void;
  /** The Node's status is not what it was. */
  onStatus(): void;
}

/** For the kubelet's metrics. */
export interface NodeCareCounts {
  readonly evictions: ReadonlyMap<string, number>;
  readonly removedImages: Readonly<Record<'age' | 'space', number>>;
  /** Undefined where shutdowns are not delayed. */
  readonly shutdown?: { readonly startedMs: number; readonly endedMs: number } | undefined;
  /** Undefined where memory has no qualities of service. */
  readonly keptMemory?: RequestedMemory | undefined;
}

const cgroupsEveryMs = 60_000;

export class NodeCare {
  readonly #options: NodeCareOptions;
  readonly #housekeeping: Housekeeping;
  readonly #eviction: Eviction | undefined;
  readonly #shutdown: NodeShutdown | undefined;

  constructor(options: NodeCareOptions) {
    this.#options = options;
    const { clock, configuration, host, log, nodeEvent, onStatus, runtime, signal, workers } = options;
    const shared = { clock, log, signal, configuration, host, runtime, nodeEvent };
    this.#housekeeping = new Housekeeping({ ...shared, workers, event: nodeEvent, onImages: options.onImages });
    const activePods = () => workers().active();
    const end = (pod: Pod, graceSeconds: number, cause: TerminationCause) => this.#end(pod, graceSeconds, cause);
    if (options.evicts)
      this.#eviction = new Eviction({
        ...shared,
        facts: options.facts,
        metrics: options.metrics,
        activePods,
        end,
        removeDeadContainers: () => this.#housekeeping.removeDeadContainers(),
        removeUnusedImages: () => this.#housekeeping.removeUnusedImages(),
        podEvent: options.podEvent,
        onConditions: onStatus,
      });
    const phases = shutdownPhases(configuration);
    if (phases.length > 0 && host.shutdown)
      this.#shutdown = new NodeShutdown({
        ...shared,
        phases,
        source: host.shutdown,
        state: host.state,
        activePods,
        end,
        onStatus,
      });
  }

  get pressures(): ReadonlySet<PressureCondition> {
    return this.#eviction?.conditions ?? new Set();
  }

  /** Why the node is not ready. */
  get problem(): string | undefined {
    return this.#shutdown?.problem;
  }

  get counts(): NodeCareCounts {
    return {
      evictions: this.#eviction?.counts ?? new Map(),
      removedImages: this.#housekeeping.removedImages,
      shutdown: this.#shutdown?.times,
      keptMemory: keptMemory(this.#inGroups()),
    };
  }

  /** Why the node takes no such Pod now. */
  refusal(pod: Pod): Rejection | undefined {
    return this.#eviction?.refusal(pod) ?? this.#shutdown?.refusal();
  }

  /** A Pod has come or gone. A failure is told by those who set the groups every minute. */
  async followPods(): Promise<void> {
    await this.#ensureGroups().catch((error) => {
      this.#options.log.warn('cgroups above Pods could not be updated', { error: messageOf(error) });
    });
  }

  async run(): Promise<void> {
    await this.#enforceReserved();
    await Promise.all([
      this.#enforceAllocatable(),
      this.#housekeeping.run(),
      this.#eviction?.run(),
      this.#shutdown?.run(),
    ]);
  }

  /** All Pods together get what is not reserved. The groups are set again now and then: not every change of Pods begins or ends one here. */
  async #enforceAllocatable(): Promise<void> {
    const { clock, configuration, nodeEvent, signal } = this.#options;
    const group = `[${[...configuration.cgroupRoot.split('/').filter(Boolean), ...podsGroup].map(quote).join(' ')}]`;
    let isEnforced = false;
    while (!signal.aborted) {
      try {
        if (!(await this.#ensureGroups())) return;
        if (!isEnforced) nodeEvent('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
        isEnforced = true;
      } catch (error) {
        // Pods may still use more than they are to get: until they are evicted the kernel takes no lower limit.
        isEnforced = false;
        const message = `Failed to update Node Allocatable Limits ${group}: ${messageOf(error)}`;
        nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
      }
      await sleep(clock, cgroupsEveryMs, signal).catch(() => undefined);
    }
  }

  /** The groups of the system and of the kubelet get what is reserved for them, where that is asked for. */
  async #enforceReserved(): Promise<void> {
    const { configuration, host, log, nodeEvent } = this.#options;
    for (const { title, path, limits } of reservedGroups(configuration)) {
      try {
        await host.cgroups.limitExisting(path, limits);
        nodeEvent('Normal', 'NodeAllocatableEnforced', `Updated limits on ${title.toLowerCase()} cgroup ${path}`);
      } catch (error) {
        const message = `Failed to enforce ${title} Cgroup Limits on "${path}": ${messageOf(error)}`;
        log.error(message);
        nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
      }
    }
  }

  #ensureGroups(): Promise<boolean> {
    return this.#options.host.cgroups.ensureNode(() => nodeCgroupLimits(this.#inGroups()));
  }

  #inGroups(): NodeCgroupInput {
    const { configuration, facts, workers } = this.#options;
    return { configuration, facts, pods: workers().holding() };
  }

  async #end(pod: Pod, graceSeconds: number, cause: TerminationCause): Promise<void> {
    const worker = this.#options.workers().get(pod.metadata.uid ?? '');
    worker?.terminate({ graceSeconds, cause });
    await worker?.ended;
    await this.#options.statusWritten(pod);
  }
}

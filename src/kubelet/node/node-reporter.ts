/**
 * Keeps the Node's status current: measured every ten seconds, posted when something changed and every five minutes otherwise.
 * What the runtime says of itself and its network is asked for along the way.
 */
import type { Node, NodeStatus } from '../../api/gen/core-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { jitter, type Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { DeviceCapacity } from '../devices/node-devices.ts';
import type { PressureCondition } from '../eviction/pressure.ts';
import type { MachineFacts, NodeHost } from '../host/host.ts';
import { sameJson } from '../pods/status-writer.ts';
import {
  type ContainerRuntime,
  type Image,
  RuntimeError,
  type RuntimeHandler,
  type RuntimeStatus,
  type RuntimeVersion,
} from '../runtime/runtime.ts';
import { allocatableOf, capacityOf } from './capacity.ts';
import { nodeStatus, withoutHeartbeats } from './node-status.ts';

export interface NodeReporterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly hostname: string;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  readonly recorder: EventRecorder;
  readonly kubeletVersion: string;
  /** This Node as a watch shows it, once there is one. */
  watched(): Node | undefined;
  /** Further reasons why the node is not ready: it is shutting down, containers cannot be listed. */
  problems(): readonly string[];
  /** What the node suffers from now. */
  pressures(): ReadonlySet<PressureCondition>;
  /** Volumes that must not be taken from the node, given those of its last status. */
  volumesInUse(before: readonly string[]): readonly string[];
  /** What plugins have; undefined where none can have anything. */
  devices?(): DeviceCapacity | undefined;
  /** The node became ready, or its network did. */
  onReady(): void;
}

const runtimeCheckMs = 5000;
const fastCheckMs = 250;
const updateRetries = 5;

export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #facts: MachineFacts;
  readonly #version: RuntimeVersion;
  #runtimeStatus: RuntimeStatus | undefined;
  #runtimeError = 'container runtime status check may not have completed yet';
  #checkedMs = Number.NEGATIVE_INFINITY;
  #node: Node | undefined;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #wasReady = false;
  #images: readonly Image[] = [];

  constructor(options: NodeReporterOptions, facts: MachineFacts, version: RuntimeVersion) {
    this.#options = options;
    this.#facts = facts;
    this.#version = version;
  }

  /** As the API server is known to have it. */
  get node(): Node | undefined {
    const seen = this.#options.watched();
    const own = this.#node;
    if (!seen || !own) return seen ?? own;
    const isNewer = compareResourceVersions(own.metadata.resourceVersion, seen.metadata.resourceVersion) > 0;
    return seen.metadata.uid === own.metadata.uid && isNewer ? own : seen;
  }

  get allocatable(): Readonly<Record<string, string>> {
    const { configuration } = this.#options;
    return this.#node?.status?.allocatable ?? allocatableOf(capacityOf(this.#facts, configuration), configuration);
  }

  /** Why Pods cannot have a network now; undefined when they can. */
  get networkProblem(): string | undefined {
    const network = this.#runtimeStatus?.conditions.find(({ type }) => type === 'NetworkReady');
    if (!this.#runtimeStatus) return undefined;
    return network?.status ? undefined : networkText(network);
  }

  /** Ways in which the runtime can run Pods, as it last told. */
  get runtimeHandlers(): readonly RuntimeHandler[] {
    return this.#runtimeStatus?.handlers ?? [];
  }

  get isReady(): boolean {
    return this.#wasReady;
  }

  async run(): Promise<void> {
    const { clock, random, signal, configuration, log } = this.#options;
    while (!signal.aborted) {
      await this.report().catch((error) => {
        if (!signal.aborted) log.warn('unable to update node status, will retry', { error: messageOf(error) });
      });
      // Until it is ready for the first time everybody waits for this node.
      const period = configuration.nodeStatusUpdateFrequencyMs;
      const delayMs = this.#wasReady ? jitter(random, period, 0.04) : Math.min(fastCheckMs, period);
      await sleep(clock, delayMs, signal).catch(() => undefined);
    }
  }

  /** Something has changed that others should know of before the next look is due. */
  reportSoon(): void {
    void this.report().catch((error) => {
      if (!this.#options.signal.aborted)
        this.#options.log.warn('unable to update node status, will retry', { error: messageOf(error) });
    });
  }

  /** One look, and a write if there is something to tell. */
  async report(): Promise<void> {
    await this.#checkRuntime();
    let failure: unknown;
    for (let attempt = 0; attempt < updateRetries && !this.#options.signal.aborted; attempt++) {
      try {
        await this.#tryReport(attempt);
        return;
      } catch (error) {
        failure = error;
        if (isNotFound(error)) break;
      }
    }
    throw failure;
  }

  async #tryReport(attempt: number): Promise<void> {
    const { client, clock, nodeName, configuration, signal } = this.#options;
    const current = attempt === 0 ? await this.#current() : await client.get(nodes, { name: nodeName }, { signal });
    const status = await this.#measure(current.status);
    const isChanged = !sameJson(withoutHeartbeats(status), withoutHeartbeats(current.status ?? {}));
    const isDue = clock.monotonic() - this.#reportedMs >= configuration.nodeStatusReportFrequencyMs;
    if (!isChanged && !isDue) {
      this.#node = current;
      return;
    }
    const body = { metadata: { uid: current.metadata.uid }, status: nodeStatusPatch(current.status, status) };
    this.#node = await client.patch(
      nodes,
      { name: nodeName },
      { type: 'strategic', body },
      { subresource: 'status', signal },
    );
    this.#reportedMs = clock.monotonic();
    this.#tell(current.status, status);
  }

  /** From the watch, unless what we wrote ourselves is newer; asked for when neither is there. */
  async #current(): Promise<Node> {
    const { client, nodeName, signal, watched } = this.#options;
    // Without a watch what we wrote ourselves may be long out of date.
    return (watched() && this.node) ?? client.get(nodes, { name: nodeName }, { signal });
  }

  async #measure(before: NodeStatus | undefined): Promise<NodeStatus> {
    const { clock, configuration, host, hostname, kubeletVersion, runtime, signal } = this.#options;
    this.#images = await runtime.listImages({ signal }).catch(() => this.#images);
    return nodeStatus({
      configuration,
      facts: this.#facts,
      runtime: this.#version,
      handlers: this.runtimeHandlers,
      supplementalGroupsPolicy: this.#runtimeStatus?.supplementalGroupsPolicy ?? false,
      images: this.#images,
      hostname,
      addresses: configuration.nodeIps.length > 0 ? configuration.nodeIps : host.addresses(),
      kubeletVersion,
      problems: [...this.#runtimeProblems(), ...this.#options.problems()],
      pressures: this.#options.pressures(),
      volumesInUse: this.#options.volumesInUse(before?.volumesInUse ?? []),
      devices: this.#options.devices?.(),
      before,
      nowMs: clock.now(),
    });
  }

  async #checkRuntime(): Promise<void> {
    const { clock, runtime, signal } = this.#options;
    const isFresh = clock.monotonic() - this.#checkedMs < runtimeCheckMs;
    if (isFresh && this.#wasReady) return;
    try {
      this.#runtimeStatus = await runtime.status({ signal });
      this.#runtimeError = '';
      this.#checkedMs = clock.monotonic();
    } catch (error) {
      // A runtime that was replaced by one that lacks the version agreed on stays unusable until this kubelet starts again.
      const isOther = error instanceof RuntimeError && error.code === 'unimplemented';
      this.#runtimeError = isOther
        ? `container runtime no longer serves CRI ${this.#version.apiVersion}: ${messageOf(error)}`
        : 'container runtime is down';
    }
  }

  #runtimeProblems(): string[] {
    if (this.#runtimeError) return [this.#runtimeError];
    const conditions = this.#runtimeStatus?.conditions ?? [];
    const problems: string[] = [];
    const runtime = conditions.find(({ type }) => type === 'RuntimeReady');
    if (!runtime?.status)
      problems.push(
        `container runtime not ready: RuntimeReady=false reason:${runtime?.reason ?? ''} message:${runtime?.message ?? ''}`,
      );
    if (this.networkProblem) problems.push(this.networkProblem);
    return problems;
  }

  /** Events and callbacks for what has changed. */
  #tell(before: NodeStatus | undefined, after: NodeStatus): void {
    for (const { type, status } of after.conditions ?? []) {
      const names = statusEvents[type];
      const old = before?.conditions?.find((condition) => condition.type === type)?.status;
      if (names && old !== status) this.event(names[status === 'True' ? 0 : 1]);
    }
    const isReady = after.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    if (isReady && !this.#wasReady) this.#options.onReady();
    this.#wasReady = isReady;
  }

  /** `Node NAME status is now: NodeReady`. */
  event(name: string): void {
    this.record('Normal', name, `Node ${this.#options.nodeName} status is now: ${name}`);
  }

  record(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { recorder, nodeName } = this.#options;
    // Upstream names the Node where its uid would stand, and so finds all events of a node, made anew or not.
    recorder.record(
      { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, uid: nodeName } },
      type,
      reason,
      message,
    );
  }
}

const statusEvents: Readonly<Record<string, readonly [string, string]>> = {
  Ready: ['NodeReady', 'NodeNotReady'],
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

function networkText(condition: { readonly reason: string; readonly message: string } | undefined): string {
  return `container runtime network not ready: NetworkReady=false reason:${condition?.reason ?? ''} message:${condition?.message ?? ''}`;
}

/** The fields that differ; a list of addresses replaces the old one, what is gone from a map is null. */
export function nodeStatusPatch(before: NodeStatus | undefined, after: NodeStatus): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(after) as (keyof NodeStatus)[]) {
    if (!sameJson(before?.[key], after[key])) patch[key] = after[key];
  }
  if (Array.isArray(patch.addresses) && before?.addresses?.length)
    patch.addresses = [...(patch.addresses as unknown[]), { $patch: 'replace' }];
  return patch;
}

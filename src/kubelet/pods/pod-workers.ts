/**
 * All Pods of this node: one worker per uid. Pods come from the API server and from files; each is let in or refused when it is first
 * seen, ended when its source no longer has it, and what runs for a Pod that nobody knows is ended as well, but only after
 * every source has been heard.
 */
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { timeOr } from '../../apimachinery/time.ts';
import type { NodeResources } from '../resource-managers/node-resources.ts';
import { type Rejection, rejectionOf } from './admission.ts';
import type { PodServices } from './pod-services.ts';
import { PodWorker, type TerminationOptions } from './pod-worker.ts';
import { podFromLabels } from './runtime-pod.ts';
import type { StatusTarget } from './status-writer.ts';

export interface PodWorkersOptions {
  readonly services: PodServices;
  readonly signal: AbortSignal;
  /** This node as the kubelet last described it. */
  node(): Node;
  /** Where a Pod's status goes. */
  statusTarget(pod: Pod): StatusTarget | undefined;
  /** New Pods are refused while this gives a reason: the node is shutting down, or under pressure. */
  refuse?: ((pod: Pod) => Rejection | undefined) | undefined;
}

export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers = new Map<string, PodWorker>();
  #sourcesReady = false;
  /** Of Pods that get something for themselves: one after the other. */
  #admission: Promise<void> = Promise.resolve();

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#abandon(), { once: true });
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid);
  }

  byName(namespace: string, name: string): PodWorker | undefined {
    const found = [...this.#workers.values()].filter(
      ({ pod }) => pod.metadata.namespace === namespace && pod.metadata.name === name,
    );
    // After a Pod was made anew under its old name both may be here for a moment.
    return found.find(({ stage }) => stage === 'syncing') ?? found[0];
  }

  all(): readonly PodWorker[] {
    return [...this.#workers.values()];
  }

  /** Pods that run or are about to, as their status stands. */
  active(): readonly Pod[] {
    return this.all()
      .filter(({ stage }) => stage === 'syncing')
      .map(({ pod }) => pod);
  }

  /** Pods that run, are about to, or are ending: what they were given is theirs. */
  holding(): readonly Pod[] {
    return this.all()
      .filter(({ stage }) => stage === 'syncing' || stage === 'terminating')
      .map(({ pod }) => pod);
  }

  /** Whether every source has told what it has: what is not here now belongs to no Pod. */
  get sourcesReady(): boolean {
    return this.#sourcesReady;
  }

  /** Whether anything runs or is about to. */
  get isActive(): boolean {
    for (const { stage } of this.#workers.values()) if (stage === 'syncing' || stage === 'terminating') return true;
    return false;
  }

  /** A source has this Pod. The first batch must come oldest first, so that the node fills as it did before. */
  add(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const known = this.#workers.get(uid);
    if (known) {
      known.update(pod);
      return;
    }
    const worker = this.#create(pod);
    const { resources } = this.#options.services;
    if (!resources?.concerns(worker.pod) || hasRun(worker.pod)) {
      this.#letIn(worker, this.#rejectionOf(worker.pod));
      return;
    }
    // A plugin may take its time over devices; what one Pod gets the next cannot have.
    worker.hold();
    this.#admission = this.#admission.then(() => this.#admit(worker, resources));
  }

  /** What it is to have for itself is taken, unless it was ended while it waited. */
  async #admit(worker: PodWorker, resources: NodeResources): Promise<void> {
    const isEnding = () => worker.stage !== 'syncing' || this.#options.signal.aborted;
    if (isEnding()) return;
    const problem = this.#rejectionOf(worker.pod);
    const rejection = problem ?? (await resources.admit(worker.pod).catch(unexpected));
    if (isEnding()) resources.release(worker.uid);
    else this.#letIn(worker, rejection);
  }

  #letIn(worker: PodWorker, rejection: Rejection | undefined): void {
    if (rejection) {
      this.#options.services.metrics.count('admission_rejections_total', {
        reason: reasonForMetrics(rejection.reason),
      });
      worker.reject(rejection.reason, rejection.message);
      return;
    }
    const { allocations } = this.#options.services;
    if (!allocations.has(worker.uid)) allocations.allocate(worker.pod);
    worker.admit();
  }

  /** Its source has it no more. */
  remove(uid: string): void {
    this.#workers.get(uid)?.remove();
  }

  wake(uid: string): void {
    this.#workers.get(uid)?.wake();
  }

  wakeAll(): void {
    for (const worker of this.#workers.values()) worker.wake();
  }

  terminate(uid: string, options: TerminationOptions): void {
    this.#workers.get(uid)?.terminate(options);
  }

  /** Every source has told what it has: from now on what it did not name is ended. */
  markSourcesReady(): void {
    this.#sourcesReady = true;
  }

  /** Ends what the runtime has of Pods that no source knows. */
  adoptUnknown(seen: ReadonlyMap<string, Readonly<Record<string, string>>>): void {
    if (!this.#sourcesReady) return;
    for (const [uid, labels] of seen) {
      if (this.#workers.has(uid)) continue;
      this.#options.services.log.info('ending a Pod that no source knows', {
        uid,
        name: labels['io.kubernetes.pod.name'],
      });
      this.#options.services.metrics.count('orphaned_runtime_pods_total');
      this.#create(podFromLabels(labels)).remove();
    }
  }

  #create(pod: Pod): PodWorker {
    const { services, signal, statusTarget } = this.#options;
    const worker = new PodWorker(pod, {
      services,
      signal,
      statusTarget,
      // It may have given something back.
      onResize: () => this.#retryResizes(),
      onStage: ({ uid, stage }) => {
        if (stage === 'finished') this.#workers.delete(uid);
        if (stage === 'terminated') {
          services.resources?.release(uid);
          services.allocations.release(uid);
          this.#retryResizes();
        }
      },
    });
    this.#workers.set(worker.uid, worker);
    return worker;
  }

  #rejectionOf(pod: Pod): Rejection | undefined {
    return hasRun(pod) ? undefined : (this.#options.refuse?.(pod) ?? this.#insufficiency(pod));
  }

  /** Why the node has not enough for what one of its Pods asks for now. */
  resizeRejection(pod: Pod): Rejection | undefined {
    return this.#insufficiency(pod);
  }

  #insufficiency(pod: Pod) {
    const others = this.all()
      .filter(
        (worker) =>
          worker.uid !== pod.metadata.uid &&
          !worker.isHeld &&
          (worker.stage === 'syncing' || worker.stage === 'terminating'),
      )
      .map((worker) => worker.pod);
    return rejectionOf(pod, others, { node: this.#options.node() });
  }

  /** The most important first: each takes what it needs when it is woken. */
  #retryResizes(): void {
    const priority = ({ pod }: PodWorker) => pod.spec.priority ?? 0;
    const rank = (worker: PodWorker) => (qosClass(worker.pod) === 'Guaranteed' ? 0 : 1);
    const waiting = this.all().filter(({ awaitsResize }) => awaitsResize);
    for (const worker of waiting.sort((a, b) => priority(b) - priority(a) || rank(a) - rank(b))) worker.wake();
  }

  #abandon(): void {
    for (const worker of this.#workers.values()) worker.abandon();
  }
}

/** What ran before this kubelet started, is ending or has ended is not asked whether it may. */
function hasRun(pod: Pod): boolean {
  const { deletionTimestamp } = pod.metadata;
  const hasContainer = (pod.status?.containerStatuses ?? []).some(({ containerID }) => containerID);
  return hasContainer || deletionTimestamp !== undefined || isPodTerminal(pod);
}

/** Those that users can make up as they like are told as one. */
function reasonForMetrics(reason: string): string {
  if (knownReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

const knownReasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'Evicted',
  'VolumeAttachmentLimitExceeded',
]);

function unexpected(error: unknown): Rejection {
  return { reason: 'UnexpectedAdmissionError', message: messageOf(error) };
}

/** Oldest first. */
export function byAge(pods: readonly Pod[]): Pod[] {
  return [...pods].sort((a, b) => timeOr(a.metadata.creationTimestamp, 0) - timeOr(b.metadata.creationTimestamp, 0));
}

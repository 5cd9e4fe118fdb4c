/**
 * The life of one Pod on this node: one task at a time, in three stages that are never gone back.
 *
 *     syncing ──(deleted, finished, deadline, evicted)──> terminating ──(nothing runs)──> terminated ──(object gone)──> finished
 *
 * Each step observes the runtime afresh, so that a worker may begin anywhere: a restarted kubelet adopts what runs. A step that
 * fails is repeated with growing delays; one that must wait (back-off, renewal of a token) says how long.
 *
 * Length: all stages work on one state, which nothing outside may touch.
 */

import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Pod, PodStatus, ResourceStatus } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { timeOr } from '../../apimachinery/time.ts';
import type { Timer } from '../../base/clock.ts';
import { jitter } from '../../base/random.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import { podAsWhole } from '../resize/pod-level-status.ts';
import { PodResize } from '../resize/pod-resize.ts';
import type { ContainerStatus } from '../runtime/runtime.ts';
import { releaseSources } from '../volumes/volume-sources.ts';
import type { WaitingReason } from './container-statuses.ts';
import { stopAll } from './container-stopper.ts';
import { ContainerVerdicts } from './container-verdicts.ts';
import { earliest } from './earliest.ts';
import { EndReasons } from './end-reasons.ts';
import { inOrder, isSameToKubelet, ownConditions } from './own-conditions.ts';
import { endingCauses, failureCause, startCauses } from './pod-causes.ts';
import { type ExecutionOutcome, executePlan } from './pod-execution.ts';
import { unmountVolumes } from './pod-mounts.ts';
import { hasWork, type PlanFacts, planPod } from './pod-plan.ts';
import type { PodServices } from './pod-services.ts';
import { podStatus, rejectedStatus, type TerminationCause } from './pod-status.ts';
import { throughRestartGates } from './restart-gates.ts';
import { emptyRuntimePod, observePod, type RuntimePod, readySandbox, runningContainers } from './runtime-pod.ts';
import type { StatusTarget } from './status-writer.ts';

export type PodStage = 'syncing' | 'terminating' | 'terminated' | 'finished';

export interface TerminationOptions {
  /** Absent: as the Pod or its deletion says. */
  readonly graceSeconds?: number | undefined;
  readonly cause?: TerminationCause | undefined;
}

export interface PodWorkerOptions {
  readonly services: PodServices;
  readonly signal: AbortSignal;
  /** Where the status goes; undefined as long as a static Pod has no mirror. */
  statusTarget(pod: Pod): StatusTarget | undefined;
  /** It was given other resources. */
  onResize(worker: PodWorker): void;
  /** The stage changed. */
  onStage(worker: PodWorker): void;
}

const firstRetryMs = 500;
const longestRetryMs = 10_000;
const networkRetryMs = 1000;

export class PodWorker {
  readonly uid: string;
  readonly #options: PodWorkerOptions;
  readonly #services: PodServices;
  readonly #verdicts: ContainerVerdicts;
  readonly #resize: PodResize;
  readonly #waiting = new Map<string, WaitingReason>();
  readonly #startTimeMs: number;
  /** As its source has it. */
  #pod: Pod;
  #stage: PodStage = 'syncing';
  #observed: RuntimePod = emptyRuntimePod;
  /** As last computed; the API server may not have it yet. */
  #status: PodStatus | undefined;
  #cause: TerminationCause | undefined;
  #graceSeconds: number | undefined;
  /** The API server has no such Pod any more. */
  #isGone = false;
  /** Nothing was made for it yet. */
  #isUntouched = true;
  #isCleaned = false;
  #isDirty = false;
  #isRunning = false;
  #isHeld = false;
  #failures = 0;
  /** Of processes of the Pod that the kernel has killed for memory. */
  readonly #endReasons: EndReasons;
  #timer: Timer | undefined;
  #step = new AbortController();
  readonly #ended = Promise.withResolvers<void>();

  constructor(pod: Pod, options: PodWorkerOptions) {
    this.uid = pod.metadata.uid ?? '';
    this.#pod = pod;
    this.#options = options;
    this.#endReasons = new EndReasons(options.services);
    this.#services = options.services;
    this.#startTimeMs = timeOr(pod.status?.startTime, options.services.clock.now());
    this.#verdicts = new ContainerVerdicts(options.services, () => this.wake());
    this.#resize = new PodResize(options.services, pod);
  }

  /** As it runs here: with the resources that it was given, and without what gates are closed for. */
  get pod(): Pod {
    const { allocations, configuration } = this.#services;
    return throughRestartGates(allocations.allocated(this.#pod), configuration.featureGates);
  }

  /** Asks for more than there is now. */
  get awaitsResize(): boolean {
    return this.#stage === 'syncing' && this.#resize.isDeferred;
  }

  get stage(): PodStage {
    return this.#stage;
  }

  /** Resolves when nothing of it runs any more, nothing will, and what it used is given back. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** What the runtime showed the last time. */
  get observed(): RuntimePod {
    return this.#observed;
  }

  /** The newest status, which the API server may not have yet. */
  get status(): PodStatus | undefined {
    return this.#status ?? this.#pod.status;
  }

  /** Whether the node has not decided yet if it takes it. */
  get isHeld(): boolean {
    return this.#isHeld && this.#stage === 'syncing';
  }

  /** Nothing is done for it until it is let in. */
  hold(): void {
    this.#isHeld = true;
  }

  /** The node takes it. */
  admit(): void {
    this.#isHeld = false;
    if (this.#pod.metadata.deletionTimestamp)
      this.terminate({ graceSeconds: this.#pod.metadata.deletionGracePeriodSeconds });
    this.wake();
  }

  /** A newer version of the Pod. */
  update(pod: Pod): void {
    const before = this.#pod;
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp) this.terminate({ graceSeconds: pod.metadata.deletionGracePeriodSeconds });
    // Most updates are the echo of our own status.
    if (before === pod || !isSameToKubelet(before, pod)) this.wake();
    else this.#restate();
  }

  /** Only the status has changed: where it was not our own write, what is ours in it is put right. */
  #restate(): void {
    const { statuses } = this.#services;
    const target = this.#target();
    if (!this.#status || !target || this.#isGone) return;
    if (statuses.hasWritten(target.uid, this.#pod.metadata.resourceVersion)) return;
    statuses.set(target, this.#podWithStatus().status ?? this.#status, this.#pod);
  }

  /** The object is gone from the API server, or its file from the node. */
  remove(): void {
    this.#isGone = true;
    this.terminate({});
    this.wake();
  }

  /** Never lets it run: the node cannot take it. */
  reject(reason: string, message: string): void {
    this.#services.event(this.#pod, 'Warning', reason, message);
    const target = this.#target();
    const status = rejectedStatus(this.#pod, reason, message, this.#services.clock.now());
    this.#status = status;
    if (target) this.#services.statuses.set(target, status, this.#pod);
    this.#enter('terminated');
    this.wake();
  }

  /** Ends it. Called again it can shorten the grace period, never lengthen it. */
  terminate({ graceSeconds, cause }: TerminationOptions): void {
    this.#cause ??= cause;
    const wanted =
      graceSeconds ??
      this.#pod.metadata.deletionGracePeriodSeconds ??
      this.#pod.spec.terminationGracePeriodSeconds ??
      30;
    const isShorter = this.#graceSeconds === undefined || wanted < this.#graceSeconds;
    if (isShorter) this.#graceSeconds = Math.max(1, wanted);
    if (this.#stage === 'syncing') this.#enter('terminating');
    else if (this.#stage !== 'terminating' || !isShorter) return;
    // Whatever is under way is for a Pod that should run, or waits longer than it now may.
    this.#step.abort(new Error('the Pod is being terminated'));
    this.wake();
  }

  /** Something may have changed: look again, now or right after the step that is under way. */
  wake(): void {
    this.#isDirty = true;
    if (!this.#isRunning && !this.isHeld && !this.#options.signal.aborted) void this.#run();
  }

  /** The kubelet ends; what runs goes on without it. */
  abandon(): void {
    this.#step.abort(this.#options.signal.reason);
    this.#timer?.cancel();
    this.#verdicts.stopAll();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    let againMs: number | undefined;
    while (this.#isDirty && this.#stage !== 'finished' && !this.#options.signal.aborted) {
      this.#isDirty = false;
      this.#step = new AbortController();
      const { signal } = this.#step;
      try {
        againMs = await this.#runStep(signal);
        this.#failures = 0;
      } catch (error) {
        if (this.#options.signal.aborted) break;
        againMs = signal.aborted ? 0 : this.#retryDelay(error);
      }
    }
    this.#isRunning = false;
    if (this.#stage === 'finished' || this.#options.signal.aborted) return;
    const { syncFrequencyMs } = this.#services.configuration;
    const resyncMs =
      this.#stage === 'syncing' && syncFrequencyMs > 0
        ? jitter(this.#services.random, syncFrequencyMs, 0.5)
        : undefined;
    const delayMs = againMs === undefined ? resyncMs : Math.min(againMs, resyncMs ?? againMs);
    if (delayMs !== undefined) this.#timer = this.#services.clock.after(delayMs, () => this.wake());
  }

  #retryDelay(error: unknown): number {
    const { clock, log, random } = this.#services;
    const delayMs = jitter(random, Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs), 0.5);
    this.#services.explain(this.#pod, [failureCause(messageOf(error), clock.now() + delayMs)]);
    log.warn('error syncing pod, skipping', {
      pod: this.#pod.metadata.name,
      namespace: this.#pod.metadata.namespace,
      error: messageOf(error),
    });
    return delayMs;
  }

  #runStep(signal: AbortSignal): Promise<number | undefined> | undefined {
    const { clock, metrics } = this.#services;
    const operation = { operation_type: this.#status ? 'sync' : 'create' };
    switch (this.#stage) {
      case 'syncing':
        return metrics.timed('pod_worker_duration_seconds', clock, () => this.#sync(signal), operation);
      case 'terminating':
        return this.#terminate(signal);
      case 'terminated':
        return this.#settle();
      default:
        return undefined;
    }
  }

  async #sync(signal: AbortSignal): Promise<number | undefined> {
    if (this.#isTerminalInApi()) {
      this.#enter('terminating');
      this.#isDirty = true;
      return undefined;
    }
    if (this.#resize.consider(this.#pod)) this.#options.onResize(this);
    await this.#observe(signal);
    const deadlineMs = this.#untilDeadline();
    if (deadlineMs !== undefined && deadlineMs <= 0) return this.#endAtDeadline();
    this.#publish(false);
    for (let round = 0, outcome: ExecutionOutcome | undefined; ; round++) {
      const plan = planPod(this.pod, this.#observed, this.#planFacts());
      if (plan.endPod) {
        this.#graceSeconds ??= this.#pod.spec.terminationGracePeriodSeconds ?? 30;
        this.#enter('terminating');
        this.#isDirty = true;
        return undefined;
      }
      const problem = this.#pod.spec.hostNetwork ? undefined : this.#services.networkProblem();
      if (problem && plan.createSandbox) {
        this.#services.event(this.#pod, 'Warning', 'NetworkNotReady', `network is not ready: ${problem}`);
        this.#services.explain(this.#pod, [
          failureCause(`network is not ready: ${problem}`, this.#services.clock.now() + networkRetryMs),
        ]);
        return networkRetryMs;
      }
      if (!outcome || hasWork(plan)) {
        this.#isUntouched = false;
        outcome = await executePlan(this.#services, plan, {
          pod: this.#podWithStatus(),
          observed: this.#observed,
          waiting: this.#waiting,
          resizeFailed: (message) => this.#resize.fail(this.pod, message),
          signal,
        });
        if (outcome.didSomething) await this.#observe(signal, outcome);
        this.#publish(false);
      } else outcome = { ...outcome, didSomething: false };
      // What was done may have opened the way for the next container; what has to wait says how long.
      if (!outcome.didSomething || outcome.retryAfterMs !== undefined || round === 20) {
        const { retryAfterMs } = outcome;
        const retryAtMs = retryAfterMs === undefined ? undefined : this.#services.clock.now() + retryAfterMs;
        this.#services.explain(this.#pod, startCauses(this.#waiting, retryAtMs));
        return earliest(outcome.retryAfterMs, outcome.renewAfterMs, this.#resize.retryAfterMs, deadlineMs);
      }
    }
  }

  async #terminate(signal: AbortSignal): Promise<number | undefined> {
    const { runtime } = this.#services;
    this.#verdicts.stopLiveness();
    await this.#observe(signal);
    this.#publish(false);
    const ip = readySandbox(this.#observed)?.ips[0] ?? this.#services.hostIps()[0] ?? '';
    const killAtMs = this.#services.clock.now() + (this.#graceSeconds ?? 30) * 1000;
    this.#services.explain(this.#pod, endingCauses(this.#observed, killAtMs));
    try {
      await stopAll(this.#services, this.#pod, this.#observed, {
        graceSeconds: this.#graceSeconds ?? 30,
        podIp: ip,
        signal,
      });
      for (const sandbox of this.#observed.sandboxes)
        if (sandbox.state === 'ready') await runtime.stopPodSandbox(sandbox.id, { signal });
    } catch (error) {
      signal.throwIfAborted();
      this.#services.event(this.#pod, 'Warning', 'FailedKillPod', `error killing pod: ${messageOf(error)}`);
      throw error;
    }
    await this.#observe(signal);
    const alive = runningContainers(this.#observed);
    if (alive.length > 0)
      throw new Error(
        `detected running containers after a successful KillPod, CRI violation: ${alive.map(({ id }) => id)}`,
      );
    // Once the API server knows that nothing runs any more, others may get the devices.
    await this.#services.dynamicResources?.release(this.uid);
    this.#verdicts.stopAll();
    this.#waiting.clear();
    this.#services.explain(this.#pod, []);
    this.#publish(true);
    this.#enter('terminated');
    this.#isDirty = true;
    return undefined;
  }

  /** Nothing runs any more: give back what it used, and let the object go when it is being deleted. */
  async #settle(): Promise<number | undefined> {
    const { host, statuses, runtime } = this.#services;
    if (!this.#isCleaned) {
      await unmountVolumes(this.#services, this.uid);
      await host.cgroups.remove(this.uid, qosClass(this.#pod));
      await this.#services.ensureNodeCgroups();
      this.#services.images.forget(this.uid);
      this.#services.restartBackoff.forget(`${this.uid}_`);
      releaseSources(this.#services.volumeSources, this.uid);
      await this.#services.userNamespaces.release(this.uid);
      this.#isCleaned = true;
      this.#ended.resolve();
    }
    const target = this.#target();
    if (!this.#isGone) {
      if (this.#pod.metadata.deletionTimestamp && target) statuses.finish(target);
      return undefined;
    }
    const observed = await this.#observeAnyway();
    const { minimumContainerTtlMs } = this.#services.configuration;
    const youngestMs = Math.max(...observed.containers.map(({ createdAtMs }) => createdAtMs));
    const keepMs = youngestMs + minimumContainerTtlMs - this.#services.clock.now();
    if (minimumContainerTtlMs > 0 && keepMs > 0) return keepMs;
    for (const container of observed.containers) {
      await host.files.unlinkLog(container);
      await runtime.removeContainer(container.id);
    }
    for (const sandbox of observed.sandboxes) {
      await runtime.stopPodSandbox(sandbox.id);
      await runtime.removePodSandbox(sandbox.id);
    }
    await host.files.removePod(this.uid);
    await host.files.removeLogs(this.#pod);
    if (target) statuses.forget(target.uid);
    this.#enter('finished');
    return undefined;
  }

  #observeAnyway(): Promise<RuntimePod> {
    return observePod(this.#services.runtime, this.uid, {
      readMessage: async () => undefined,
      previous: this.#observed,
    });
  }

  /** With what was made since the last look. */
  async #observe(signal: AbortSignal, { made, sandbox }: Partial<ExecutionOutcome> = {}): Promise<void> {
    const { runtime, host } = this.#services;
    // Nobody else makes anything for a Pod of which the runtime has nothing.
    if (this.#isUntouched && !this.#services.mayHave(this.uid)) return;
    const readMessage = host.files.terminationMessage.bind(host.files);
    const isEnding = this.#stage !== 'syncing';
    const readReason = (container: ContainerStatus) => this.#endReasons.of(this.#pod, container, { isEnding, signal });
    const previous = sandbox
      ? { ...this.#observed, sandboxes: [sandbox, ...this.#observed.sandboxes] }
      : this.#observed;
    this.#observed = await observePod(runtime, this.uid, { signal, readMessage, readReason, previous, made });
    if (this.#stage === 'syncing') {
      this.#verdicts.follow(this.#podWithStatus(), this.#observed);
      this.#resize.settle(this.pod, this.#observed);
    }
    for (const { name } of runningContainers(this.#observed)) this.#waiting.delete(name);
  }

  #planFacts(): PlanFacts {
    const verdicts = this.#verdicts;
    return {
      livenessFailed: (id) => verdicts.livenessFailed(id),
      startupFailed: (id) => verdicts.startupFailed(id),
      isStarted: (id) => verdicts.isStarted(id),
      resizeOf: (spec, container) => this.#resize.changeOf(this.pod, spec, container),
    };
  }

  #publish(isTerminal: boolean): void {
    if (isTerminal) this.#resize.end();
    const target = this.#target();
    const { clock, metrics, statuses, runtimeName } = this.#services;
    const status = podStatus({
      pod: this.#podWithStatus(),
      observed: this.#observed,
      hostIps: this.#services.hostIps(),
      startTimeMs: this.#startTimeMs,
      nowMs: clock.now(),
      isTerminal,
      cause: this.#cause,
      resizing: this.#resize.conditions,
      asWhole: podAsWhole(this.#services, this.#podWithStatus(), this.#observed),
      knowledge: {
        waiting: this.#waiting,
        runtimeName,
        isStarted: (id) => this.#verdicts.isStarted(id),
        isReady: (id) => this.#verdicts.isReady(id),
        resourcesOf: (name, id) => this.#services.allocations.actuated(this.uid, name, id),
        devicesOf: (name) => this.#devicesOf(name),
      },
    });
    if (status.phase === 'Running' && this.#status?.phase === 'Pending')
      metrics.time('pod_start_duration_seconds', clock.now() - this.#startTimeMs);
    this.#status = status;
    if (target && !this.#isGone) statuses.set(target, status, this.#pod);
    if (!isTerminal && this.#stage === 'syncing' && (status.phase === 'Succeeded' || status.phase === 'Failed'))
      this.#isDirty = true;
  }

  #devicesOf(container: string): readonly ResourceStatus[] {
    const { configuration, devices, dynamicResources } = this.#services;
    if (!isGateOn(configuration.featureGates, 'ResourceHealthStatus')) return [];
    const spec = this.#pod.spec.containers.find(({ name }) => name === container);
    const claimed = spec ? dynamicResources?.health(this.#pod, spec) : undefined;
    return [...(devices?.health(this.uid, container) ?? []), ...(claimed ?? [])];
  }

  /** With the newest status of our own, and the conditions that others have set meanwhile. */
  #podWithStatus(): Pod {
    const own = this.#status;
    const { pod } = this;
    if (!own) return pod;
    const foreign = (this.#pod.status?.conditions ?? []).filter(({ type }) => !ownConditions.has(type));
    const conditions = [
      ...(own.conditions ?? []).filter(
        ({ type }) => ownConditions.has(type) || !foreign.some((condition) => condition.type === type),
      ),
      ...foreign,
    ];
    const { resourceClaimStatuses } = this.#pod.status ?? {};
    return { ...pod, status: { ...own, resourceClaimStatuses, conditions: inOrder(conditions, own) } };
  }

  #target(): StatusTarget | undefined {
    return this.#options.statusTarget(this.#pod);
  }

  #isTerminalInApi(): boolean {
    const phase = this.#podWithStatus().status?.phase;
    return phase === 'Succeeded' || phase === 'Failed';
  }

  #untilDeadline(): number | undefined {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    return seconds === undefined ? undefined : this.#startTimeMs + seconds * 1000 - this.#services.clock.now();
  }

  #endAtDeadline(): undefined {
    const message = 'Pod was active on the node longer than the specified deadline';
    this.#services.event(this.#pod, 'Normal', 'DeadlineExceeded', message);
    this.#cause = { reason: 'DeadlineExceeded', message, fails: true };
    this.#graceSeconds = this.#pod.spec.terminationGracePeriodSeconds ?? 30;
    this.#enter('terminating');
    this.#isDirty = true;
    return undefined;
  }

  #enter(stage: PodStage): void {
    this.#stage = stage;
    this.#options.onStage(this);
  }
}

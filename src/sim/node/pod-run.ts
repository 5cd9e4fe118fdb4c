/**
 * One Pod as it runs on a simulated machine: containers that start, become ready, end and are started again as the script says. It lives on
 * the machine: the end of a kubelet does not touch it, the end of the machine ends it. Its status is what a kubelet would post of it.
 */
import { shouldRestart, withPodCondition } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { KeyedBackoff } from '../../kubelet/keyed-backoff.ts';
import { podPhase } from '../../kubelet/pods/pod-phase.ts';
import type { ResolvedScript } from './pod-script.ts';

export interface PodRunOptions {
  readonly clock: Clock;
  readonly script: ResolvedScript;
  readonly ip: string;
  readonly hostIp: string;
  /** Its status has changed. */
  onChange(run: PodRun): void;
}

interface ContainerRun {
  readonly container: Container;
  state: 'waiting' | 'running' | 'ended';
  startedMs: number;
  endedMs: number;
  exitCode: number;
  /** Of the run before this one. */
  last: { readonly startedMs: number; readonly endedMs: number; readonly exitCode: number } | undefined;
  restarts: number;
  isReady: boolean;
}

const firstRestartMs = 10_000;
const longestRestartMs = 300_000;
const killed = 137;

export class PodRun {
  /** As the kubelet last saw it. */
  pod: Pod;
  readonly ip: string;
  readonly #options: PodRunOptions;
  readonly #containers: readonly ContainerRun[];
  readonly #timers = new Set<Timer>();
  readonly #backoff = new KeyedBackoff(firstRestartMs, longestRestartMs);
  readonly #startedMs: number;
  #isStopping = false;
  #isOver = false;
  #isCutShort = false;

  constructor(pod: Pod, options: PodRunOptions) {
    this.pod = pod;
    this.ip = options.ip;
    this.#options = options;
    this.#startedMs = options.clock.now();
    const { script } = options;
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    this.#containers = all
      .filter(({ name }) => script.containers.has(name))
      .map((container) => ({
        container,
        state: 'waiting',
        startedMs: 0,
        endedMs: 0,
        exitCode: 0,
        last: undefined,
        restarts: 0,
        isReady: false,
      }));
    // Those that start at once are never seen waiting.
    if (script.startMs <= 0) this.#startAll();
    else this.#after(script.startMs, () => this.#startAll());
  }

  /** Nothing of it runs, and nothing will. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isRunning(): boolean {
    return this.#containers.some(({ state }) => state === 'running');
  }

  /** Asks its containers to end, within the grace period. */
  stop(graceMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#cancelTimers();
    const { stopMs } = this.#options.script;
    this.#after(this.isRunning ? Math.min(stopMs, graceMs) : 0, () => this.#end(stopMs > graceMs ? killed : 0));
  }

  /** At once, and nobody is told: the machine lost power, or the object is gone. */
  kill(): void {
    if (this.#isOver) return;
    this.#cancelTimers();
    for (const one of this.#containers) if (one.state === 'running') this.#markEnded(one, killed);
    this.#isOver = true;
    this.#isCutShort = true;
  }

  /** The machine is on again, and its kubelet has heard that the Pod still belongs here: what has not ended starts anew. */
  revive(): void {
    if (!this.#isCutShort) return;
    this.#isOver = false;
    this.#isCutShort = false;
    if (this.#isStopping) return this.#after(0, () => this.#end(killed));
    this.#after(this.#options.script.startMs, () => {
      for (const one of this.#containers) this.#restart(one);
    });
  }

  status(): PodStatus {
    const { clock, hostIp } = this.#options;
    const { pod } = this;
    const statuses = this.#containers.map((one) => this.#containerStatus(one));
    const isDone = this.#isOver || (this.#isStopping && !this.isRunning);
    const phase = podPhase(pod, statuses, { isTerminal: isDone });
    const finished = phase === 'Succeeded' || phase === 'Failed';
    const ready = !finished && statuses.length > 0 && statuses.every((status) => status.ready);
    const now = formatTime(clock.now());
    const started = this.#containers.some(({ state }) => state !== 'waiting');
    const reason = phase === 'Succeeded' ? 'PodCompleted' : phase === 'Failed' ? 'PodFailed' : 'ContainersNotReady';
    const drafts: readonly PodCondition[] = [
      { type: 'PodReadyToStartContainers', status: started ? 'True' : 'False' },
      { type: 'Initialized', status: started ? 'True' : 'False' },
      { type: 'ContainersReady', status: ready ? 'True' : 'False', ...(ready ? {} : { reason }) },
      { type: 'Ready', status: ready ? 'True' : 'False', ...(ready ? {} : { reason }) },
      { type: 'PodScheduled', status: 'True' },
    ];
    let conditions = pod.status?.conditions;
    for (const condition of drafts)
      conditions = withPodCondition(conditions, { lastTransitionTime: now, ...condition });
    return {
      ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
      phase,
      ...(conditions ? { conditions } : {}),
      hostIP: hostIp,
      hostIPs: [{ ip: hostIp }],
      ...(started ? { podIP: this.ip, podIPs: [{ ip: this.ip }] } : {}),
      startTime: pod.status?.startTime ?? formatTime(this.#startedMs),
      containerStatuses: statuses,
      qosClass: qosClass(pod),
    };
  }

  #after(delayMs: number, callback: () => void): void {
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      callback();
      this.#options.onChange(this);
    });
    this.#timers.add(timer);
  }

  #cancelTimers(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #startAll(): void {
    for (const one of this.#containers) this.#start(one);
  }

  #start(one: ContainerRun): void {
    const { clock, script } = this.#options;
    one.state = 'running';
    one.startedMs = clock.now();
    if (script.readyMs <= 0) one.isReady = true;
    else this.#after(script.readyMs, () => Object.assign(one, { isReady: one.state === 'running' }));
    const { runMs, exitCode } = script.containers.get(one.container.name)!;
    if (Number.isFinite(runMs)) this.#after(runMs, () => this.#exit(one, exitCode));
  }

  #exit(one: ContainerRun, exitCode: number): void {
    if (one.state !== 'running') return;
    this.#markEnded(one, exitCode);
    if (!shouldRestart(one.container, this.pod.spec, exitCode)) {
      this.#isOver = this.#containers.every(({ state, container, exitCode: code }) => {
        return state === 'ended' && !shouldRestart(container, this.pod.spec, code);
      });
      return;
    }
    const { name } = one.container;
    const nowMs = this.#options.clock.now();
    const waitMs = this.#backoff.remaining(name, one.endedMs, nowMs);
    this.#backoff.next(name, nowMs);
    this.#after(waitMs, () => this.#restart(one));
  }

  #restart(one: ContainerRun): void {
    one.last = { startedMs: one.startedMs, endedMs: one.endedMs, exitCode: one.exitCode };
    one.restarts++;
    this.#start(one);
  }

  #markEnded(one: ContainerRun, exitCode: number): void {
    Object.assign(one, { state: 'ended', endedMs: this.#options.clock.now(), exitCode, isReady: false });
  }

  #end(exitCode: number): void {
    for (const one of this.#containers) if (one.state === 'running') this.#markEnded(one, exitCode);
    this.#isOver = true;
  }

  #containerStatus(one: ContainerRun): ContainerStatus {
    const { container, state, last, restarts, isReady } = one;
    const { name, image = '' } = container;
    const id = `simulated://${this.pod.metadata.uid}/${name}/${restarts}`;
    const ended = (run: { readonly startedMs: number; readonly endedMs: number; readonly exitCode: number }) => ({
      exitCode: run.exitCode,
      reason: run.exitCode === 0 ? 'Completed' : 'Error',
      startedAt: formatTime(run.startedMs),
      finishedAt: formatTime(run.endedMs),
      containerID: id,
    });
    return {
      name,
      image,
      imageID: image,
      ready: isReady,
      started: state === 'running',
      restartCount: restarts,
      ...(state === 'waiting' ? {} : { containerID: id }),
      state:
        state === 'running'
          ? { running: { startedAt: formatTime(one.startedMs) } }
          : state === 'ended'
            ? { terminated: ended(one) }
            : { waiting: { reason: 'ContainerCreating' } },
      lastState: last ? { terminated: ended(last) } : {},
    };
  }
}

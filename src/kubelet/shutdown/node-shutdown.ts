/**
 * Ends Pods in order before the machine is switched off: holds a lock that delays the shutdown, hears of it, shows the node as not ready
 * and takes no new Pods, ends the phases one after the other, and lets go of the lock. A shutdown that is called off takes the lock again;
 * Pods that were ended stay ended.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatMicroTime, timeOr } from '../../apimachinery/time.ts';
import { type Clock, sleep, withTimeout } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ShutdownSource, StateFiles } from '../host/host.ts';
import type { Rejection } from '../pods/admission.ts';
import type { TerminationCause } from '../pods/pod-status.ts';
import { graceSecondsOf, podsByPhase, type ShutdownPhase, totalSeconds } from './shutdown-phases.ts';

export interface NodeShutdownOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** At least one. */
  readonly phases: readonly ShutdownPhase[];
  readonly source: ShutdownSource;
  /** Where the times of the last shutdown are kept for the metrics of the kubelet after it. */
  readonly state: StateFiles;
  activePods(): readonly Pod[];
  /** Resolves when nothing of the Pod runs any more. */
  end(pod: Pod, graceSeconds: number, cause: TerminationCause): Promise<void>;
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** The Node's status is to be posted at once. */
  onStatus(): void;
}

const stateFile = 'graceful_node_shutdown_state';
const reconnectMs = 1000;
const message = 'Pod was terminated in response to imminent node shutdown.';
const cause: TerminationCause = {
  reason: 'Terminated',
  message,
  fails: true,
  condition: { type: 'DisruptionTarget', reason: 'TerminationByKubelet', message },
};

export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  #isShuttingDown = false;
  #releaseLock: (() => void) | undefined;
  #startedMs = 0;
  #endedMs = 0;

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
  }

  /** Why the node is not ready. */
  get problem(): string | undefined {
    return this.#isShuttingDown ? 'node is shutting down' : undefined;
  }

  refusal(): Rejection | undefined {
    if (!this.#isShuttingDown) return undefined;
    return { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };
  }

  /** Of the last shutdown, in milliseconds since 1970; 0: none, or not yet. */
  get times(): { readonly startedMs: number; readonly endedMs: number } {
    return { startedMs: this.#startedMs, endedMs: this.#endedMs };
  }

  /** Until the signal is aborted; connects again when the bus is lost. */
  async run(): Promise<void> {
    const { clock, log, signal } = this.#options;
    await this.#load();
    while (!signal.aborted) {
      await this.#watch().catch((error) => {
        if (!signal.aborted) log.warn('unable to watch the node for shutdown events', { error: messageOf(error) });
      });
      await sleep(clock, reconnectMs, signal).catch(() => undefined);
    }
    this.#release();
  }

  async #watch(): Promise<void> {
    const { phases, signal, source } = this.#options;
    // Heard first: a shutdown that begins right after the lock was taken must not be missed.
    const announcements = await source.announcements(signal);
    const seconds = totalSeconds(phases);
    if ((await source.longestDelayMs()) < seconds * 1000) await source.raiseLongestDelay(seconds * 1000);
    await this.#takeLock();
    for await (const isShuttingDown of announcements) {
      if (isShuttingDown) await this.#begin();
      else await this.#callOff();
    }
  }

  async #begin(): Promise<void> {
    const { clock, nodeEvent, onStatus } = this.#options;
    this.#isShuttingDown = true;
    nodeEvent('Normal', 'NodeShutdown', 'Shutdown manager detected shutdown event');
    onStatus();
    this.#startedMs = clock.now();
    this.#endedMs = 0;
    await this.#save();
    try {
      await this.#endPods();
    } finally {
      this.#endedMs = clock.now();
      await this.#save();
      this.#release();
    }
  }

  async #callOff(): Promise<void> {
    const { nodeEvent, onStatus } = this.#options;
    this.#isShuttingDown = false;
    nodeEvent('Normal', 'NodeShutdown', 'Shutdown manager detected shutdown cancellation');
    onStatus();
    await this.#takeLock();
  }

  async #endPods(): Promise<void> {
    const { activePods, clock, end, log, phases } = this.#options;
    const deadlineMs = clock.monotonic() + totalSeconds(phases) * 1000;
    const within = (work: Promise<unknown>, limitMs: number, priority?: number) =>
      withTimeout(clock, work, limitMs, () => new Error('pod killing time out')).catch((error) =>
        log.warn('Pods have not ended in their time', { priority, error: messageOf(error) }),
      );
    const endings: Promise<unknown>[] = [];
    for (const { phase, pods } of podsByPhase(phases, activePods())) {
      log.info('ending Pods before the node shuts down', { priority: phase.priority, pods: pods.length });
      const ended = Promise.all(pods.map((pod) => end(pod, graceSecondsOf(pod, phase), cause)));
      endings.push(ended);
      await within(ended, phase.seconds * 1000, phase.priority);
    }
    // Who was killed at the end of its phase may still have that to tell, and there may be time for it.
    await within(Promise.all(endings), Math.max(0, deadlineMs - clock.monotonic()));
  }

  async #takeLock(): Promise<void> {
    const release = await this.#options.source.delayShutdown();
    this.#release();
    this.#releaseLock = release;
  }

  #release(): void {
    this.#releaseLock?.();
    this.#releaseLock = undefined;
  }

  async #load(): Promise<void> {
    const text = await this.#options.state.read(stateFile);
    if (text === undefined) return;
    try {
      const { startTime, endTime } = JSON.parse(text) as { startTime?: string; endTime?: string };
      this.#startedMs = Math.max(0, timeOr(startTime, 0));
      this.#endedMs = Math.max(0, timeOr(endTime, 0));
    } catch (error) {
      this.#options.log.warn('failed to load graceful shutdown state', { error: messageOf(error) });
    }
  }

  async #save(): Promise<void> {
    const text = (ms: number) => (ms === 0 ? '0001-01-01T00:00:00Z' : formatMicroTime(ms));
    const state = { startTime: text(this.#startedMs), endTime: text(this.#endedMs) };
    await this.#options.state.write(stateFile, JSON.stringify(state)).catch((error) => {
      this.#options.log.warn('failed to store graceful shutdown state', { error: messageOf(error) });
    });
  }
}

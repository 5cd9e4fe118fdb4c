/**
 * The probes of one running container: each at its period, counted against its thresholds. A startup probe holds the others back
 * until it has succeeded; a liveness or startup probe that has failed stays failed, for the container is about to be replaced.
 */

import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Probe } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ProbeOutcome } from '../host/host.ts';

export type ProbeKind = 'Startup' | 'Liveness' | 'Readiness';

export interface ContainerProbesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly container: Container;
  readonly startedAtMs: number;
  /** What the last status said of a container that ran before this kubelet did: it stands until a probe says otherwise. */
  readonly adopted?: { readonly isStarted: boolean; readonly isReady: boolean } | undefined;
  run(probe: Probe, signal: AbortSignal): Promise<ProbeOutcome>;
  event(reason: string, message: string): void;
  /** A verdict changed. */
  onChange(): void;
}

/** How long after its start a container is first asked, when its probe names no delay: a moment, so that it can open its port. */
const firstProbeMs = 500;

export class ContainerProbes {
  readonly #options: ContainerProbesOptions;
  readonly #stop = new AbortController();
  readonly #loops: ProbeLoop[] = [];
  #startup: boolean | undefined;
  #live = true;
  #ready: boolean;

  constructor(options: ContainerProbesOptions) {
    this.#options = options;
    const { container, adopted } = options;
    const awaitsStartup = container.startupProbe !== undefined && !adopted?.isStarted;
    this.#startup = awaitsStartup ? undefined : true;
    this.#ready = container.readinessProbe === undefined || adopted?.isReady === true;
    if (container.startupProbe && awaitsStartup)
      this.#loop('Startup', container.startupProbe, (passed) => this.#onStartup(passed));
    else this.#afterStartup();
  }

  get isStarted(): boolean {
    return this.#startup === true;
  }

  get startupFailed(): boolean {
    return this.#startup === false;
  }

  get livenessFailed(): boolean {
    return !this.#live;
  }

  get isReady(): boolean {
    return this.isStarted && this.#ready;
  }

  stop(): void {
    this.#stop.abort();
    for (const loop of this.#loops) loop.stop();
  }

  /** While a Pod ends only readiness is still asked for. */
  stopLiveness(): void {
    for (const loop of this.#loops) if (loop.kind !== 'Readiness') loop.stop();
  }

  #onStartup(passed: boolean): void {
    this.#startup = passed;
    for (const loop of this.#loops) loop.stop();
    if (passed) this.#afterStartup();
    this.#options.onChange();
  }

  #afterStartup(): void {
    const { container } = this.#options;
    if (container.livenessProbe) this.#loop('Liveness', container.livenessProbe, (passed) => this.#onLiveness(passed));
    if (container.readinessProbe)
      this.#loop('Readiness', container.readinessProbe, (passed) => this.#onReadiness(passed));
  }

  #onLiveness(passed: boolean): void {
    if (passed || !this.#live) return;
    this.#live = false;
    for (const loop of this.#loops) if (loop.kind === 'Liveness') loop.stop();
    this.#options.onChange();
  }

  #onReadiness(passed: boolean): void {
    if (passed === this.#ready) return;
    this.#ready = passed;
    this.#options.onChange();
  }

  #loop(kind: ProbeKind, probe: Probe, onVerdict: (passed: boolean) => void): void {
    this.#loops.push(new ProbeLoop(kind, probe, onVerdict, this.#options, this.#stop.signal));
  }
}

class ProbeLoop {
  readonly kind: ProbeKind;
  readonly #probe: Probe;
  readonly #onVerdict: (passed: boolean) => void;
  readonly #options: ContainerProbesOptions;
  readonly #signal: AbortSignal;
  #timer: Timer | undefined;
  #isStopped = false;
  #last: boolean | undefined;
  #run = 0;

  constructor(
    kind: ProbeKind,
    probe: Probe,
    onVerdict: (passed: boolean) => void,
    options: ContainerProbesOptions,
    signal: AbortSignal,
  ) {
    this.kind = kind;
    this.#probe = probe;
    this.#onVerdict = onVerdict;
    this.#options = options;
    this.#signal = signal;
    const delayMs = Math.max(firstProbeMs, (probe.initialDelaySeconds ?? 0) * 1000);
    this.#schedule(Math.max(0, options.startedAtMs + delayMs - options.clock.now()));
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(delayMs: number): void {
    this.#timer = this.#options.clock.after(delayMs, () => void this.#attempt());
  }

  async #attempt(): Promise<void> {
    const startedMs = this.#options.clock.monotonic();
    const outcome = await this.#options
      .run(this.#probe, this.#signal)
      .catch((error: unknown): ProbeOutcome => ({ result: 'unknown', output: messageOf(error) }));
    if (this.#isStopped || this.#signal.aborted) return;
    this.#count(outcome);
    if (this.#isStopped) return;
    const periodMs = (this.#probe.periodSeconds ?? 10) * 1000;
    const tookMs = this.#options.clock.monotonic() - startedMs;
    this.#schedule(Math.max(0, periodMs - tookMs));
  }

  #count({ result, output }: ProbeOutcome): void {
    const { event, log, container } = this.#options;
    if (result === 'warning') event('ProbeWarning', `${this.kind} probe warning: ${output}`);
    else if (result !== 'success') {
      const message =
        result === 'failure'
          ? `${this.kind} probe failed: ${output}`
          : `${this.kind} probe errored and resulted in unknown state: ${output}`;
      event('Unhealthy', message);
      log.debug('probe failed', { container: container.name, probe: this.kind, output });
    }
    // What could not be tried tells nothing.
    if (result === 'unknown') return;
    const passed = result === 'success' || result === 'warning';
    this.#run = passed === this.#last ? this.#run + 1 : 1;
    this.#last = passed;
    const threshold = passed ? (this.#probe.successThreshold ?? 1) : (this.#probe.failureThreshold ?? 3);
    if (this.#run >= threshold) this.#onVerdict(passed);
  }
}

/** Whether a container has probes worth a worker; init containers but sidecars have none. */
export function isProbed(container: Container, isInit: boolean): boolean {
  if (isInit && !isSidecar(container)) return false;
  return Boolean(container.livenessProbe ?? container.readinessProbe ?? container.startupProbe);
}

/**
 * Learns that containers started or ended without the kubelet's doing. Where the runtime tells events they are followed; elsewhere
 * the containers are listed once a second, and only while there is something that can end. A Pod is named when the state of one of
 * its sandboxes or containers differs from the time before.
 */

import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { type ContainerRuntime, RuntimeError, runtimeLabels } from '../runtime/runtime.ts';

export interface LifecycleWatchOptions {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics?: KubeletMetrics | undefined;
  /** How often everything is listed although events are told: what they may have missed. */
  readonly eventedRelistMs: number;
  /** Whether some Pod runs or ends: without any nothing needs to be listed. */
  isActive(): boolean;
  onChange(podUid: string): void;
  /** All Pods of which the runtime has something, after each complete look. */
  onSeen(podUids: ReadonlyMap<string, Readonly<Record<string, string>>>): void;
}

const relistMs = 1000;
const eventRetryMs = 5000;

export class LifecycleWatch {
  readonly #options: LifecycleWatchOptions;
  #hasEvents = false;
  #nap = new AbortController();
  #previous = new Map<string, string>();
  #hasLooked = false;
  /** The last complete look failed since then; 0 when it did not. */
  #failingSinceMs = 0;
  /** When the last look began. */
  #listedMs: number | undefined;

  constructor(options: LifecycleWatchOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    await Promise.all([this.#followEvents(), this.#relistForEver()]).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  /** How long no look has succeeded. */
  staleMs(): number {
    return this.#failingSinceMs === 0 ? 0 : this.#options.clock.monotonic() - this.#failingSinceMs;
  }

  /** Whether the runtime may have had something of this Pod at the last complete look; before the first one that is unknown. */
  mayHave(podUid: string): boolean {
    return !this.#hasLooked || this.#previous.has(podUid);
  }

  async relist(): Promise<void> {
    const { runtime, clock, metrics, signal, onChange, onSeen } = this.#options;
    const startedMs = clock.monotonic();
    if (this.#listedMs !== undefined) metrics?.time('pleg_relist_interval_seconds', startedMs - this.#listedMs);
    this.#listedMs = startedMs;
    try {
      const [sandboxes, containers] = await Promise.all([
        runtime.listPodSandboxes({}, { signal }),
        runtime.listContainers({}, { signal }),
      ]);
      const labels = new Map<string, Readonly<Record<string, string>>>();
      const states = new Map<string, string[]>();
      for (const one of [...sandboxes, ...containers]) {
        const uid = one.labels[runtimeLabels.podUid];
        if (!uid) continue;
        if (!labels.has(uid)) labels.set(uid, one.labels);
        const list = states.get(uid) ?? [];
        list.push(`${one.id}=${one.state}`);
        states.set(uid, list);
      }
      const current = new Map([...states].map(([uid, list]) => [uid, list.sort().join()]));
      const changed = [...new Set([...current.keys(), ...this.#previous.keys()])].filter(
        (uid) => current.get(uid) !== this.#previous.get(uid),
      );
      this.#previous = current;
      this.#hasLooked = true;
      this.#failingSinceMs = 0;
      for (const uid of changed) onChange(uid);
      onSeen(labels);
    } catch (error) {
      if (this.#failingSinceMs === 0) this.#failingSinceMs = startedMs;
      throw error;
    } finally {
      metrics?.time('pleg_relist_duration_seconds', clock.monotonic() - startedMs);
    }
  }

  async #relistForEver(): Promise<void> {
    const { clock, isActive, log, signal } = this.#options;
    for (let first = true; !signal.aborted; first = false) {
      if (first || isActive()) await this.relist().catch((error) => this.#onFailure(error));
      if (signal.aborted) return;
      this.#nap = new AbortController();
      const woken = AbortSignal.any([signal, this.#nap.signal]);
      await sleep(clock, this.#hasEvents ? this.#options.eventedRelistMs : relistMs, woken).catch(() => undefined);
    }
    log.debug('lifecycle watch ended');
  }

  /** Without events every second counts from now on. */
  #loseEvents(): void {
    this.#hasEvents = false;
    this.#nap.abort();
  }

  #onFailure(error: unknown): void {
    if (!this.#options.signal.aborted) this.#options.log.warn('could not list containers', { error: messageOf(error) });
  }

  async #followEvents(): Promise<void> {
    const { runtime, clock, log, onChange, signal } = this.#options;
    while (!signal.aborted) {
      try {
        this.#hasEvents = true;
        for await (const event of runtime.containerEvents({ signal })) if (event.podUid) onChange(event.podUid);
      } catch (error) {
        this.#loseEvents();
        if (signal.aborted || (error instanceof RuntimeError && error.code === 'unimplemented')) return;
        log.warn('container events ended', { error: messageOf(error) });
      }
      this.#loseEvents();
      await sleep(clock, eventRetryMs, signal).catch(() => undefined);
    }
  }
}

/**
 * Pods that wait for a place, in three parts: active (to be tried now, most important first), backing off (tried lately without
 * success), and unschedulable (waiting for a change that could help). A change in the cluster brings back the Pods rejected
 * by a plugin that the change can help; after five minutes a Pod is tried again in any case.
 *
 *     add -> active -> pop -> (placed) done
 *                          -> (no node would do) unschedulable -> event -> backing off -> active
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { KeyedHeap } from '../base/heap.ts';
import type { ClusterEvent } from './framework.ts';

export interface QueuedPod {
  pod: Pod;
  readonly key: string;
  /** When it was first seen; the order among Pods of equal priority. */
  readonly sinceMs: number;
  attempts: number;
  lastAttemptMs: number;
  /** Plugins that rejected it last. */
  rejectedBy: ReadonlySet<string>;
  readyAtMs: number;
}

export interface QueueOptions {
  readonly clock: Clock;
  /** Which events can help a Pod that this plugin rejected. */
  readonly helpedBy: (plugin: string) => readonly ClusterEvent[];
  /** Called when there is something to pop after there was nothing. */
  readonly onReady: () => void;
  readonly initialBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

/** Longest time a Pod stays unschedulable without being tried again. */
const longestUnschedulableMs = 5 * 60_000;
const flushPeriodMs = 30_000;

export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #active = new KeyedHeap<QueuedPod>((entry) => entry.key, beforeInQueue);
  readonly #backingOff = new KeyedHeap<QueuedPod>(
    (entry) => entry.key,
    (a, b) => a.readyAtMs < b.readyAtMs,
  );
  readonly #unschedulable = new Map<string, QueuedPod>();
  /** Popped and not yet decided, with the number of the last event before; those that came meanwhile count for them too. */
  readonly #inFlight = new Map<string, number>();
  readonly #lastEvents = new Map<ClusterEvent, number>();
  #eventCount = 0;
  #backoffTimer: Timer | undefined;
  #flushTimer: Timer | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get counts(): { readonly active: number; readonly backoff: number; readonly unschedulable: number } {
    return { active: this.#active.size, backoff: this.#backingOff.size, unschedulable: this.#unschedulable.size };
  }

  start(): void {
    this.#flushTimer = this.#options.clock.after(flushPeriodMs, () => {
      const oldest = this.#options.clock.now() - longestUnschedulableMs;
      for (const entry of [...this.#unschedulable.values()]) if (entry.lastAttemptMs <= oldest) this.#release(entry);
      this.start();
    });
  }

  stop(): void {
    this.#backoffTimer?.cancel();
    this.#flushTimer?.cancel();
  }

  /** A new Pod, or a changed one: a changed Pod that was unschedulable is tried again when its own change could matter. */
  set(pod: Pod, key: string, mayHelp = true): void {
    const active = this.#active.get(key);
    const waiting = this.#unschedulable.get(key);
    const backing = this.#backingOff.get(key);
    if (active) {
      active.pod = pod;
      this.#active.set(active);
    } else if (backing) backing.pod = pod;
    else if (waiting) {
      waiting.pod = pod;
      if (mayHelp) this.#release(waiting);
    } else if (!this.#inFlight.has(key)) {
      const nowMs = this.#options.clock.now();
      this.#activate({
        pod,
        key,
        sinceMs: nowMs,
        attempts: 0,
        lastAttemptMs: 0,
        rejectedBy: new Set(),
        readyAtMs: nowMs,
      });
    }
  }

  remove(key: string): void {
    this.#active.remove(key);
    this.#backingOff.remove(key);
    this.#unschedulable.delete(key);
  }

  has(key: string): boolean {
    return (
      this.#active.get(key) !== undefined || this.#backingOff.get(key) !== undefined || this.#unschedulable.has(key)
    );
  }

  pop(): QueuedPod | undefined {
    const entry = this.#active.pop();
    if (!entry) return undefined;
    entry.attempts++;
    entry.lastAttemptMs = this.#options.clock.now();
    this.#inFlight.set(entry.key, this.#eventCount);
    return entry;
  }

  /** The Pod has a place, or is no longer ours to place. */
  done(key: string): void {
    this.#inFlight.delete(key);
  }

  /** No node would do: wait for a change that helps one of these plugins. */
  park(entry: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    const poppedAt = this.#inFlight.get(entry.key) ?? this.#eventCount;
    this.#inFlight.delete(entry.key);
    entry.rejectedBy = rejectedBy;
    this.#unschedulable.set(entry.key, entry);
    for (const [event, number] of this.#lastEvents) {
      if (number <= poppedAt || !this.#helps(entry, event)) continue;
      this.#release(entry);
      return;
    }
  }

  /** Something failed that has nothing to do with the Pod: try again after backoff. */
  retry(entry: QueuedPod): void {
    this.#inFlight.delete(entry.key);
    entry.rejectedBy = new Set();
    this.#backOff(entry);
  }

  /** The cluster changed in this way. */
  onEvent(event: ClusterEvent): void {
    this.#lastEvents.set(event, ++this.#eventCount);
    if (this.#unschedulable.size === 0) return;
    for (const entry of [...this.#unschedulable.values()]) if (this.#helps(entry, event)) this.#release(entry);
  }

  #helps(entry: QueuedPod, event: ClusterEvent): boolean {
    if (entry.rejectedBy.size === 0) return true;
    for (const plugin of entry.rejectedBy) if (this.#options.helpedBy(plugin).includes(event)) return true;
    return false;
  }

  #release(entry: QueuedPod): void {
    this.#unschedulable.delete(entry.key);
    this.#backOff(entry);
  }

  /** 1 s after the first attempt, doubling up to 10 s, counted from the attempt. */
  #backOff(entry: QueuedPod): void {
    const { clock, initialBackoffMs = 1000, maxBackoffMs = 10_000 } = this.#options;
    const delayMs = Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.max(0, entry.attempts - 1));
    entry.readyAtMs = entry.lastAttemptMs + delayMs;
    if (entry.attempts === 0 || entry.readyAtMs <= clock.now()) return this.#activate(entry);
    this.#backingOff.set(entry);
    this.#armBackoff();
  }

  #armBackoff(): void {
    this.#backoffTimer?.cancel();
    const next = this.#backingOff.peek();
    if (!next) return;
    this.#backoffTimer = this.#options.clock.after(next.readyAtMs - this.#options.clock.now(), () => {
      const nowMs = this.#options.clock.now();
      for (let due = this.#backingOff.peek(); due && due.readyAtMs <= nowMs; due = this.#backingOff.peek()) {
        this.#backingOff.remove(due.key);
        this.#activate(due);
      }
      this.#armBackoff();
    });
  }

  #activate(entry: QueuedPod): void {
    this.#active.set(entry);
    if (this.#active.size === 1) this.#options.onReady();
  }
}

function beforeInQueue(a: QueuedPod, b: QueuedPod): boolean {
  const priority = (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0);
  return priority !== 0 ? priority < 0 : a.sinceMs !== b.sinceMs ? a.sinceMs < b.sinceMs : a.key < b.key;
}

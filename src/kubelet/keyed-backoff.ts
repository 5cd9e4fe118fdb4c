/**
 * Delays that double per key and are forgotten after a while of quiet: what CrashLoopBackOff and ImagePullBackOff are made of.
 * Every method takes the time, so that one table serves any clock.
 */
interface Entry {
  delayMs: number;
  updatedAtMs: number;
}

export class KeyedBackoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(initialMs: number, maxMs: number) {
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
  }

  /** The key failed: the delay begins, or doubles. */
  next(key: string, nowMs: number): void {
    const entry = this.#current(key, nowMs);
    if (!entry) this.#entries.set(key, { delayMs: this.#initialMs, updatedAtMs: nowMs });
    else {
      entry.delayMs = Math.min(entry.delayMs * 2, this.#maxMs);
      entry.updatedAtMs = nowMs;
    }
  }

  /** Milliseconds that must still pass, counted from `sinceMs`; 0 when the key may be tried. */
  remaining(key: string, sinceMs: number, nowMs: number): number {
    const entry = this.#current(key, sinceMs);
    return entry ? Math.max(0, sinceMs + entry.delayMs - nowMs) : 0;
  }

  /** The same, counted from the last failure. */
  remainingSinceUpdate(key: string, nowMs: number): number {
    const entry = this.#current(key, nowMs);
    return entry ? Math.max(0, entry.updatedAtMs + entry.delayMs - nowMs) : 0;
  }

  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** Undefined when there is none, or it is older than twice the longest delay. */
  #current(key: string, atMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && atMs - entry.updatedAtMs > this.#maxMs * 2) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }
}

/**
 * What a controller has done that its informers have not shown it yet. A controller that creates three Pods and is woken by the
 * first must not create two more: it expects three creations, and reconciles again only when they were observed, or when five
 * minutes have passed and something was surely missed.
 */
import type { Clock } from '../base/clock.ts';

const expireAfterMs = 5 * 60_000;

interface Expected {
  creations: number;
  /** Uids of objects being deleted: seeing one vanish twice must not count twice. */
  readonly deletions: Set<string>;
  setAtMs: number;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Expected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call before creating `count` objects for the owner `key`. */
  expectCreations(key: string, count: number): void {
    const expected = this.#of(key);
    expected.creations += count;
  }

  /** Call before deleting the objects of these uids. */
  expectDeletions(key: string, uids: Iterable<string>): void {
    const expected = this.#of(key);
    for (const uid of uids) expected.deletions.add(uid);
  }

  /** An object appeared, or its creation failed and it never will. */
  creationObserved(key: string, count = 1): void {
    const expected = this.#byKey.get(key);
    if (expected) expected.creations = Math.max(0, expected.creations - count);
  }

  /** An object vanished or began to (it has a deletionTimestamp), or its deletion failed. */
  deletionObserved(key: string, uid: string): void {
    this.#byKey.get(key)?.deletions.delete(uid);
  }

  /** Whether the controller's view is up to date with its own deeds. */
  satisfied(key: string): boolean {
    const expected = this.#byKey.get(key);
    if (!expected) return true;
    if (expected.creations === 0 && expected.deletions.size === 0) return true;
    return this.#clock.monotonic() - expected.setAtMs > expireAfterMs;
  }

  /** The owner is gone. */
  forget(key: string): void {
    this.#byKey.delete(key);
  }

  /** Those that are satisfied or too old begin anew. */
  #of(key: string): Expected {
    const known = this.#byKey.get(key);
    if (known && !this.satisfied(key)) {
      known.setAtMs = this.#clock.monotonic();
      return known;
    }
    const fresh: Expected = { creations: 0, deletions: new Set(), setAtMs: this.#clock.monotonic() };
    this.#byKey.set(key, fresh);
    return fresh;
  }
}

/**
 * Owners that are known not to exist: uids are never used again, so an answer of "not found" stays true for ever, and hundreds of
 * dependents of one deleted owner need not all ask. The oldest answers are dropped at 500.
 */
import type { Identity } from './graph.ts';

const capacity = 500;

export class AbsentOwners {
  readonly #known = new Set<string>();

  add(identity: Identity): void {
    const key = keyOf(identity);
    this.#known.delete(key);
    this.#known.add(key);
    if (this.#known.size <= capacity) return;
    const [oldest] = this.#known;
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  has(identity: Identity): boolean {
    return this.#known.has(keyOf(identity));
  }
}

/** The same uid in another namespace or under another kind is another question. */
function keyOf({ apiVersion, kind, namespace, name, uid }: Identity): string {
  return JSON.stringify([apiVersion, kind, namespace ?? '', name, uid]);
}

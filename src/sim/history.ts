/**
 * Everything that was ever written, as it was written: revision, key, what, when. Its digest names a run: equal seeds must give equal digests,
 * byte for byte.
 */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { Clock } from '../base/clock.ts';
import { prefixEnd, type Store, type StoreEvent, type Subscription } from '../storage/store.ts';

export type Change = StoreEvent<KubeObject>;

export interface HistoryOptions {
  readonly clock: Clock;
  readonly store: Store<KubeObject>;
  /** Whether values go into the digest too; without, only which keys were written when. */
  readonly values: boolean;
}

const linesPerHash = 100;

export class History {
  readonly #hash = createHash('sha256');
  readonly #listeners = new Set<(change: Change, atMs: number) => void>();
  readonly #subscription: Subscription;
  readonly #writes = new Map<string, number>();
  #changes = 0;
  /** Not hashed yet: a call for each change would cost more than the hashing. */
  #lines: string[] = [];

  constructor({ clock, store, values }: HistoryOptions) {
    this.#subscription = store.watch(
      { start: '/', end: prefixEnd('/'), afterRevision: store.revision },
      {
        onEvents: (changes) => {
          const atMs = clock.now();
          for (const change of changes) {
            this.#changes++;
            const resource = resourceOf(change.key);
            this.#writes.set(resource, (this.#writes.get(resource) ?? 0) + 1);
            const value = values ? JSON.stringify(change.value) : '';
            this.#lines.push(`${change.revision} ${atMs} ${change.type} ${change.key} ${value}\n`);
            for (const listener of this.#listeners) listener(change, atMs);
          }
          if (this.#lines.length >= linesPerHash) this.#hashLines();
        },
        onError: (error) => {
          if (error.name !== 'StoreClosedError') throw error;
        },
      },
    );
  }

  /** Of all changes so far. */
  digest(): string {
    this.#hashLines();
    return this.#hash.copy().digest('hex');
  }

  get changes(): number {
    return this.#changes;
  }

  /** By resource, as the store's keys name it. */
  get writes(): ReadonlyMap<string, number> {
    return this.#writes;
  }

  /** Called for each change, after it is recorded and before any component hears of it. */
  onChange(listener: (change: Change, atMs: number) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#subscription.close();
  }

  #hashLines(): void {
    this.#hash.update(this.#lines.join(''));
    this.#lines = [];
  }
}

/** `/registry/pods/default/web-1` is `pods`; a group stands before its resource: `/registry/apps.example.com/things/...`. */
function resourceOf(key: string): string {
  const start = key.indexOf('/', 1) + 1;
  const end = nextSlash(key, start);
  const first = key.slice(start, end);
  return first.includes('.') ? `${key.slice(end + 1, nextSlash(key, end + 1))}.${first}` : first;
}

function nextSlash(key: string, from: number): number {
  const slash = key.indexOf('/', from);
  return slash < 0 ? key.length : slash;
}

/**
 * Brings a set of objects about: what is missing is created, all at once; what is there is left, or changed as the caller says.
 * Idempotent, and safe beside another server that does the same: who comes second finds the object there.
 */
import { type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isAlreadyExists, isConflict } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Client, WriteOptions } from '../../client/client.ts';

export interface EnsureOptions<T> {
  /** Only look for what is there in this namespace. */
  readonly namespace?: string;
  readonly fieldManager?: string;
  /** The object as it should be, or undefined when it is well as it is. May do more, as deleting it; then returns undefined. */
  update?(present: T, wanted: T): Promise<T | undefined> | T | undefined;
}

export async function ensureObjects<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  options: EnsureOptions<T> = {},
): Promise<void> {
  const { items } = await client.list(type, { namespace: options.namespace });
  const { fieldManager } = options;
  const present = new Map(items.map((object) => [keyOf(object), object]));
  await Promise.all(
    wanted.map(async (object) => {
      const existing = present.get(keyOf(object));
      if (!existing) await createOnce(client, type, object, { fieldManager });
      else {
        const next = await options.update?.(existing, object);
        if (next) await client.update(type, next, { fieldManager });
      }
    }),
  );
}

/** Somebody else's creation counts as one's own. */
export async function createOnce<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  object: T,
  options: Pick<WriteOptions, 'fieldManager'> = {},
): Promise<void> {
  try {
    await client.create(type, object, options);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Between attempts; 1 s as upstream. */
  readonly everyMs?: number;
  /** Gives up after so long; absent: never. */
  readonly forMs?: number;
  onFailure?(error: unknown): void;
}

/** Repeats until it succeeds. A conflict is tried again at once: somebody else was quicker, and the next look sees what he did. */
export async function untilDone(step: () => Promise<void>, options: RetryOptions): Promise<void> {
  const { clock, signal, everyMs = 1000, forMs = Number.POSITIVE_INFINITY } = options;
  const startedAt = clock.monotonic();
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (clock.monotonic() - startedAt >= forMs) throw error;
      if (isConflict(error) && attempt < 3) continue;
      options.onFailure?.(error);
    }
    await sleep(clock, everyMs, signal);
  }
}

/** Runs the step again and again until the signal is aborted; a failure is told and forgotten. Never rejects. */
export async function repeat(
  step: () => Promise<void>,
  options: RetryOptions & { readonly everyMs: number },
): Promise<void> {
  const { clock, signal, everyMs } = options;
  try {
    while (!signal.aborted) {
      await sleep(clock, everyMs, signal);
      await step().catch((error: unknown) => {
        if (!signal.aborted) options.onFailure?.(error);
      });
    }
  } catch {
    // The signal ended the sleep.
  }
}

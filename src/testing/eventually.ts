/**
 * Waiting in tests for what other processes, the kernel or a server do in their own time: the one place where tests ask again and again.
 * What says of itself that it happened (a watch, an exit, a line of output) is awaited instead, and what goes by a `FakeClock` is advanced.
 */
import { inspect } from 'node:util';
import { sleep, systemClock } from '../base/clock.ts';

export interface EventuallyOptions {
  /** For what fails, not for what is slow: a machine may be many times slower than the one that a test was written on. Default 100 s. */
  readonly withinMs?: number;
  /** Between an answer and the next question. Default: 50 ms. */
  readonly pause?: () => Promise<unknown>;
}

/**
 * Asks until the answer is right, which means by default: neither `false` nor an error. Resolves to that answer; rejects with the last one
 * when the time is up.
 */
export function eventually<T>(ask: () => T | false | Promise<T | false>): Promise<T>;
export function eventually<T>(
  ask: () => T | Promise<T>,
  right: RegExp | ((answer: T) => boolean),
  options?: EventuallyOptions,
): Promise<T>;
export async function eventually<T>(
  ask: () => T | Promise<T>,
  right: RegExp | ((answer: T) => boolean) = isNotFalse,
  options: EventuallyOptions = {},
): Promise<T> {
  const { withinMs = 100_000, pause = () => sleep(systemClock, 50) } = options;
  const isRight = right instanceof RegExp ? (answer: T) => right.test(String(answer)) : right;
  const startedMs = systemClock.monotonic();
  for (;;) {
    let last: unknown;
    try {
      const answer = await ask();
      if (isRight(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (systemClock.monotonic() - startedMs >= withinMs) {
      const wanted = right === isNotFalse ? ask : `${ask}, ${right}`;
      throw new Error(`not within ${withinMs / 1000} s: ${wanted}\nlast: ${inspect(last, { depth: 8 })}`, {
        cause: last,
      });
    }
    await pause();
  }
}

const isNotFalse = (answer: unknown): boolean => answer !== false;

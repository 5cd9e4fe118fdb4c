/**
 * Time as an argument: every component reads the time and sets timers through a `Clock`, so that the same code runs on
 * the wall clock, on a test's `FakeClock` and on a simulator's virtual time. This file and the rest of `base/` are the only
 * places that touch the runtime's own clock and timers.
 */

/** A pending timer. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since 1970. May jump; never use it to measure a duration. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never goes back. */
  monotonic(): number;
  /** Calls back once after `delayMs` (values below 0 count as 0). Timers of equal due time fire in the order they were set. */
  after(delayMs: number, callback: () => void): Timer;
  /** Calls back in a later macrotask, before any timer that is not yet due. */
  soon(callback: () => void): void;
}

/** Resolves after `delayMs`; rejects with the signal's reason as soon as `signal` is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * `sleep` for a loop, one at a time: listens to the signal once and for all, since beginning and ending to listen for each sleep costs more
 * than the timer.
 */
export function sleeper(clock: Clock, signal: AbortSignal): (delayMs: number) => Promise<void> {
  let wake = () => {};
  signal.addEventListener('abort', () => wake(), { once: true });
  return (delayMs) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const timer = clock.after(delayMs, resolve);
      wake = () => {
        timer.cancel();
        reject(signal.reason);
      };
    });
}

/** Settles as `work` does, or rejects with `onTimeout()`'s error once `timeoutMs` have passed. `work` itself goes on. */
export function withTimeout<T>(clock: Clock, work: Promise<T>, timeoutMs: number, onTimeout: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(timeoutMs, () => reject(onTimeout()));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** The machine's clock. Node.js clamps a delay above 2^31-1 ms to 1 ms, so longer ones are set in steps. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const longest = 2 ** 31 - 1;
    let handle: NodeJS.Timeout;
    const arm = (left: number) => {
      handle = setTimeout(
        () => (left > longest ? arm(left - longest) : callback()),
        Math.min(Math.max(left, 0), longest),
      );
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  soon: (callback) => void setImmediate(callback),
};

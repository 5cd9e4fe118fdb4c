/** Calling again what failed for a reason that may pass: upstream's backoff for webhooks. */
import { isInternalError, isTimeout, isTooManyRequests, StatusError } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { jitter, type Random } from '../../base/random.ts';

export interface BackoffOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Before the second try; each further pause is half as long again. Default half a second. */
  readonly firstPauseMs?: number | undefined;
  /** Which failures are worth another try. Default: those that upstream takes for passing ones. */
  readonly retries?: ((error: unknown) => boolean) | undefined;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
}

const attempts = 5;
const defaultFirstPauseMs = 500;
const factor = 1.5;
const jitterFactor = 0.2;

/** Resolves as the first call that succeeds; rejects as the last one tried. */
export async function withBackoff<T>(call: () => Promise<T>, options: BackoffOptions): Promise<T> {
  const { clock, random, signal, firstPauseMs = defaultFirstPauseMs, retries = mayPass } = options;
  for (let attempt = 1, pauseMs = firstPauseMs; ; attempt++, pauseMs *= factor) {
    try {
      return await call();
    } catch (error) {
      if (attempt >= attempts || !retries(error)) throw error;
      await sleep(clock, jitter(random, pauseMs, jitterFactor), signal).catch(() => {
        throw error;
      });
    }
  }
}

/** A connection that broke, a server that could not, one that asks to be asked later. */
function mayPass(error: unknown): boolean {
  if (isInternalError(error) || isTimeout(error) || isTooManyRequests(error)) return true;
  if (error instanceof StatusError) return error.retryAfterSeconds > 0;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ECONNRESET') return true;
  }
  return false;
}

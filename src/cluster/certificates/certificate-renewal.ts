/**
 * Certificates last a year and clusters longer: who has one looks again from time to time, long before its end, and takes the newer one
 * where there is one. A look that fails is told and repeated.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

export interface RenewalOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Default 12 hours; certificates are made anew 30 days before their end. */
  readonly everyMs?: number | undefined;
}

/** Of those who only read what others renew. */
export const lookAtFilesMs = 3_600_000;
const usualEveryMs = 12 * 3_600_000;

/**
 * Calls `taken` with what `current` gives whenever that has changed since the last look. Both may throw, but not the first
 * look. Resolves when the signal is aborted.
 */
export async function followRenewals<T>(
  current: () => T | Promise<T>,
  taken: (renewed: T) => void,
  { clock, log, signal, everyMs = usualEveryMs }: RenewalOptions,
): Promise<void> {
  let known = JSON.stringify(await current());
  while (!signal.aborted) {
    await sleep(clock, everyMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const renewed = await current();
      const text = JSON.stringify(renewed);
      if (text === known) continue;
      taken(renewed);
      known = text;
      log.info('a certificate was renewed and is in use');
    } catch (error) {
      log.error('certificates could not be looked after; trying again later', { error: messageOf(error) });
    }
  }
}

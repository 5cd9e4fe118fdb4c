/** Waiting for what other processes do. */
import { systemClock } from '../../src/base/clock.ts';

const againAfterMs = 50;

/** What the check resolves with at last, or what it last rejected with when the time is up. */
export async function until<T>(check: () => Promise<T> | T, limitMs = 60_000): Promise<T> {
  const started = systemClock.monotonic();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (systemClock.monotonic() - started > limitMs) throw error;
      await new Promise<void>((resolve) => systemClock.after(againAfterMs, resolve));
    }
  }
}

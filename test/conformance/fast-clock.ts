/** Time that passes faster than the test's own, for what a cluster does by the minute. */
import { type Clock, systemClock } from '../../src/base/clock.ts';

/** The machine's clock, so many times as fast from now on. */
export function fastClock(rate: number): Clock {
  const [startMs, startMonotonicMs] = [systemClock.now(), systemClock.monotonic()];
  const passedMs = () => (systemClock.monotonic() - startMonotonicMs) * rate;
  return {
    now: () => Math.floor(startMs + passedMs()),
    monotonic: () => startMonotonicMs + passedMs(),
    after: (delayMs, callback) => systemClock.after(delayMs / rate, callback),
    soon: systemClock.soon,
  };
}

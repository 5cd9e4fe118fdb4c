/**
 * Slow start: many equal calls in batches of 1, 2, 4, ... so that when every call fails for the same reason (quota, a webhook that
 * is down) the API server is asked once or twice and not five hundred times.
 */

export interface SlowStartOutcome {
  /** Calls that succeeded. */
  readonly succeeded: number;
  /** Calls never made because a batch before them failed. */
  readonly skipped: number;
  /** The first failure. */
  readonly error: unknown;
}

export async function slowStart(count: number, call: (index: number) => Promise<void>): Promise<SlowStartOutcome> {
  let succeeded = 0;
  for (let done = 0, batch = 1; done < count; batch *= 2) {
    const size = Math.min(batch, count - done);
    const results = await Promise.allSettled(Array.from({ length: size }, (_, index) => call(done + index)));
    done += size;
    const failures = results.filter((result) => result.status === 'rejected');
    succeeded += size - failures.length;
    const [first] = failures;
    if (first) return { succeeded, skipped: count - done, error: first.reason };
  }
  return { succeeded, skipped: 0, error: undefined };
}

/** Read, change, write, and again when somebody else wrote in between: client-go's `RetryOnConflict` with its steps. */

import { isConflict } from '../apimachinery/status.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { jitter, type Random } from '../base/random.ts';

const tries = 5;
const delayMs = 10;
const jitterFactor = 0.1;

/** Calls `attempt` up to five times while it fails with a Conflict. It must read the object anew each time. */
export async function retryOnConflict<T>(
  attempt: () => Promise<T>,
  options: { readonly clock: Clock; readonly random: Random; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || count >= tries) throw error;
      await sleep(options.clock, jitter(options.random, delayMs, jitterFactor), options.signal);
    }
  }
}

/**
 * `--enable-priority-and-fairness=false`, and every server's first moments: at most so many reads and so many writes at a time.
 * Whoever comes beyond that is told to come back, save members of `system:masters`, so that an operator gets in.
 */
import {
  type Entered,
  type FlowControl,
  InFlightCounts,
  isLongRunning,
  isMutating,
  tooManyRequests,
} from './flow-control.ts';

export interface InFlightLimits {
  /** `--max-requests-inflight`; 0: no limit. */
  readonly readOnly: number;
  /** `--max-mutating-requests-inflight`; 0: no limit. */
  readonly mutating: number;
}

export const defaultInFlightLimits: InFlightLimits = { readOnly: 400, mutating: 200 };

const retryAfterSeconds = 1;
const uncounted: Entered = { release() {} };

export function inFlightControl(limits: InFlightLimits = defaultInFlightLimits): FlowControl {
  const inFlight = new InFlightCounts();
  const enter = (mutating: boolean): Entered => {
    inFlight.add(mutating, 1);
    let inside = true;
    return {
      release() {
        if (inside) inFlight.add(mutating, -1);
        inside = false;
      },
    };
  };
  return {
    inFlight,
    enter({ user }, info) {
      if (isLongRunning(info)) return uncounted;
      const mutating = isMutating(info);
      const limit = mutating ? limits.mutating : limits.readOnly;
      const inside = mutating ? inFlight.mutating : inFlight.readOnly;
      if (limit > 0 && inside >= limit && !user?.groups.includes('system:masters')) {
        return tooManyRequests(retryAfterSeconds);
      }
      return enter(mutating);
    },
  };
}

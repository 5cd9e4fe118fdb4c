/**
 * How much is worked on at the same time. Reads and writes are counted apart, long-running requests (watches, streams into Pods) not
 * at all. What exceeds a limit waits in line; when the line is full too, it is told to come back. Members of `system:masters` always
 * get in, so that an operator can.
 */
import { tooManyRequests } from '../apimachinery/status.ts';
import type { ApiRequest, RequestInfo } from './request.ts';

/** Called once the answer is ready; more often does no harm. */
export type Release = () => void;

export interface FlowControl {
  /** Throws 429 when there is no room. A promise: the request has to wait in line. */
  enter(request: ApiRequest, info: RequestInfo): Release | Promise<Release>;
  readonly inFlight: { readonly readOnly: number; readonly mutating: number };
}

export interface InFlightLimits {
  /** `--max-requests-inflight`; 0: no limit. */
  readonly readOnly: number;
  /** `--max-mutating-requests-inflight`; 0: no limit. */
  readonly mutating: number;
}

export const defaultInFlightLimits: InFlightLimits = { readOnly: 400, mutating: 200 };

/** So many times the limit may wait in line. */
const lineFactor = 50;
const retryAfterSeconds = 1;

const mutatingVerbs: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'post',
  'put',
]);
const longRunningSubresources: ReadonlySet<string> = new Set(['proxy', 'exec', 'attach', 'portforward', 'log']);

export function inFlightControl(limits: InFlightLimits = defaultInFlightLimits): FlowControl {
  const readOnly = new Lane(limits.readOnly);
  const mutating = new Lane(limits.mutating);
  return {
    get inFlight() {
      return { readOnly: readOnly.inside, mutating: mutating.inside };
    },
    enter({ user }, info) {
      if (isLongRunning(info)) return () => {};
      const lane = mutatingVerbs.has(info.verb) ? mutating : readOnly;
      return lane.enter(user?.groups.includes('system:masters') === true);
    },
  };
}

/** Requests that last as long as their client wants. */
export function isLongRunning({ verb, subresource }: RequestInfo): boolean {
  return verb === 'watch' || verb === 'proxy' || longRunningSubresources.has(subresource);
}

class Lane {
  readonly #limit: number;
  readonly #line: (() => void)[] = [];
  inside = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  enter(privileged: boolean): Release | Promise<Release> {
    if (privileged || this.#limit === 0 || this.inside < this.#limit) return this.#admit();
    if (this.#line.length >= this.#limit * lineFactor) {
      throw tooManyRequests('too many requests, please try again later', retryAfterSeconds);
    }
    return new Promise((resolve) => this.#line.push(() => resolve(this.#admit())));
  }

  #admit(): Release {
    this.inside++;
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      this.inside--;
      if (this.#limit === 0 || this.inside < this.#limit) this.#line.shift()?.();
    };
  }
}

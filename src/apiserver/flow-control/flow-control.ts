/**
 * What the pipeline knows of flow control: a request enters, at once or after waiting in line, or is refused. Two things do it: limits
 * on what is in flight (`in-flight.ts`), and priority and fairness (`priority-and-fairness.ts`).
 */
import { textResponse } from '../pages.ts';
import type { ApiRequest, ApiResponse, RequestInfo } from '../request.ts';

export interface Entered {
  /** Go with the answer, whatever it is. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called when the answer is written; of a watch, when it has begun. Called again it does nothing. */
  release(): void;
}

/** Nothing is to be released. */
export interface Refused {
  readonly refusal: ApiResponse;
}

export type Entry = Entered | Refused;

export interface FlowControl {
  /** A promise: the request waits in line, for `waitLimitMs` at most. */
  enter(request: ApiRequest, info: RequestInfo, waitLimitMs: number): Entry | Promise<Entry>;
  /** Of those that entered and are not released. */
  readonly inFlight: { readonly readOnly: number; readonly mutating: number };
}

/** Upstream's answer to whoever finds no room: text, not a Status. */
export function tooManyRequests(
  retryAfterSeconds: number,
  headers?: Readonly<Record<string, string>>,
): { readonly refusal: ApiResponse } {
  const retryAfter = String(retryAfterSeconds);
  const text = 'Too many requests, please try again later.\n';
  return { refusal: textResponse(429, text, { ...headers, 'retry-after': retryAfter }) };
}

const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const longRunningSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

export function isMutating({ verb }: RequestInfo): boolean {
  return !readOnlyVerbs.has(verb);
}

/** Requests that last as long as their client wants. */
export function isLongRunning({ verb, subresource, isResource, path }: RequestInfo): boolean {
  if (verb === 'watch' || verb === 'proxy') return true;
  return isResource ? longRunningSubresources.has(subresource) : path.startsWith('/debug/pprof/');
}

/** Counts what is in flight, by whether it changes anything. */
export class InFlightCounts {
  readOnly = 0;
  mutating = 0;

  add(mutating: boolean, change: 1 | -1): void {
    if (mutating) this.mutating += change;
    else this.readOnly += change;
  }
}

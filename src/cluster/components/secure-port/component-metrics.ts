/** `/metrics` of a component in a process of its own: what its work queues and its clients count. */
import type { Clock } from '../../../base/clock.ts';
import type { RequestStatistics } from '../../../client/request-statistics.ts';
import type { QueueStatistics } from '../../../reconcile/queue-statistics.ts';
import type { GuardedPages } from './health-server.ts';

export interface CountedParts {
  readonly clock: Clock;
  readonly queues?: QueueStatistics | undefined;
  readonly requests: RequestStatistics | undefined;
}

export function componentMetrics({ clock, queues, requests }: CountedParts): string {
  return `${queues?.families(clock.monotonic()) ?? ''}${requests?.families() ?? ''}`;
}

/** The same pages and `/metrics`. */
export function withMetrics(guarded: GuardedPages, parts: CountedParts): GuardedPages {
  return { ...guarded, pages: { ...guarded.pages, '/metrics': () => componentMetrics(parts) } };
}

/**
 * Upstream's estimate of what a request costs. A list is as wide as what it loads is big; so is a watch that begins with a list. A
 * write is followed by the telling of its watchers, which occupies seats for a while after the answer.
 */
import type { ApiRequest, RequestInfo } from '../request.ts';
import type { WatchCounts } from './watch-counts.ts';
import { oneSeat, type WorkEstimate } from './work.ts';

/** Of a resource; undefined: nobody has asked for it yet, or it is served elsewhere. */
export interface ObjectStatistics {
  readonly count: number;
  readonly averageBytes: number;
}

export interface WorkSources {
  readonly watches: WatchCounts;
  statistics(group: string, resource: string): ObjectStatistics | undefined;
}

const bytesPerSeat = 100_000;
/** A list from the cache is written in pieces, so no more than this is held at a time. */
const mostHeldBytes = 1_000_000;
const mostListSeats = 100;
const mostWriteSeats = 10;
const watchesPerSeat = 10;
/** What one event keeps a seat busy for. */
const eventMs = 5;

/** `mostSeats`: what the priority level allows one request; 0: no limit of its own. */
export type WorkEstimator = (request: ApiRequest, info: RequestInfo, mostSeats: number) => WorkEstimate;

export function workEstimator({ watches, statistics }: WorkSources): WorkEstimator {
  return (request, info, mostSeats) => {
    switch (info.verb) {
      case 'list':
      case 'watch':
        return info.isResource ? listWork(request, info, { most: mostSeats, statistics }) : oneSeat;
      case 'create':
      case 'update':
      case 'patch':
      case 'delete':
        return writeWork(info, watches, mostSeats);
      default:
        return oneSeat;
    }
  };
}

interface ListBounds {
  readonly most: number;
  readonly statistics: WorkSources['statistics'];
}

function listWork({ query }: ApiRequest, info: RequestInfo, { most, statistics }: ListBounds): WorkEstimate {
  if (info.verb === 'watch' && !beginsWithState(query)) return oneSeat;
  const stored = statistics(info.group, info.resource);
  if (!stored) return oneSeat;
  const limit = Number(query.get('limit')) || stored.count;
  const loaded = info.name === '' ? Math.min(limit, stored.count) : 1;
  const seats = Math.ceil(Math.min(loaded * stored.averageBytes, mostHeldBytes) / bytesPerSeat);
  return seats <= 1 ? oneSeat : { ...oneSeat, seats: Math.min(seats, most || mostListSeats, mostListSeats) };
}

function beginsWithState(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion') ?? '';
  return query.get('sendInitialEvents') === 'true' || version === '' || version === '0';
}

function writeWork(info: RequestInfo, watches: WatchCounts, most: number): WorkEstimate {
  // A token makes no event.
  if (info.resource === 'serviceaccounts' && info.subresource === 'token') return oneSeat;
  const count = watches.interestedIn(info);
  if (count < watchesPerSeat) return oneSeat;
  const wanted = Math.ceil(count / watchesPerSeat);
  const finalSeats = Math.min(wanted, most || mostWriteSeats, mostWriteSeats);
  return { seats: 1, finalSeats, lingerMs: (wanted * eventMs) / finalSeats };
}

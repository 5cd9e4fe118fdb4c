/**
 * API priority and fairness: each request belongs to a flow of a priority level, by the FlowSchemas of the cluster, and takes seats
 * there, at once, after waiting in its queue, or not at all. What lasts as long as its client wants takes none; a watch takes some
 * while it begins.
 */
import type { ApiRequest, RequestInfo } from '../request.ts';
import type { Arrival } from './fair-queue.ts';
import {
  type Entry,
  type FlowControl,
  InFlightCounts,
  isLongRunning,
  isMutating,
  tooManyRequests,
} from './flow-control.ts';
import type { Flow, PriorityLevels } from './priority-levels.ts';
import type { Decision } from './queue-set.ts';
import { flowHash } from './shuffle-sharding.ts';
import type { WatchCounts } from './watch-counts.ts';
import { seatsOf } from './work.ts';
import type { WorkEstimator } from './work-estimate.ts';

export interface PriorityAndFairnessOptions {
  readonly levels: PriorityLevels;
  readonly watches: WatchCounts;
  readonly estimate: WorkEstimator;
}

/** Flows whose hash is kept: each node of a large cluster is one. */
const hashCapacity = 16_384;
const uncounted: Entry = { release() {} };

export class PriorityAndFairness implements FlowControl {
  readonly inFlight = new InFlightCounts();
  readonly waiting = new InFlightCounts();
  readonly #options: PriorityAndFairnessOptions;
  readonly #hashes = new Map<string, bigint>();

  constructor(options: PriorityAndFairnessOptions) {
    this.#options = options;
  }

  enter(request: ApiRequest, info: RequestInfo, waitLimitMs: number): Entry | Promise<Entry> {
    if (isLongRunning(info) && info.verb !== 'watch') return uncounted;
    const { levels, estimate } = this.#options;
    const flow = levels.flowOf(request.user!, info);
    const work = estimate(request, info, flow.level.widestSeats);
    flow.counts.seats.add(seatsOf(work));
    const distinguisher = distinguisherOf(flow, request, info);
    const arrival: Arrival = { request, info, work, distinguisher, counts: flow.counts };
    const decision = flow.level.queues.admit(arrival, () => this.#hashOf(flow, distinguisher), waitLimitMs);
    return decision instanceof Promise ? this.#wait(decision, flow, arrival) : this.#entry(decision, flow, arrival);
  }

  async #wait(decision: Promise<Decision>, flow: Flow, arrival: Arrival): Promise<Entry> {
    const mutating = isMutating(arrival.info);
    this.waiting.add(mutating, 1);
    try {
      return this.#entry(await decision, flow, arrival);
    } finally {
      this.waiting.add(mutating, -1);
    }
  }

  #entry(decision: Decision, { headers, dropped }: Flow, { request, info }: Arrival): Entry {
    if (typeof decision === 'string') {
      dropped.record();
      return tooManyRequests(dropped.retryAfterSeconds, headers);
    }
    const mutating = isMutating(info);
    this.inFlight.add(mutating, 1);
    if (info.verb === 'watch') this.#options.watches.add(request, info);
    let inside = true;
    return {
      headers,
      release: () => {
        if (!inside) return;
        inside = false;
        this.inFlight.add(mutating, -1);
        decision.finish();
      },
    };
  }

  #hashOf({ name }: Flow, distinguisher: string): bigint {
    const key = `${name}\0${distinguisher}`;
    let hash = this.#hashes.get(key);
    if (hash === undefined) {
      hash = flowHash(name, distinguisher);
      if (this.#hashes.size >= hashCapacity) this.#hashes.clear();
      this.#hashes.set(key, hash);
    }
    return hash;
  }
}

function distinguisherOf({ distinguisher }: Flow, { user }: ApiRequest, { namespace }: RequestInfo): string {
  if (distinguisher === 'ByUser') return user!.name;
  return distinguisher === 'ByNamespace' ? namespace : '';
}

/** What became of the requests of one flow schema at one priority level, for `/metrics`. */
import { HistogramCounts } from '../../base/metrics/families.ts';

export type RejectReason = 'queue-full' | 'concurrency-limit' | 'time-out';

/** Upstream's buckets of waiting and executing times, in seconds. */
const flowDurationBuckets: readonly number[] = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const seatBuckets: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 100];

export class FlowCounts {
  readonly schema: string;
  readonly level: string;
  waiting = 0;
  waitingSeats = 0;
  executing = 0;
  executingSeats = 0;
  dispatched = 0;
  readonly rejected = new Map<RejectReason, number>();
  readonly waited = new HistogramCounts(flowDurationBuckets);
  readonly waitedInVain = new HistogramCounts(flowDurationBuckets);
  readonly executed = new HistogramCounts(flowDurationBuckets);
  readonly seats = new HistogramCounts(seatBuckets);

  constructor(schema: string, level: string) {
    this.schema = schema;
    this.level = level;
  }

  reject(reason: RejectReason): void {
    this.rejected.set(reason, (this.rejected.get(reason) ?? 0) + 1);
  }
}

/**
 * Puts priority and fairness together over a server's own client. Until the cluster's configuration is known the server goes on with
 * its limits on what is in flight. Loaded once a server runs, for the first second needs none of it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { KindStorage } from '../registry/kind-storage.ts';
import type { Handler } from '../request.ts';
import { followConfiguration } from './configuration-follower.ts';
import { flowControlPages } from './dump-pages.ts';
import type { FlowControl } from './flow-control.ts';
import { flowMetrics } from './flow-metrics.ts';
import { objectStatistics } from './object-statistics.ts';
import { PriorityAndFairness } from './priority-and-fairness.ts';
import { PriorityLevels } from './priority-levels.ts';
import { WatchCounts } from './watch-counts.ts';
import { workEstimator } from './work-estimate.ts';

export interface PriorityAndFairnessStart {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** `--max-requests-inflight` and `--max-mutating-requests-inflight` together. */
  readonly totalSeats: number;
  storageNamed(name: string): KindStorage | undefined;
}

export interface StartedFlowControl {
  readonly control: FlowControl;
  /** By path. */
  readonly pages: ReadonlyMap<string, Handler>;
  metrics(): string;
}

/** Resolves when the levels are those of the cluster. */
export async function startPriorityAndFairness(options: PriorityAndFairnessStart): Promise<StartedFlowControl> {
  const { clock, totalSeats, storageNamed } = options;
  const levels = new PriorityLevels({ clock, totalSeats });
  const watches = new WatchCounts();
  await followConfiguration({ ...options, levels });
  const estimate = workEstimator({ watches, statistics: objectStatistics(storageNamed, clock) });
  const wallTime = (ms: number) => clock.now() - (clock.monotonic() - ms);
  return {
    control: new PriorityAndFairness({ levels, watches, estimate }),
    pages: flowControlPages(levels, wallTime),
    metrics: () => flowMetrics(levels),
  };
}

/** Flow control's part of `/metrics`, under upstream's names (`apiserver_flowcontrol_...`). */
import {
  counterFamily,
  gaugeFamily,
  type HistogramCounts,
  histogramFamily,
  type Sample,
} from '../../base/metrics/families.ts';
import type { FlowCounts } from './flow-counts.ts';
import type { PriorityLevel } from './priority-level.ts';
import type { PriorityLevels } from './priority-levels.ts';

const prefix = 'apiserver_flowcontrol_';

interface LevelGauge {
  readonly name: string;
  readonly help: string;
  value(level: PriorityLevel): number;
}

interface FlowSeries {
  readonly name: string;
  readonly help: string;
  value(counts: FlowCounts): number;
}

const levelGauges: readonly LevelGauge[] = [
  {
    name: 'nominal_limit_seats',
    help: 'Nominal number of execution seats configured for each priority level',
    value: ({ nominalSeats }) => nominalSeats,
  },
  {
    name: 'lower_limit_seats',
    help: 'Configured lower bound on number of execution seats available to each priority level',
    value: ({ leastSeats }) => leastSeats,
  },
  {
    name: 'upper_limit_seats',
    help: 'Configured upper bound on number of execution seats available to each priority level',
    value: ({ mostSeats }) => mostSeats,
  },
  {
    name: 'current_limit_seats',
    help: 'current derived number of execution seats available to each priority level',
    value: ({ queues }) => queues.limit,
  },
  {
    name: 'demand_seats_high_watermark',
    help: 'High watermark, over last adjustment period, of demand_seats',
    value: ({ queues }) => queues.demand.highWatermark,
  },
  {
    name: 'demand_seats_average',
    help: 'Time-weighted average, over last adjustment period, of demand_seats',
    value: ({ queues }) => queues.demand.average,
  },
  {
    name: 'demand_seats_stdev',
    help: 'Time-weighted standard deviation, over last adjustment period, of demand_seats',
    value: ({ queues }) => queues.demand.deviation,
  },
  {
    name: 'demand_seats_smoothed',
    help: 'Smoothed seat demands',
    value: ({ queues }) => queues.demand.smoothed,
  },
  { name: 'target_seats', help: 'Seat allocation targets', value: (level) => level.claim().target },
  { name: 'current_r', help: 'R(time of last change)', value: ({ queues }) => queues.progress },
];

const flowGauges: readonly FlowSeries[] = [
  {
    name: 'current_inqueue_requests',
    help: 'Number of requests currently pending in queues of the API Priority and Fairness subsystem',
    value: ({ waiting }) => waiting,
  },
  {
    name: 'current_inqueue_seats',
    help: 'Number of seats currently pending in queues of the API Priority and Fairness subsystem',
    value: ({ waitingSeats }) => waitingSeats,
  },
  {
    name: 'current_executing_requests',
    help: 'Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem',
    value: ({ executing }) => executing,
  },
  {
    name: 'current_executing_seats',
    help: 'Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem',
    value: ({ executingSeats }) => executingSeats,
  },
];

export function flowMetrics(levels: PriorityLevels): string {
  const flows = [...levels.counts];
  const levelSamples = ({ value }: LevelGauge): Sample[] =>
    levels.levels.map((level) => ({ labels: { priority_level: level.name }, value: value(level) }));
  const flowSamples = (value: FlowSeries['value']): Sample[] =>
    flows.map((counts) => ({ labels: labelsOf(counts), value: value(counts) }));
  const dispatched = flows.filter((counts) => counts.dispatched > 0);
  return [
    ...levelGauges.map((gauge) => gaugeFamily(prefix + gauge.name, gauge.help, levelSamples(gauge))),
    ...flowGauges.map(({ name, help, value }) => gaugeFamily(prefix + name, help, flowSamples(value))),
    gaugeFamily(
      `${prefix}seat_fair_frac`,
      "Fair fraction of server's concurrency to allocate to each priority level that can use it",
      [{ labels: {}, value: levels.fairFraction }],
    ),
    counterFamily(
      `${prefix}dispatched_requests_total`,
      'Number of requests executed by API Priority and Fairness subsystem',
      dispatched.map((counts) => ({ labels: labelsOf(counts), value: counts.dispatched })),
    ),
    counterFamily(
      `${prefix}rejected_requests_total`,
      'Number of requests rejected by API Priority and Fairness subsystem',
      flows.flatMap((counts) =>
        [...counts.rejected].map(([reason, value]) => ({ labels: { ...labelsOf(counts), reason }, value })),
      ),
    ),
    ...flowHistograms(flows),
  ].join('');
}

function flowHistograms(flows: readonly FlowCounts[]): readonly string[] {
  const one = (name: string, help: string, counts: (flow: FlowCounts) => HistogramCounts, label = {}) =>
    histogramFamily(
      prefix + name,
      help,
      flows.map((flow) => ({ labels: { ...label, ...labelsOf(flow) }, counts: counts(flow) })),
    );
  return [
    histogramFamily(
      `${prefix}request_wait_duration_seconds`,
      'Length of time a request spent waiting in its queue',
      flows.flatMap((flow) => [
        { labels: { execute: 'true', ...labelsOf(flow) }, counts: flow.waited },
        { labels: { execute: 'false', ...labelsOf(flow) }, counts: flow.waitedInVain },
      ]),
    ),
    one(
      'request_execution_seconds',
      'Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem',
      ({ executed }) => executed,
      { type: 'regular' },
    ),
    one(
      'work_estimated_seats',
      'Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness',
      ({ seats }) => seats,
    ),
  ];
}

function labelsOf({ schema, level }: FlowCounts): Readonly<Record<string, string>> {
  return { flow_schema: schema, priority_level: level };
}

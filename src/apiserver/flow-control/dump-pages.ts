/** `/debug/api_priority_and_fairness/...`: the levels, queues and requests of this moment as tables, in upstream's columns. */
import { formatDuration, formatTime } from '../../apimachinery/time.ts';
import { plainResponse } from '../pages.ts';
import type { Handler } from '../request.ts';
import type { Turn } from './fair-queue.ts';
import type { PriorityLevels } from './priority-levels.ts';

type Row = readonly (string | number | boolean)[];

export function flowControlPages(levels: PriorityLevels, wallTime: (monotonicMs: number) => number) {
  const page = (rows: (query: URLSearchParams) => readonly Row[]): Handler => {
    return async ({ query }) => plainResponse(aligned(rows(query)));
  };
  return new Map<string, Handler>([
    ['/debug/api_priority_and_fairness/dump_priority_levels', page(() => levelRows(levels))],
    ['/debug/api_priority_and_fairness/dump_queues', page(() => queueRows(levels))],
    [
      '/debug/api_priority_and_fairness/dump_requests',
      page((query) => requestRows(levels, wallTime, query.get('includeRequestDetails') !== null)),
    ],
  ]);
}

function levelRows({ levels }: PriorityLevels): readonly Row[] {
  const head = [
    ...['PriorityLevelName', 'ActiveQueues', 'IsIdle', 'IsQuiescing', 'WaitingRequests', 'ExecutingRequests'],
    ...['DispatchedRequests', 'RejectedRequests', 'TimedoutRequests', 'CancelledRequests'],
  ];
  const rows = levels.map(({ name, queues, quiescing }) => {
    const active = queues.queues.filter((queue) => queue.waiting.size > 0).length;
    const { idle, waiting, executing, dispatched, rejected, cancelled } = queues;
    return [name, active, idle, quiescing, waiting, executing, dispatched, rejected, 0, cancelled];
  });
  return [head, ...rows];
}

function queueRows({ levels }: PriorityLevels): readonly Row[] {
  const head = [
    ...['PriorityLevelName', 'Index', 'PendingRequests', 'ExecutingRequests', 'SeatsInUse', 'NextDispatchR'],
    ...['InitialSeatsSum', 'MaxSeatsSum', 'TotalWorkSum'],
  ];
  const rows = levels.flatMap(({ name, queues }) =>
    queues.queues.map((queue) => {
      const { index, waiting, executing, seatsInUse, nextDispatchR, waitingSeats, waitingWorkSeconds } = queue;
      let initialSeats = 0;
      for (const turn of waiting) initialSeats += turn.work.seats;
      const work = seatSeconds(waitingWorkSeconds);
      const counts = [index, waiting.size, executing.size, seatsInUse, seatSeconds(nextDispatchR)];
      return [name, ...counts, initialSeats, waitingSeats, work];
    }),
  );
  return [head, ...rows];
}

function requestRows(
  { levels }: PriorityLevels,
  wallTime: (monotonicMs: number) => number,
  details: boolean,
): readonly Row[] {
  const head = [
    ...['PriorityLevelName', 'FlowSchemaName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistingsher', 'ArriveTime'],
    ...['InitialSeats', 'FinalSeats', 'AdditionalLatency', 'StartTime'],
    ...(details ? ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'] : []),
  ];
  const rows: Row[] = [head];
  const tell = (level: string, turns: Iterable<Turn>, place: (position: number) => readonly [number, number]) => {
    let position = 0;
    for (const turn of turns) rows.push([level, ...requestRow(turn, place(position++), { wallTime, details })]);
  };
  for (const { name, queues } of levels) {
    for (const { index, waiting, executing } of queues.queues) {
      tell(name, waiting, (position) => [index, position]);
      tell(name, executing, () => [index, -1]);
    }
    tell(name, queues.queueless, () => [-1, -1]);
  }
  return rows;
}

interface RowOptions {
  readonly wallTime: (monotonicMs: number) => number;
  readonly details: boolean;
}

function requestRow(
  { arrival, work, arrivedMs, startedMs, decide }: Turn,
  place: readonly [number, number],
  options: RowOptions,
): Row {
  const { info, request, counts, distinguisher } = arrival;
  const time = (ms: number) => formatTime(options.wallTime(ms));
  const started = decide && startedMs === 0 ? '0001-01-01T00:00:00Z' : time(startedMs);
  const latency = formatDuration(work.lingerMs);
  const seats = [work.seats, work.finalSeats, latency, started];
  const row = [counts.schema, ...place, distinguisher, time(arrivedMs), ...seats];
  if (!options.details) return row;
  const version = info.group === '' ? info.version : `${info.group}/${info.version}`;
  const about = [info.namespace, info.name, version, info.resource, info.subresource];
  return [...row, request.user?.name ?? '', info.verb, info.path, ...about];
}

/** As upstream writes them: with 8 places behind the point and the unit. */
function seatSeconds(value: number): string {
  return `${value.toFixed(8)}ss`;
}

/** Columns end with a comma and are as wide as their widest cell, at least 8. */
function aligned(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell, column) => (column < row.length - 1 ? `${cell},` : String(cell))));
  const widths = cells[0]!.map((_, column) =>
    Math.max(8, ...cells.map((row) => (column < row.length - 1 ? row[column]!.length + 1 : 0))),
  );
  return cells
    .map(
      (row) =>
        `${row.map((cell, column) => (column < row.length - 1 ? cell.padEnd(widths[column]!) : cell)).join('')}\n`,
    )
    .join('');
}

/**
 * What `kubectl logs` prints: records of a container's log, chosen by time and number, with or without their time stamps. Pure but
 * for the records that come in; where they lie is the host's matter.
 */
import { timeOr } from '../../apimachinery/time.ts';

export interface LogRecord {
  /** RFC 3339 with nanoseconds. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** The line goes on in the next record. */
  readonly isPartial: boolean;
  readonly content: Uint8Array;
}

export interface LogOptions {
  readonly follow?: boolean | undefined;
  readonly timestamps?: boolean | undefined;
  /** Records from the end; absent: all. */
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  /** RFC 3339; wins over `sinceSeconds`. */
  readonly sinceTime?: string | undefined;
  readonly sinceSeconds?: number | undefined;
  /** `All` (default), `Stdout` or `Stderr`. */
  readonly stream?: string | undefined;
  /** Of the container before this one. */
  readonly previous?: boolean | undefined;
}

/** One line of a log file in the runtime's format: `TIME STREAM TAGS CONTENT`. Undefined when it is none. */
export function parseRecord(line: Uint8Array): LogRecord | undefined {
  const space = 0x20;
  const first = line.indexOf(space);
  const second = first < 0 ? -1 : line.indexOf(space, first + 1);
  const third = second < 0 ? -1 : line.indexOf(space, second + 1);
  if (third < 0) return undefined;
  const text = (from: number, to: number) => Buffer.from(line.subarray(from, to)).toString();
  const stream = text(first + 1, second);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const isPartial = text(second + 1, third)
    .split(':')
    .includes('P');
  return { time: text(0, first), stream, isPartial, content: line.subarray(third + 1) };
}

/** The bytes to send, record by record, cut off at the limit. */
export async function* printLog(
  records: AsyncIterable<LogRecord>,
  options: LogOptions,
  nowMs: number,
): AsyncIterable<Uint8Array> {
  const sinceMs = options.sinceTime
    ? timeOr(options.sinceTime, 0)
    : options.sinceSeconds === undefined
      ? undefined
      : nowMs - options.sinceSeconds * 1000;
  const wanted = options.stream && options.stream !== 'All' ? options.stream.toLowerCase() : undefined;
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  let continuesLine = false;
  for await (const record of records) {
    if (wanted && record.stream !== wanted) continue;
    if (sinceMs !== undefined && timeOr(record.time, 0) < sinceMs) continue;
    const prefix = options.timestamps && !continuesLine ? `${record.time} ` : '';
    continuesLine = record.isPartial;
    const bytes = Buffer.concat([Buffer.from(prefix), record.content, Buffer.from(record.isPartial ? '' : '\n')]);
    yield bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= bytes.length;
    if (left <= 0) return;
  }
}

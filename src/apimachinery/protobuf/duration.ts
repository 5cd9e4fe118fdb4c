/** Go's durations between their text and the nanoseconds that protobuf carries. */
import { formatDuration, parseDuration } from '../time.ts';

/** Of a text that is a duration; 0 for any other. Rounded to the nanosecond. */
export function durationNanos(text: string): bigint {
  return BigInt(Math.round((parseDuration(text) ?? 0) * 1e6));
}

export function durationText(nanos: bigint | number): string {
  return formatDuration(Number(nanos) / 1e6);
}

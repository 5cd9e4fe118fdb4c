/**
 * Moments and spans of time, to the nanosecond: reading, writing, arithmetic within their bounds, and the parts of a moment in a
 * time zone. Zones are known by name (`Europe/Berlin`) or by their distance from UTC (`+01:30`).
 */
import { isInt64 } from './integers.ts';
import { CelDuration, CelError, type CelResult, CelTimestamp } from './values.ts';

const nanosPerSecond = 1_000_000_000n;
/** The first second of year 1 and the last of year 9999. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;

export const durationOverflow = (): CelError => new CelError('duration overflow');
const timestampOverflow = (): CelError => new CelError('timestamp overflow');

export const durationOf = (nanos: bigint): CelDuration | CelError =>
  isInt64(nanos) ? new CelDuration(nanos) : durationOverflow();

export const timestampOf = (seconds: number, nanos: number): CelTimestamp | CelError =>
  seconds >= minSeconds && seconds <= maxSeconds ? new CelTimestamp(seconds, nanos) : timestampOverflow();

const nanosOf = ({ seconds, nanos }: CelTimestamp) => BigInt(seconds) * nanosPerSecond + BigInt(nanos);

export function shiftTimestamp(time: CelTimestamp, byNanos: bigint): CelResult {
  const total = nanosOf(time) + byNanos;
  const nanos = ((total % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  return timestampOf(Number((total - nanos) / nanosPerSecond), Number(nanos));
}

export const timestampDifference = (left: CelTimestamp, right: CelTimestamp): CelResult =>
  durationOf(nanosOf(left) - nanosOf(right));

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Undefined where the text is no RFC 3339 time. */
export function parseTimestamp(text: string): CelTimestamp | CelError | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [fraction, sign, offsetHours, offsetMinutes] = match.slice(7);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || month === 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  const east = Number(offsetHours ?? 0) * 3600 + Number(offsetMinutes ?? 0) * 60;
  if (Number(offsetHours ?? 0) > 24 || Number(offsetMinutes ?? 0) > 60) return undefined;
  const seconds = date.getTime() / 1000 - (sign === '-' ? -east : east);
  return timestampOf(seconds, Number((fraction ?? '').slice(0, 9).padEnd(9, '0')));
}

/** In UTC, with as many digits of a second as there are: `2026-01-02T15:04:05.5Z`. */
export function formatTimestamp({ seconds, nanos }: CelTimestamp): string {
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction}Z`;
}

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: nanosPerSecond,
  m: 60n * nanosPerSecond,
  h: 3600n * nanosPerSecond,
};

/** The nanoseconds of a Go duration (`1h15m30.918s`, `-1.5h`), undefined where the text is none. */
export function parseDuration(text: string): bigint | undefined {
  const match = /^([+-]?)((?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text);
  if (!match) return /^[+-]?0$/.test(text) ? 0n : undefined;
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const nanos = unitNanos[unit]!;
    total += BigInt(whole || '0') * nanos;
    if (fraction !== '') total += (BigInt(fraction) * nanos) / 10n ** BigInt(fraction.length);
  }
  const signed = match[1] === '-' ? -total : total;
  return isInt64(signed) ? signed : undefined;
}

/** In seconds: `5400s`, `0.5s`. */
export function formatDuration({ nanos }: CelDuration): string {
  const magnitude = nanos < 0n ? -nanos : nanos;
  const seconds = Number(magnitude / nanosPerSecond) + Number(magnitude % nanosPerSecond) / 1e9;
  const text = seconds < 1e-6 && seconds > 0 ? seconds.toFixed(9).replace(/0+$/, '') : String(seconds);
  return `${nanos < 0n ? '-' : ''}${text}s`;
}

/** The parts of a moment as a clock on the wall of a zone shows them. */
export type DatePart =
  | 'year'
  | 'month'
  | 'dayOfYear'
  | 'dayOfMonth'
  | 'date'
  | 'dayOfWeek'
  | 'hours'
  | 'minutes'
  | 'seconds'
  | 'milliseconds';

const parts: Readonly<Record<DatePart, (wall: Date, nanos: number) => number>> = {
  year: (wall) => wall.getUTCFullYear(),
  month: (wall) => wall.getUTCMonth(),
  dayOfYear: (wall) => {
    const newYear = new Date(wall);
    newYear.setUTCMonth(0, 1);
    return Math.round((wall.getTime() - newYear.getTime()) / 86_400_000);
  },
  dayOfMonth: (wall) => wall.getUTCDate() - 1,
  date: (wall) => wall.getUTCDate(),
  dayOfWeek: (wall) => wall.getUTCDay(),
  hours: (wall) => wall.getUTCHours(),
  minutes: (wall) => wall.getUTCMinutes(),
  seconds: (wall) => wall.getUTCSeconds(),
  milliseconds: (_, nanos) => Math.floor(nanos / 1e6),
};

/** Knows how far zones are ahead of UTC; keeps what is slow to make. */
export class TimeZones {
  readonly #formats = new Map<string, Intl.DateTimeFormat>();

  /** A part of a moment, in UTC where no zone is given. */
  datePart({ seconds, nanos }: CelTimestamp, part: DatePart, zone?: string): CelResult {
    const east = zone === undefined ? 0 : this.#secondsEast(zone, seconds);
    if (east instanceof CelError) return east;
    return BigInt(parts[part](new Date((seconds + east) * 1000), nanos));
  }

  #secondsEast(zone: string, atSeconds: number): number | CelError {
    const colon = zone.indexOf(':');
    if (colon >= 0) {
      const numbers = [zone.slice(0, colon), zone.slice(colon + 1)];
      const wrong = numbers.find((text) => !/^[+-]?\d{1,9}$/.test(text));
      if (wrong !== undefined) return new CelError(`strconv.Atoi: parsing "${wrong}": invalid syntax`);
      const [hours, minutes] = numbers.map(Number) as [number, number];
      return (hours * 60 + (zone.startsWith('-') ? -minutes : minutes)) * 60;
    }
    if (zone === '' || zone === 'UTC') return 0;
    const format = this.#format(zone);
    return format ? secondsEastBy(format, atSeconds) : new CelError(`unknown time zone ${zone}`);
  }

  #format(zone: string): Intl.DateTimeFormat | undefined {
    const known = this.#formats.get(zone);
    if (known) return known;
    try {
      const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...wallClock });
      this.#formats.set(zone, format);
      return format;
    } catch {
      return undefined;
    }
  }
}

const wallClock = {
  hourCycle: 'h23',
  era: 'short',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const;

function secondsEastBy(format: Intl.DateTimeFormat, atSeconds: number): number {
  const shown = new Map(format.formatToParts(new Date(atSeconds * 1000)).map(({ type, value }) => [type, value]));
  const number = (type: Intl.DateTimeFormatPartTypes) => Number(shown.get(type));
  const wall = new Date(0);
  wall.setUTCFullYear(
    shown.get('era') === 'BC' ? 1 - number('year') : number('year'),
    number('month') - 1,
    number('day'),
  );
  wall.setUTCHours(number('hour'), number('minute'), number('second'));
  return wall.getTime() / 1000 - atSeconds;
}

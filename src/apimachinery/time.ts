/**
 * Times and durations as the API writes them: RFC 3339 to the second (`metav1.Time`) or microsecond (`MicroTime`), and Go's
 * durations (`1h30m`). Inside, a moment is milliseconds since 1970 and a duration is milliseconds.
 */

/** `2026-01-02T15:04:05Z`; fractions of a second are dropped. */
export function formatTime(atMs: number): string {
  return `${new Date(Math.floor(atMs / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** `2026-01-02T15:04:05.000000Z`. */
export function formatMicroTime(atMs: number): string {
  const micros = Math.round((atMs - Math.floor(atMs)) * 1000);
  const wholeMs = Math.floor(atMs) + (micros === 1000 ? 1 : 0);
  return `${new Date(wholeMs).toISOString().slice(0, 23)}${String(micros % 1000).padStart(3, '0')}Z`;
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Milliseconds since 1970 (fractions kept), or undefined where the text is no RFC 3339 time. */
export function parseTime(text: string): number | undefined {
  const found = rfc3339.exec(text);
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = found;
  const fields = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (fields[3] > 23 || fields[4] > 59 || fields[5] > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(fields[0], fields[1] - 1, fields[2]);
  date.setUTCHours(fields[3], fields[4], fields[5]);
  // Dates that do not exist roll over into the next month.
  if (date.getUTCMonth() !== fields[1] - 1 || date.getUTCDate() !== fields[2]) return undefined;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60_000 * (sign === '-' ? -1 : 1);
  return date.getTime() - offsetMs + Number(`0.${fraction ?? '0'}`) * 1000;
}

/** The time of a field that validation has let through: absent or malformed gives `otherwise`. */
export function timeOr(text: string | undefined, otherwise: number): number {
  return (text === undefined ? undefined : parseTime(text)) ?? otherwise;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a Go duration such as `1h15m30.918s` or `-1.5h`; undefined where it is none. */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return 0;
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let total = 0;
  for (const [, number, unit] of rest.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(number) * unitMs[unit!]!;
  }
  // Go's durations are int64 nanoseconds.
  return total * 1e6 > Number.MAX_SAFE_INTEGER * 1024 ? undefined : sign * Math.round(total * 1e6) * 1e-6;
}

/** As Go prints a duration: `1h30m0s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(durationMs: number): string {
  const nanos = Math.round(Math.abs(durationMs) * 1e6);
  const sign = durationMs < 0 && nanos > 0 ? '-' : '';
  if (nanos === 0) return '0s';
  if (nanos < 1e3) return `${sign}${nanos}ns`;
  if (nanos < 1e6) return `${sign}${nanos / 1e3}µs`;
  if (nanos < 1e9) return `${sign}${nanos / 1e6}ms`;
  const hours = Math.floor(nanos / 3.6e12);
  const minutes = Math.floor((nanos % 3.6e12) / 6e10);
  const seconds = trimFraction((nanos % 6e10) / 1e9);
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

function trimFraction(seconds: number): string {
  return seconds.toFixed(9).replace(/\.?0+$/, '');
}

/** A moment of which no date is without: the days that only some months have need a closer look. */
const plainTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{6})?Z$/;

const timeLength = '2006-01-02T15:04:05Z'.length;
const microTimeLength = '2006-01-02T15:04:05.000000Z'.length;

/** Whether a text already is what `canonicalTime` would make of it: a quick look that most stored times pass. */
export function isCanonicalTime(text: string): boolean {
  return text.length === timeLength && (plainTime.test(text) || (text.endsWith('Z') && parseTime(text) !== undefined));
}

/** The same for `canonicalMicroTime`, but not of all days: false says nothing. */
function isPlainMicroTime(text: string): boolean {
  return text.length === microTimeLength && plainTime.test(text);
}

/** The one spelling of a `metav1.Time`. Throws with Go's words where the text is no time. */
export function canonicalTime(text: string): string {
  const atMs = parseTime(text);
  if (atMs === undefined) throw new Error(timeParseMessage(text, '2006-01-02T15:04:05Z07:00'));
  return formatTime(atMs);
}

/** The one spelling of a `metav1.MicroTime`: digits beyond the microsecond are cut off. */
export function canonicalMicroTime(text: string): string {
  if (isPlainMicroTime(text)) return text;
  // Far from 1970 a double has no room for microseconds, so the fraction is left out of the reckoning.
  const [, fraction = ''] = /[.,](\d+)/.exec(text) ?? [];
  const atMs = parseTime(text);
  if (atMs === undefined) throw new Error(timeParseMessage(text, '2006-01-02T15:04:05.000000Z07:00'));
  const second = fraction === '' ? atMs : parseTime(text.replace(/[.,]\d+/, ''))!;
  return `${formatTime(second).slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

/** Go names the first part of the layout that did not fit: `cannot parse "x" as "2006"`. */
function timeParseMessage(text: string, layout: string): string {
  const quoted = JSON.stringify(text);
  const parts: readonly (readonly [RegExp, string])[] = [
    [/^\d{4}/, '2006'],
    [/^-/, '-'],
    [/^\d\d/, '01'],
    [/^-/, '-'],
    [/^\d\d/, '02'],
    [/^T/, 'T'],
    [/^\d\d/, '15'],
    [/^:/, ':'],
    [/^\d\d/, '04'],
    [/^:/, ':'],
    [/^\d\d(?:[.,]\d+)?/, '05'],
    [/^(?:Z|[+-]\d\d:\d\d)/, 'Z07:00'],
  ];
  let rest = text;
  for (const [pattern, name] of parts) {
    const found = pattern.exec(rest);
    if (!found) return `parsing time ${quoted} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${name}"`;
    rest = rest.slice(found[0].length);
  }
  if (rest !== '') return `parsing time ${quoted}: extra text: ${JSON.stringify(rest)}`;
  return `parsing time ${quoted}: ${outOfRange(text)} out of range`;
}

function outOfRange(text: string): string {
  const [month, hour, minute, second] = [5, 11, 14, 17].map((at) => Number(text.slice(at, at + 2)));
  if (month! < 1 || month! > 12) return 'month';
  if (hour! > 23) return 'hour';
  if (minute! > 59) return 'minute';
  if (second! > 59) return 'second';
  return 'day';
}

/**
 * Reads the schedule of a CronJob: five fields (minute, hour, day of month, month, day of week), one of the `@` words, or
 * `@every <duration>`. The grammar and the messages are those of the parser that upstream uses.
 */

import { quote } from '../../../apimachinery/go-text.ts';
import { parseDuration } from '../../../apimachinery/time.ts';

export interface CronSchedule {
  /** Minutes, hours, days of the month, months (1 to 12) and days of the week (Sunday is 0) on which it is due. */
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly daysOfWeek: ReadonlySet<number>;
  /** Written as `*` or `?`. When neither of the two kinds of day is, either suffices; else both must fit. */
  readonly anyDayOfMonth: boolean;
  readonly anyDayOfWeek: boolean;
  /** IANA name before the fields (`CRON_TZ=Europe/Berlin 0 6 * * *`). */
  readonly timeZone: string | undefined;
  /** Of `@every`; the fields are then of no account. */
  readonly everyMs: number | undefined;
}

/** A schedule that cannot be read; the message is upstream's. */
export class CronScheduleError extends Error {
  override readonly name: string = 'CronScheduleError';
}

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const bounds: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: monthNames },
  { least: 0, most: 6, names: dayNames },
];

const words: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

/** Throws `CronScheduleError`. */
export function parseCronSchedule(text: string): CronSchedule {
  if (text === '') throw new CronScheduleError('empty spec string');
  const zoned = /^(?:TZ|CRON_TZ)=(\S*)(.*)$/s.exec(text);
  const timeZone = zoned?.[1];
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new CronScheduleError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const rest = zoned ? zoned[2]!.trim() : text;
  const every = '@every ';
  if (rest.startsWith(every)) return { ...parseFields('* * * * *'), timeZone, everyMs: parseEvery(rest, every.length) };
  if (rest.startsWith('@') && !words.has(rest)) throw new CronScheduleError(`unrecognized descriptor: ${rest}`);
  return { ...parseFields(words.get(rest) ?? rest), timeZone, everyMs: undefined };
}

/** Whether the runtime knows a time zone of that name. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** Whole seconds, one at least. */
function parseEvery(text: string, start: number): number {
  const durationMs = parseDuration(text.slice(start));
  if (durationMs === undefined) {
    throw new CronScheduleError(`failed to parse duration ${text}: time: invalid duration ${quote(text.slice(start))}`);
  }
  return Math.max(1000, Math.trunc(durationMs / 1000) * 1000);
}

function parseFields(text: string): Omit<CronSchedule, 'timeZone' | 'everyMs'> {
  const fields = text.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== bounds.length) {
    const message = `expected exactly ${bounds.length} fields, found ${fields.length}: [${fields.join(' ')}]`;
    throw new CronScheduleError(message);
  }
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = fields.map((field, i) => parseField(field, bounds[i]!));
  return {
    minutes: minutes!.values,
    hours: hours!.values,
    daysOfMonth: daysOfMonth!.values,
    months: months!.values,
    daysOfWeek: daysOfWeek!.values,
    anyDayOfMonth: daysOfMonth!.any,
    anyDayOfWeek: daysOfWeek!.any,
  };
}

/** `0-10/5,30` is 0, 5, 10 and 30. */
function parseField(text: string, within: Bounds): { readonly values: ReadonlySet<number>; readonly any: boolean } {
  const values = new Set<number>();
  let any = false;
  for (const expression of text.split(',').filter((part) => part !== '')) {
    const { start, end, step, star } = parseRange(expression, within);
    for (let value = start; value <= end; value += step) values.add(value);
    any ||= star && step === 1;
  }
  return { values, any };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly star: boolean;
}

function parseRange(expression: string, within: Bounds): Range {
  const [range = '', stepText, ...moreSlashes] = expression.split('/');
  const [low = '', high, ...moreHyphens] = range.split('-');
  const star = low === '*' || low === '?';
  if (!star && moreHyphens.length > 0) throw new CronScheduleError(`too many hyphens: ${expression}`);
  const start = star ? within.least : parseNumber(low, within.names, within.least);
  let end = star ? within.most : high === undefined ? start : parseNumber(high, within.names, within.least);
  if (moreSlashes.length > 0) throw new CronScheduleError(`too many slashes: ${expression}`);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  if (stepText !== undefined && high === undefined) end = within.most;
  if (start < within.least) {
    throw new CronScheduleError(`beginning of range (${start}) below minimum (${within.least}): ${expression}`);
  }
  if (end > within.most) {
    throw new CronScheduleError(`end of range (${end}) above maximum (${within.most}): ${expression}`);
  }
  if (start > end) {
    throw new CronScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${expression}`);
  }
  if (step === 0) throw new CronScheduleError(`step of range should be a positive number: ${expression}`);
  return { start, end, step, star };
}

function parseNumber(text: string, names: readonly string[] = [], firstName = 0): number {
  const name = names.indexOf(text.toLowerCase());
  if (name >= 0) return name + firstName;
  if (!/^[+-]?[0-9]+$/.test(text)) {
    const message = `failed to parse int from ${text}: strconv.Atoi: parsing ${quote(text)}: invalid syntax`;
    throw new CronScheduleError(message);
  }
  const number = Number(text);
  if (number < 0) throw new CronScheduleError(`negative number (${number}) not allowed: ${text}`);
  return number;
}

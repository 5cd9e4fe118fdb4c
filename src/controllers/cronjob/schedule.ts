/**
 * When a cron expression fires: pure. Five fields (minute, hour, day of month, month, day of week) with lists, ranges, steps and
 * names; `@hourly` and its like; `@every 90m`; a leading `TZ=` or `CRON_TZ=`. When both days are restricted either may match, as cron
 * has always had it. Times are computed on the wall clock of the zone: one that a change to summer time skips does not fire.
 */
import { parseDuration } from '../../apimachinery/time.ts';

export interface Schedule {
  /** The first moment after `afterMs`; undefined when there is none within five years. */
  next(afterMs: number): number | undefined;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const numbered = (names: readonly string[], from: number) =>
  Object.fromEntries(names.map((name, index) => [name, index + from]));

const fields: readonly [Field, Field, Field, Field, Field] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: numbered(months, 1) },
  { min: 0, max: 6, names: numbered(days, 0) },
];

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const minuteMs = 60_000;
const dayMs = 86_400_000;
const horizonMs = 5 * 366 * dayMs;

/** Throws an Error that says what is wrong. `timeZone` is an IANA name; default UTC. */
export function parseSchedule(text: string, timeZone = 'UTC'): Schedule {
  const zoned = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text);
  if (zoned) return parseSchedule(zoned[2] ?? '', zoned[1]);
  const trimmed = text.trim();
  if (trimmed === '') throw new Error('empty spec string');
  if (trimmed.startsWith('@every ')) return every(trimmed);
  const expression = trimmed.startsWith('@') ? descriptors[trimmed] : trimmed;
  if (expression === undefined) throw new Error(`unrecognized descriptor: ${trimmed}`);
  const parts = expression.split(/\s+/);
  if (parts.length !== 5) throw new Error(`expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`);
  const sets = parts.map((part, index) => parseField(part, fields[index]!));
  return new CronSchedule(sets as [FieldSet, FieldSet, FieldSet, FieldSet, FieldSet], wallClock(timeZone));
}

function every(text: string): Schedule {
  const delayMs = parseDuration(text.slice('@every '.length).trim());
  if (delayMs === undefined) throw new Error(`failed to parse duration ${text}`);
  const stepMs = Math.max(1000, Math.floor(delayMs / 1000) * 1000);
  return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + stepMs };
}

interface FieldSet {
  readonly values: ReadonlySet<number>;
  /** Written as `*` or `?`: restricts nothing. */
  readonly any: boolean;
}

function parseField(text: string, field: Field): FieldSet {
  const values = new Set<number>();
  let any = false;
  for (const part of text.split(',')) {
    const [range = '', step, ...rest] = part.split('/');
    if (rest.length > 0) throw new Error(`too many slashes: ${part}`);
    const open = range === '*' || range === '?';
    const [low, high] = open ? [field.min, field.max] : bounds(range, field, step !== undefined);
    const stride = step === undefined ? 1 : integer(step);
    if (stride === 0) throw new Error(`step of range should be a positive number: ${part}`);
    if (low < field.min) throw new Error(`beginning of range (${low}) below minimum (${field.min}): ${part}`);
    if (high > field.max) throw new Error(`end of range (${high}) above maximum (${field.max}): ${part}`);
    if (low > high) throw new Error(`beginning of range (${low}) beyond end of range (${high}): ${part}`);
    for (let value = low; value <= high; value += stride) values.add(value);
    if (open && stride === 1) any = true;
  }
  return { values, any };
}

/** `5`, `5-9`, and `5/10`, which means from 5 on. */
function bounds(range: string, field: Field, stepped: boolean): readonly [number, number] {
  const [first = '', last, ...rest] = range.split('-');
  if (rest.length > 0) throw new Error(`too many hyphens: ${range}`);
  const low = value(first, field);
  return [low, last === undefined ? (stepped ? field.max : low) : value(last, field)];
}

function value(text: string, { names }: Field): number {
  return names?.[text.toLowerCase()] ?? integer(text);
}

function integer(text: string): number {
  if (!/^\d+$/.test(text))
    throw new Error(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

class CronSchedule implements Schedule {
  readonly #sets: readonly [FieldSet, FieldSet, FieldSet, FieldSet, FieldSet];
  readonly #clock: WallClock;

  constructor(sets: readonly [FieldSet, FieldSet, FieldSet, FieldSet, FieldSet], clock: WallClock) {
    this.#sets = sets;
    this.#clock = clock;
  }

  /** Walks over wall time, written as if it were UTC, taking whole months and days at a step where nothing can match. */
  next(afterMs: number): number | undefined {
    const [minute, hour, , month] = this.#sets;
    let wallMs = Math.floor((afterMs + this.#clock.offsetMs(afterMs)) / minuteMs) * minuteMs + minuteMs;
    const endMs = wallMs + horizonMs;
    while (wallMs < endMs) {
      const at = new Date(wallMs);
      if (!month.values.has(at.getUTCMonth() + 1)) {
        wallMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
      } else if (!this.#matchesDay(at)) wallMs = (Math.floor(wallMs / dayMs) + 1) * dayMs;
      else if (!hour.values.has(at.getUTCHours())) wallMs = (Math.floor(wallMs / 3_600_000) + 1) * 3_600_000;
      else if (!minute.values.has(at.getUTCMinutes())) wallMs += minuteMs;
      else {
        const found = this.#clock.toUtcMs(wallMs);
        if (found !== undefined && found > afterMs) return found;
        wallMs += minuteMs;
      }
    }
    return undefined;
  }

  #matchesDay(at: Date): boolean {
    const [, , dayOfMonth, , dayOfWeek] = this.#sets;
    const inMonth = dayOfMonth.values.has(at.getUTCDate());
    const inWeek = dayOfWeek.values.has(at.getUTCDay());
    return dayOfMonth.any || dayOfWeek.any ? inMonth && inWeek : inMonth || inWeek;
  }
}

interface WallClock {
  /** Wall time minus UTC at a moment. */
  offsetMs(atMs: number): number;
  /** The moment at which the wall shows this time; undefined when it never does. */
  toUtcMs(wallMs: number): number | undefined;
}

/** Throws RangeError for a zone that does not exist. */
export function wallClock(timeZone: string): WallClock {
  if (timeZone === 'UTC') return { offsetMs: () => 0, toUtcMs: (wallMs) => wallMs };
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsetMs = (atMs: number) => {
    const wholeMs = Math.floor(atMs / 1000) * 1000;
    const parts = new Map(format.formatToParts(wholeMs).map(({ type, value: text }) => [type, Number(text)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return (
      Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) - wholeMs
    );
  };
  return {
    offsetMs,
    toUtcMs(wallMs) {
      // Around a change of the clocks either of two offsets may hold.
      for (const guess of [wallMs - offsetMs(wallMs - dayMs), wallMs - offsetMs(wallMs + dayMs)]) {
        if (guess + offsetMs(guess) === wallMs) return guess;
      }
      return undefined;
    },
  };
}

/**
 * When a cron expression fires: pure. What an expression says is read by the API's own parser, so what validation accepts is what runs.
 * When both days are restricted either may match, as cron has always had it. Times are computed on the wall clock of the zone: one
 * that a change to summer time skips does not fire.
 */
import { type CronSchedule, parseCronSchedule } from '../../api/batch/v1/cron-schedule.ts';

export interface Schedule {
  /** The first moment after `afterMs`; undefined when there is none within five years. */
  next(afterMs: number): number | undefined;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
const horizonMs = 5 * 366 * dayMs;

/** Throws an Error that says what is wrong. `timeZone` is an IANA name, which one in the text itself overrides; default UTC. */
export function parseSchedule(text: string, timeZone = 'UTC'): Schedule {
  const schedule = parseCronSchedule(text);
  const { everyMs } = schedule;
  if (everyMs !== undefined) return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + everyMs };
  return new WallClockSchedule(schedule, wallClock(schedule.timeZone ?? timeZone));
}

class WallClockSchedule implements Schedule {
  readonly #schedule: CronSchedule;
  readonly #clock: WallClock;

  constructor(schedule: CronSchedule, clock: WallClock) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** Walks over wall time, written as if it were UTC, taking whole months and days at a step where nothing can match. */
  next(afterMs: number): number | undefined {
    const { minutes, hours, months } = this.#schedule;
    let wallMs = Math.floor((afterMs + this.#clock.offsetMs(afterMs)) / minuteMs) * minuteMs + minuteMs;
    const endMs = wallMs + horizonMs;
    while (wallMs < endMs) {
      const at = new Date(wallMs);
      if (!months.has(at.getUTCMonth() + 1)) {
        wallMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
      } else if (!this.#matchesDay(at)) wallMs = (Math.floor(wallMs / dayMs) + 1) * dayMs;
      else if (!hours.has(at.getUTCHours())) wallMs = (Math.floor(wallMs / hourMs) + 1) * hourMs;
      else if (!minutes.has(at.getUTCMinutes())) wallMs += minuteMs;
      else {
        const found = this.#clock.toUtcMs(wallMs);
        if (found !== undefined && found > afterMs) return found;
        wallMs += minuteMs;
      }
    }
    return undefined;
  }

  #matchesDay(at: Date): boolean {
    const { daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek } = this.#schedule;
    const inMonth = daysOfMonth.has(at.getUTCDate());
    const inWeek = daysOfWeek.has(at.getUTCDay());
    return anyDayOfMonth || anyDayOfWeek ? inMonth && inWeek : inMonth || inWeek;
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

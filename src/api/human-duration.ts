/**
 * Durations as `kubectl get` prints ages: `45s`, `2m5s`, `3h12m`, `5d`, `2y13d`. The precision falls as the duration grows; the
 * steps are those of upstream's table printer, to the letter, since scripts parse them.
 */

/** `durationMs` may be a little negative (clocks differ): up to two seconds count as none. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return withRest(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (days < 365 * 8) return withRest(years, 'y', days % 365, 'd');
  return `${years}y`;
}

/** Age of a moment in RFC 3339; `<unknown>` when there is none. */
export function age(time: string | null | undefined, nowMs: number): string {
  if (!time) return '<unknown>';
  const then = Date.parse(time);
  return Number.isNaN(then) ? '<unknown>' : humanDuration(nowMs - then);
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;
}

/**
 * What a benchmark program prints: one line of JSON with its figure, what it is held against, and how it came about. Progress and
 * explanations go to stderr, so that stdout stays one line.
 */

export interface Figure {
  readonly name: string;
  /** What was measured, in words. */
  readonly what: string;
  /** Absent when it could not be measured here; `note` says why. */
  readonly figure?: number | undefined;
  readonly unit: string;
  /** What it should be (`README.md` has them all); absent where nothing is asked. */
  readonly target?: number | undefined;
  /** Which way is good. */
  readonly better: 'lower' | 'higher';
  readonly note?: string | undefined;
  /** The rival of the same run, and how many times better (above 1) or worse (below 1) than it we are. */
  readonly rival?: { readonly name: string; readonly figure: number; readonly ratio: number } | undefined;
  /** Everything else worth keeping. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export function print(figure: Figure): void {
  process.stdout.write(
    `${JSON.stringify({ ...figure, figure: rounded(figure.figure), reached: isReached(figure) })}\n`,
  );
}

/** Undefined where there is nothing to compare. */
export function isReached({ figure, target, better }: Figure): boolean | undefined {
  if (figure === undefined || target === undefined) return undefined;
  return better === 'lower' ? figure <= target : figure >= target;
}

export function say(text: string): void {
  process.stderr.write(`  ${text}\n`);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const position = (sorted.length - 1) * share;
  const low = Math.floor(position);
  const high = sorted[Math.ceil(position)]!;
  return sorted[low]! + (high - sorted[low]!) * (position - low);
}

/** To a sensible number of digits, for people read these. */
export function rounded(value: number): number;
export function rounded(value: number | undefined): number | undefined;
export function rounded(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number(value.toFixed(digits));
}

/** Best, middle and worst of several runs. */
export function spread(values: readonly number[]): {
  readonly min: number;
  readonly median: number;
  readonly max: number;
} {
  return { min: rounded(Math.min(...values)), median: rounded(median(values)), max: rounded(Math.max(...values)) };
}

/** Counts and times by their labels, for parts of the server that keep such of their own. Families are made of them when somebody asks. */
import { HistogramCounts, type HistogramSample, type Labels, type Sample } from './families.ts';

export interface LabelledSample extends Sample {
  readonly labels: Labels;
}

export class Counts {
  readonly #samples = new Map<string, { readonly labels: Labels; value: number }>();

  add(labels: Labels, by = 1): void {
    const key = keyOf(labels);
    const sample = this.#samples.get(key);
    if (sample) sample.value += by;
    else this.#samples.set(key, { labels, value: by });
  }

  set(labels: Labels, value: number): void {
    this.#samples.set(keyOf(labels), { labels, value });
  }

  /** Forgets all whose labels are among these. */
  delete(labels: Labels): void {
    const matches = (other: Labels) => Object.entries(labels).every(([name, value]) => other[name] === value);
    for (const [key, sample] of this.#samples) if (matches(sample.labels)) this.#samples.delete(key);
  }

  samples(): Iterable<LabelledSample> {
    return this.#samples.values();
  }
}

/** How often and how long, or how large. */
export class Timings {
  readonly #limits: readonly number[];
  readonly #series = new Map<string, HistogramSample>();

  /** `limits` ascending, of times in seconds. */
  constructor(limits: readonly number[]) {
    this.#limits = limits;
  }

  add(labels: Labels, durationMs: number): void {
    this.addValue(labels, durationMs / 1000);
  }

  /** Of limits that are no seconds. */
  addValue(labels: Labels, value: number): void {
    const key = keyOf(labels);
    let series = this.#series.get(key);
    if (!series) {
      series = { labels, counts: new HistogramCounts(this.#limits) };
      this.#series.set(key, series);
    }
    series.counts.add(value);
  }

  histogram(): Iterable<HistogramSample> {
    return this.#series.values();
  }

  counts(): readonly LabelledSample[] {
    return [...this.#series.values()].map(({ labels, counts }) => ({ labels, value: counts.count }));
  }
}

/** `start`, then each the `factor` of the one before. */
export function exponentialLimits(
  start: number,
  { factor, count }: { readonly factor: number; readonly count: number },
): readonly number[] {
  return Array.from({ length: count }, (_, exponent) => start * factor ** exponent);
}

/** Upstream's for what is not expected to take any particular time. */
export const defaultLimits: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Asked several times for each request, so it makes no list. */
function keyOf(labels: Labels): string {
  let key = '';
  for (const name in labels) key += `${labels[name]}\0`;
  return key;
}

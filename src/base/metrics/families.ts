/**
 * Counts of a component as Prometheus' text form has them: all that is served as such is written here. Counting costs an addition; the text
 * is made when somebody asks. Names and labels are upstream's, labels in the order of the alphabet.
 */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels | undefined;
  readonly value: number;
  /** Of the measurement, where it is older than the answer. */
  readonly timestampMs?: number | undefined;
}

export interface HistogramSample {
  readonly labels: Labels;
  readonly counts: HistogramCounts;
}

/** A histogram of one combination of labels. */
export class HistogramCounts {
  /** Upper limits, ascending. */
  readonly limits: readonly number[];
  /** Per limit, not yet summed up; the last is for everything above. */
  readonly #counts: number[];
  sum = 0;
  count = 0;

  constructor(limits: readonly number[]) {
    this.limits = limits;
    this.#counts = new Array<number>(limits.length + 1).fill(0);
  }

  add(value: number): void {
    let slot = 0;
    while (slot < this.limits.length && value > this.limits[slot]!) slot++;
    this.#counts[slot]!++;
    this.sum += value;
    this.count++;
  }

  /** How many were at most each limit. */
  cumulative(): number[] {
    let below = 0;
    return this.limits.map((_, slot) => {
      below += this.#counts[slot]!;
      return below;
    });
  }
}

export function counterFamily(name: string, help: string, samples: Iterable<Sample>): string {
  return scalarFamily(name, 'counter', help, samples);
}

export function gaugeFamily(name: string, help: string, samples: Iterable<Sample>): string {
  return scalarFamily(name, 'gauge', help, samples);
}

/** Series that have counted nothing are left out. */
export function histogramFamily(name: string, help: string, samples: Iterable<HistogramSample>): string {
  let text = head(name, 'histogram', help);
  for (const { labels, counts } of samples) {
    if (counts.count === 0) continue;
    const cumulative = counts.cumulative();
    counts.limits.forEach((limit, slot) => {
      text += line(`${name}_bucket`, { labels: { ...labels, le: shortest(limit) }, value: cumulative[slot]! });
    });
    text += line(`${name}_bucket`, { labels: { ...labels, le: '+Inf' }, value: counts.count });
    text += line(`${name}_sum`, { labels, value: counts.sum }) + line(`${name}_count`, { labels, value: counts.count });
  }
  return text;
}

/** As Go prints a number at its shortest, which is what readers know limits by: `0.25`, `1e-08`, `1.048576e+06`. */
function shortest(value: number): string {
  const [digits = '', power = ''] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function scalarFamily(name: string, type: string, help: string, samples: Iterable<Sample>): string {
  let text = head(name, type, help);
  for (const sample of samples) text += line(name, sample);
  return text;
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${onOneLine(help)}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, { labels = {}, value, timestampMs }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${onOneLine(text).replaceAll('"', '\\"')}"`);
  const series = pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
  return `${series} ${figure(value)}${timestampMs === undefined ? '' : ` ${Math.round(timestampMs)}`}\n`;
}

function figure(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function onOneLine(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

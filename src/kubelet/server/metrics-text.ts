/** Metrics in the text format of Prometheus, written straight from what is known: no registry, no state. */

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  /** What part of a histogram it is. */
  readonly part?: 'bucket' | 'sum' | 'count' | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
  /** Of the measurement, where it is older than the answer. */
  readonly timestampMs?: number | undefined;
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Metrics without a sample are left out. */
export function metricsText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const sample of samples) lines.push(name + (sample.part ? `_${sample.part}` : '') + line(sample));
  }
  return `${lines.join('\n')}\n`;
}

function line({ labels = {}, value, timestampMs }: MetricSample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  const about = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return `${about} ${value}${timestampMs === undefined ? '' : ` ${Math.round(timestampMs)}`}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

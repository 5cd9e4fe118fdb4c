/** What admission takes, by plugin and by step, for `/metrics`. */

import { HistogramCounts, histogramFamily, type Labels } from '../../base/metrics/families.ts';
import type { ExtensionStatistics } from './extension-statistics.ts';
import type { Outcome } from './outcome.ts';

/** Upstream's, in seconds. */
const buckets: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const webhookBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

interface Series extends Outcome {
  readonly labels: Labels;
  readonly counts: HistogramCounts;
}

class Durations {
  readonly #limits: readonly number[];
  /** By name; of each there are so few that looking through them costs less than making a key of them. */
  readonly #series = new Map<string | undefined, Series[]>();

  constructor(limits: readonly number[]) {
    this.#limits = limits;
  }

  add(name: string | undefined, { operation, type, rejected }: Outcome, seconds: number): void {
    let ofName = this.#series.get(name);
    if (!ofName) {
      ofName = [];
      this.#series.set(name, ofName);
    }
    let series = ofName.find((one) => one.operation === operation && one.type === type && one.rejected === rejected);
    if (!series) {
      const named = name === undefined ? {} : { name };
      const labels = { ...named, operation, rejected: String(rejected), type };
      series = { operation, type, rejected, labels, counts: new HistogramCounts(this.#limits) };
      ofName.push(series);
    }
    series.counts.add(seconds);
  }

  family(name: string, help: string): string {
    return histogramFamily(name, help, [...this.#series.values()].flat());
  }
}

export class AdmissionStatistics {
  readonly #plugins = new Durations(buckets);
  readonly #steps = new Durations(buckets);
  readonly #webhooks = new Durations(webhookBuckets);
  #extensions: ExtensionStatistics | undefined;

  plugin(name: string, outcome: Outcome, seconds: number): void {
    this.#plugins.add(name, outcome, seconds);
  }

  step(outcome: Outcome, seconds: number): void {
    this.#steps.add(undefined, outcome, seconds);
  }

  webhook(name: string, outcome: Outcome, seconds: number): void {
    this.#webhooks.add(name, outcome, seconds);
  }

  /** What only webhooks and policies have: made when the first of them is met. */
  extensions(make: () => ExtensionStatistics): ExtensionStatistics {
    this.#extensions ??= make();
    return this.#extensions;
  }

  families(): readonly string[] {
    const about = 'identified by name and broken out for each operation and API resource and type (validate or admit).';
    return [
      this.#plugins.family(
        'apiserver_admission_controller_admission_duration_seconds',
        `Admission controller latency histogram in seconds, ${about}`,
      ),
      this.#steps.family(
        'apiserver_admission_step_admission_duration_seconds',
        'Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).',
      ),
      this.#webhooks.family(
        'apiserver_admission_webhook_admission_duration_seconds',
        `Admission webhook latency histogram in seconds, ${about}`,
      ),
      ...(this.#extensions?.families() ?? []),
    ];
  }
}

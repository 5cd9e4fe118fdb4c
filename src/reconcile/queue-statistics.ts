/**
 * What is counted about the work queues of a process, for `/metrics`: names, labels and limits are upstream's. A queue pays an addition for
 * what happens to a key; text is made when somebody asks. Queues of the same name are counted together.
 */
import { counterFamily, gaugeFamily, HistogramCounts, histogramFamily } from '../base/metrics/families.ts';

/** From ten nanoseconds, each ten times the one before: the last digits are those of upstream's multiplication. */
const limits: readonly number[] = [
  1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10,
];

/** What a queue is at the moment. */
export interface CountedQueue {
  /** Keys added and not yet taken. */
  readonly depth: number;
  /** When work on each of its keys began that is not done, on the clock that `QueueStatistics.families` is given. */
  startsOfWork(): Iterable<number>;
}

/** Of the queues of one name. */
export class QueueCounts {
  readonly waiting = new HistogramCounts(limits);
  readonly work = new HistogramCounts(limits);
  readonly #queues = new Set<CountedQueue>();
  #added = 0;
  #retried = 0;

  follow(queue: CountedQueue): void {
    this.#queues.add(queue);
  }

  forget(queue: CountedQueue): void {
    this.#queues.delete(queue);
  }

  added(): void {
    this.#added++;
  }

  /** It will be added after a delay. */
  retried(): void {
    this.#retried++;
  }

  /** From being added to being taken. */
  waited(durationMs: number): void {
    this.waiting.add(durationMs / 1000);
  }

  worked(durationMs: number): void {
    this.work.add(durationMs / 1000);
  }

  figures(nowMs: number): Readonly<Record<'added' | 'retried' | 'depth' | 'unfinished' | 'longest', number>> {
    let [depth, unfinished, longest] = [0, 0, 0];
    for (const queue of this.#queues) {
      depth += queue.depth;
      for (const startMs of queue.startsOfWork()) {
        const seconds = (nowMs - startMs) / 1000;
        unfinished += seconds;
        longest = Math.max(longest, seconds);
      }
    }
    return { added: this.#added, retried: this.#retried, depth, unfinished, longest };
  }
}

export class QueueStatistics {
  readonly #byName = new Map<string, QueueCounts>();

  of(name: string): QueueCounts {
    let counts = this.#byName.get(name);
    if (!counts) {
      counts = new QueueCounts();
      this.#byName.set(name, counts);
    }
    return counts;
  }

  /** `nowMs`: on the monotonic clock that the queues have. */
  families(nowMs: number): string {
    const queues = [...this.#byName].map(([name, counts]) => ({
      labels: { name },
      counts,
      now: counts.figures(nowMs),
    }));
    const each = (figure: keyof (typeof queues)[number]['now']) =>
      queues.map(({ labels, now }) => ({ labels, value: now[figure] }));
    const times = (which: 'waiting' | 'work') =>
      queues.map(({ labels, counts }) => ({ labels, counts: counts[which] }));
    return [
      counterFamily('workqueue_adds_total', 'Total number of adds handled by workqueue', each('added')),
      gaugeFamily('workqueue_depth', 'Current depth of workqueue', each('depth')),
      gaugeFamily(
        'workqueue_longest_running_processor_seconds',
        'How many seconds has the longest running processor for workqueue been running.',
        each('longest'),
      ),
      histogramFamily(
        'workqueue_queue_duration_seconds',
        'How long in seconds an item stays in workqueue before being requested.',
        times('waiting'),
      ),
      counterFamily('workqueue_retries_total', 'Total number of retries handled by workqueue', each('retried')),
      gaugeFamily(
        'workqueue_unfinished_work_seconds',
        "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
        each('unfinished'),
      ),
      histogramFamily(
        'workqueue_work_duration_seconds',
        'How long in seconds processing an item from workqueue takes.',
        times('work'),
      ),
    ].join('');
  }
}

/** A `MemoryApi` with informers, a clock moved by hand and everything else a controller's context needs. */
import { namespaces } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { CauseLedger } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { informerSet } from '../../reconcile/informer-set.ts';
import { QueueStatistics } from '../../reconcile/queue-statistics.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';

export interface RecordedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly about: string;
}

export class MemoryCluster {
  readonly clock = new FakeClock();
  readonly api = new MemoryApi({ clock: this.clock });
  readonly client = this.api.client;
  readonly causes = new CauseLedger(this.clock);
  readonly queues = new QueueStatistics();
  /** Events as they were recorded; they are not written to the API. */
  readonly events: RecordedEvent[] = [];
  /** What controllers logged at warn and error. */
  readonly complaints: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly context: ComponentContext;

  constructor() {
    const { clock, client } = this;
    const random = seededRandom(1);
    const complain = (message: string, fields?: Readonly<Record<string, unknown>>) => {
      this.complaints.push(`${message} ${JSON.stringify(fields ?? {})}`);
    };
    const log = { ...silentLog, warn: complain, error: complain, child: () => log };
    const signal = this.#stop.signal;
    this.context = {
      client,
      clock,
      random,
      log,
      signal,
      informers: informerSet({ client, clock, random, log, signal }),
      causes: this.causes,
      queues: this.queues,
      eventRecorder: () => ({
        record: (object, type, reason, message) => {
          this.events.push({ type, reason, message, about: `${object.kind}/${object.metadata.name}` });
        },
      }),
    };
  }

  /** Runs a controller until the cluster is closed. */
  run(start: (context: ComponentContext) => Promise<void>): void {
    this.#running.push(start(this.context));
  }

  async namespace(name: string): Promise<void> {
    await this.client.create(namespaces, { metadata: { name }, spec: {} });
  }

  /** Lets everything that can happen now happen. */
  async settle(): Promise<void> {
    await settle(40);
    await this.clock.advance(1000);
    await settle(40);
  }

  reasons(about?: string): string[] {
    return this.events.filter((event) => about === undefined || event.about === about).map(({ reason }) => reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the test is over'));
    await settle(5);
    await Promise.all(this.#running);
  }
}

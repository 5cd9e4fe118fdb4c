/**
 * Gathers events and hands them on a batch at a time, so that no request waits for where they go. A batch leaves when it is
 * full or its first event has waited long enough, and no faster than the throttle lets it. What comes while the buffer is full
 * is lost, and told in the log.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { TokenBucket } from '../../reconcile/token-bucket.ts';
import type { AuditEvent } from './event.ts';
import type { AuditSink } from './sink.ts';

export interface BatchingOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Events that wait at most. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  readonly maxWaitMs: number;
  /** Batches a second, and how many at once; absent: as many as there are. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Whether a batch may leave while another is still on its way. */
  readonly concurrent: boolean;
}

export function batchingSink(sink: AuditSink, options: BatchingOptions): AuditSink {
  return new BatchingSink(sink, options);
}

class BatchingSink implements AuditSink {
  readonly #sink: AuditSink;
  readonly #options: BatchingOptions;
  #waiting: AuditEvent[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #timer: Timer | undefined;
  /** The first event of those waiting has waited long enough. */
  #due = false;
  readonly #bucket: TokenBucket | undefined;
  #closing = false;

  constructor(sink: AuditSink, options: BatchingOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#bucket = options.throttle && new TokenBucket(options.clock, options.throttle);
  }

  process(events: readonly AuditEvent[]): boolean {
    const { bufferSize, log } = this.#options;
    const room = this.#closing ? 0 : Math.max(0, bufferSize - this.#waiting.length);
    if (events.length > room) {
      const error = this.#closing ? 'audit backend shut down' : 'audit buffer queue blocked';
      log.error('audit events were lost', { plugin: 'buffered', events: events.length - room, error });
    }
    this.#waiting.push(...events.slice(0, room));
    this.#send();
    return true;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#timer?.cancel();
    while (this.#waiting.length > 0 || this.#underWay.size > 0) {
      while (this.#waiting.length > 0) this.#sendOne();
      await Promise.all(this.#underWay);
    }
    await this.#sink.close();
  }

  #send(): void {
    const { maxBatchSize, concurrent } = this.#options;
    while (this.#waiting.length >= maxBatchSize || (this.#due && this.#waiting.length > 0)) {
      if (!concurrent && this.#underWay.size > 0) return;
      if (this.#bucket && !this.#bucket.tryTake()) return this.#wakeForToken();
      this.#sendOne();
    }
    if (this.#waiting.length > 0 && !this.#timer) {
      this.#timer = this.#options.clock.after(this.#options.maxWaitMs, () => {
        this.#timer = undefined;
        this.#due = true;
        this.#send();
      });
    }
  }

  #sendOne(): void {
    const batch = this.#waiting.splice(0, this.#options.maxBatchSize);
    this.#due = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const sent = Promise.resolve(this.#sink.process(batch)).finally(() => {
      this.#underWay.delete(sent);
      if (!this.#closing) this.#send();
    });
    this.#underWay.add(sent);
  }

  #wakeForToken(): void {
    const { clock, throttle } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(1000 / (throttle?.perSecond ?? 1), () => {
      this.#timer = undefined;
      this.#send();
    });
  }
}

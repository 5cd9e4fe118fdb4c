/** Tells audit events to a webhook; what fails for a reason that may pass is told again, a few times with growing pauses. */
import { messageOf, StatusError } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { jitter, type Random } from '../../base/random.ts';
import type { Webhook } from '../webhook-client/webhook-clients.ts';
import { encodeEvents } from './event.ts';
import type { AuditSink } from './sink.ts';

export interface WebhookSinkOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Before the first repetition; the others follow upstream's backoff. */
  readonly initialBackoffMs: number;
}

const attempts = 5;
const backoffFactor = 1.5;
const backoffJitter = 0.2;

export function webhookSink(webhook: Pick<Webhook, 'tell'>, options: WebhookSinkOptions): AuditSink {
  const { clock, random, log, initialBackoffMs } = options;
  const stopping = new AbortController();
  return {
    async process(events) {
      const json = encodeEvents(events);
      for (let attempt = 1, pauseMs = initialBackoffMs; ; attempt++, pauseMs *= backoffFactor) {
        try {
          await webhook.tell(json);
          return true;
        } catch (error) {
          if (attempt >= attempts || !mayPass(error) || stopping.signal.aborted) {
            log.error('audit events were lost', { plugin: 'webhook', events: events.length, error: messageOf(error) });
            return false;
          }
          await sleep(clock, jitter(random, pauseMs, backoffJitter), stopping.signal).catch(() => undefined);
        }
      }
    },
    async close() {
      stopping.abort();
    },
  };
}

/** Failures of the way there, of the server's own, and of too much at a time. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof StatusError)) return true;
  return error.code >= 500 || error.code === 429;
}

/** Tells audit events to a webhook. Whatever fails is told again, a few times with growing pauses, for a lost event is lost for good. */
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { withBackoff } from '../webhook-client/backoff.ts';
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

export function webhookSink(webhook: Pick<Webhook, 'tell'>, options: WebhookSinkOptions): AuditSink {
  const { clock, random, log, initialBackoffMs: firstPauseMs } = options;
  const stopping = new AbortController();
  const backoff = { clock, random, firstPauseMs, signal: stopping.signal, retries: () => true };
  return {
    async process(events) {
      const json = encodeEvents(events);
      try {
        await withBackoff(() => webhook.tell(json), backoff);
        return true;
      } catch (error) {
        log.error('audit events were lost', { plugin: 'webhook', events: events.length, error: messageOf(error) });
        return false;
      }
    },
    async close() {
      stopping.abort();
    },
  };
}

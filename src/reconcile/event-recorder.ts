/**
 * Writes Events (core/v1, which `kubectl describe` reads) one after the other in the background. What does not get through within
 * upstream's tries, or does not fit into the queue, is dropped: Events are news, not state.
 */

import { type Event, events } from '../api/gen/core-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { dns1123Subdomain } from '../apimachinery/names.ts';
import { isAlreadyExists, isNamespaceTerminating, isNotFound, messageOf, StatusError } from '../apimachinery/status.ts';
import { formatTime } from '../apimachinery/time.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { type CorrelatedEvent, EventCorrelator } from './event-correlator.ts';
import type { EventDetails, EventRecorder } from './events.ts';

export interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who reports, e.g. `replicaset-controller`. */
  readonly component: string;
  /** The node that reports; empty for components of the cluster. */
  readonly host?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const maxTries = 12;
const retryAfterMs = 10_000;
const maxQueued = 1000;

export function eventRecorder(options: EventRecorderOptions): EventRecorder {
  return new QueuedRecorder(options);
}

class QueuedRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #queue: Event[] = [];
  #writing = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#correlator = new EventCorrelator(options.clock);
  }

  record(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    details: EventDetails = {},
  ): void {
    const { log, signal } = this.#options;
    if (signal?.aborted) return;
    if (this.#queue.length >= maxQueued) {
      log.warn('dropping event: too many are waiting', { reason, message });
      return;
    }
    this.#queue.push(this.#eventOf(object, { type, reason, message }, details));
    if (this.#writing) return;
    this.#writing = true;
    void this.#drain();
  }

  #eventOf(object: KubeObject, what: Pick<Event, 'type' | 'reason' | 'message'>, details: EventDetails): Event {
    const { clock, component, host = '' } = this.#options;
    const { namespace, name = '', uid, resourceVersion } = object.metadata;
    const at = formatTime(clock.now());
    const { fieldPath, annotations } = details;
    return {
      metadata: {
        name: this.#nameOf(name),
        // Events about objects without a namespace lie in the default one.
        namespace: namespace || 'default',
        ...(annotations ? { annotations } : {}),
      },
      involvedObject: {
        kind: object.kind,
        namespace,
        name,
        uid,
        apiVersion: object.apiVersion,
        resourceVersion,
        ...(fieldPath ? { fieldPath } : {}),
      },
      reason: what.reason,
      message: what.message,
      source: { component, ...(host ? { host } : {}) },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
      type: what.type,
      reportingComponent: component,
      reportingInstance: host,
    };
  }

  /** `web.17c3a2b1d4e5f607`: the time in nanoseconds, its last digits by chance, for clocks are not that fine. */
  #nameOf(objectName: string): string {
    const { clock, random } = this.#options;
    const nanos = BigInt(Math.floor(clock.now())) * 1_000_000n + BigInt(Math.floor(random.next() * 1_000_000));
    const name = `${objectName}.${nanos.toString(16)}`;
    return dns1123Subdomain(name).length === 0 ? name : random.uuid();
  }

  async #drain(): Promise<void> {
    const { signal } = this.#options;
    for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
      if (signal?.aborted) break;
      const correlated = this.#correlator.correlate(event);
      if (correlated) await this.#write(correlated);
    }
    this.#writing = false;
  }

  async #write(correlated: CorrelatedEvent): Promise<void> {
    const { clock, random, log, signal } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#send(correlated);
      } catch (error) {
        if (signal?.aborted) return;
        const fields = { reason: correlated.event.reason, message: correlated.event.message, error: messageOf(error) };
        if (isAlreadyExists(error) || isNamespaceTerminating(error)) {
          return log.debug('server rejected event', fields);
        }
        if (error instanceof StatusError) return log.warn('server rejected event, will not retry', fields);
        if (tries >= maxTries) return log.warn('dropping event after too many tries', fields);
        // All components lose their server at the same moment: the first wait spreads them.
        const delayMs = tries === 1 ? retryAfterMs * random.next() : retryAfterMs;
        await sleep(clock, delayMs, signal).catch(() => {});
      }
    }
  }

  async #send({ event, repeated }: CorrelatedEvent): Promise<void> {
    const { client, signal } = this.#options;
    if (repeated) {
      const { namespace, name = '' } = event.metadata;
      const { count, firstTimestamp, lastTimestamp, message } = event;
      const body = { count, firstTimestamp, lastTimestamp, message };
      try {
        await client.patch(events, { namespace, name }, { type: 'strategic', body }, { signal });
        return;
      } catch (error) {
        // It has outlived its time in the server; it begins anew.
        if (!isNotFound(error)) throw error;
      }
    }
    await client.create(events, event, { signal });
  }
}

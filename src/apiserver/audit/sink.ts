/**
 * Where audit events go. A sink takes them in the order in which it is given them; whether it may lose some is its mode's to say. Sinks
 * are put together: a log or a webhook at the end, in front of it what bounds the size of events, what gathers them into batches, and
 * what decides whether a failure is the request's too.
 */
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import { type AuditEvent, encodeEvent, legacyLine } from './event.ts';

export interface AuditSink {
  /** False when an event was lost for good. Never rejects. */
  process(events: readonly AuditEvent[]): boolean | Promise<boolean>;
  /** Tells what is still waiting, then ends. */
  close(): Promise<void>;
}

export type LogFormat = 'json' | 'legacy';

/** Takes whole lines; throws when they cannot be written. */
export interface LineWriter {
  write(text: string): void;
  close(): void;
}

export function logSink(
  writer: LineWriter,
  { format, log }: { readonly format: LogFormat; readonly log: Log },
): AuditSink {
  const encode = format === 'legacy' ? legacyLine : encodeEvent;
  return {
    process(events) {
      try {
        writer.write(events.map((event) => `${encode(event)}\n`).join(''));
        return true;
      } catch (error) {
        log.error('audit events were lost', { plugin: 'log', events: events.length, error: messageOf(error) });
        return false;
      }
    },
    async close() {
      writer.close();
    },
  };
}

/** Every event to each of them; false when any has lost one. */
export function unionSink(sinks: readonly AuditSink[]): AuditSink {
  return {
    async process(events) {
      const told = await Promise.all(sinks.map((sink) => sink.process(events)));
      return told.every(Boolean);
    },
    async close() {
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}

/** Requests go on whatever becomes of their events: the mode `blocking`, as against `blocking-strict`. */
export function lenientSink(sink: AuditSink): AuditSink {
  return {
    async process(events) {
      await sink.process(events);
      return true;
    },
    close: () => sink.close(),
  };
}

export interface TruncationOptions {
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
  readonly log: Log;
}

/** Takes objects out of events that are too large, and splits batches that are. */
export function truncatingSink(sink: AuditSink, { maxEventBytes, maxBatchBytes, log }: TruncationOptions): AuditSink {
  return {
    async process(events) {
      let told = true;
      let batch: AuditEvent[] = [];
      let batchBytes = 0;
      for (const original of events) {
        const event = fitting(original, maxEventBytes);
        const bytes = sizeOf(event);
        if (bytes > maxEventBytes) {
          const error = 'event is too large even after truncating';
          log.error('audit events were lost', { plugin: 'truncate', events: 1, error });
          continue;
        }
        if (batch.length > 0 && batchBytes + bytes > maxBatchBytes) {
          told = (await sink.process(batch)) && told;
          batch = [];
          batchBytes = 0;
        }
        batch.push(event);
        batchBytes += bytes;
      }
      return batch.length > 0 ? (await sink.process(batch)) && told : told;
    },
    close: () => sink.close(),
  };
}

function fitting(event: AuditEvent, maxBytes: number): AuditEvent {
  if (sizeOf(event) <= maxBytes) return event;
  const annotations = { ...event.annotations, 'audit.k8s.io/truncated': 'true' };
  return { ...event, requestObject: undefined, responseObject: undefined, annotations };
}

function sizeOf(event: AuditEvent): number {
  return Buffer.byteLength(encodeEvent(event)) + 1;
}

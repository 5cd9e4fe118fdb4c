/**
 * Events are kept as `v1` and served as `events.k8s.io/v1` too: the same facts under other names. Nothing is lost in either
 * direction.
 */
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { Conversion } from '../conversion.ts';
import type { Event as CoreEvent } from '../gen/core-v1.ts';
import type { Event } from '../gen/events-v1.ts';

export const eventConversion: Conversion = {
  identity: false,
  toHub: (object) => withoutUnset(toCore(object as Draft<Event>)),
  fromHub: (object) => withoutUnset(fromCore(object as CoreEvent)),
};

function toCore(event: Draft<Event>): Draft<CoreEvent> {
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: event.metadata,
    involvedObject: event.regarding ?? {},
    reason: event.reason,
    message: event.note,
    source: event.deprecatedSource ?? {},
    firstTimestamp: event.deprecatedFirstTimestamp,
    lastTimestamp: event.deprecatedLastTimestamp,
    count: event.deprecatedCount,
    type: event.type,
    eventTime: event.eventTime,
    series: event.series,
    action: event.action,
    related: event.related,
    reportingComponent: event.reportingController ?? '',
    reportingInstance: event.reportingInstance ?? '',
  };
}

function fromCore(event: CoreEvent): Event {
  return {
    kind: 'Event',
    apiVersion: 'events.k8s.io/v1',
    metadata: event.metadata,
    // A time that is not set is null on the wire, and the type has no word for that.
    eventTime: event.eventTime ?? (null as unknown as string),
    series: event.series && { count: event.series.count ?? 0, lastObservedTime: event.series.lastObservedTime ?? '' },
    reportingController: event.reportingComponent,
    reportingInstance: event.reportingInstance,
    action: event.action,
    reason: event.reason,
    regarding: event.involvedObject,
    related: event.related,
    note: event.message,
    type: event.type,
    deprecatedSource: event.source,
    deprecatedFirstTimestamp: event.firstTimestamp,
    deprecatedLastTimestamp: event.lastTimestamp,
    deprecatedCount: event.count,
  };
}

function withoutUnset<T extends Draft<KubeObject> | KubeObject>(object: T): T {
  for (const key of Object.keys(object) as (keyof T)[]) if (object[key] === undefined) delete object[key];
  return object;
}

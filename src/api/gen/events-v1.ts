/** Types of events/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as coreV1 from './core-v1.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface Event {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly eventTime: string;
  readonly series?: EventSeries | undefined;
  readonly reportingController?: string | undefined;
  readonly reportingInstance?: string | undefined;
  readonly action?: string | undefined;
  readonly reason?: string | undefined;
  readonly regarding?: coreV1.ObjectReference | undefined;
  readonly related?: coreV1.ObjectReference | undefined;
  readonly note?: string | undefined;
  readonly type?: string | undefined;
  readonly deprecatedSource?: coreV1.EventSource | undefined;
  readonly deprecatedFirstTimestamp?: string | undefined;
  readonly deprecatedLastTimestamp?: string | undefined;
  readonly deprecatedCount?: number | undefined;
}

export interface EventList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly Event[];
}

export interface EventSeries {
  readonly count: number;
  readonly lastObservedTime: string;
}

export const events: ResourceType<Event> = {
  group: 'events.k8s.io',
  version: 'v1',
  resource: 'events',
  kind: 'Event',
  namespaced: true,
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};

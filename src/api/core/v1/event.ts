/** Events: what happened to an object, for people to read; they vanish after a while. */
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { byteLength, dns1123Subdomain } from '../../../apimachinery/names.ts';
import { nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type Event, events, type ObjectReference } from '../../gen/core-v1.ts';
import { age } from '../../human-duration.ts';
import type { KindBehaviour, ValidationContext } from '../../kind.ts';
import { refused, shown, validateImmutable, validateQualifiedName } from '../../validation.ts';

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

export const eventBehaviour: KindBehaviour<Event> = {
  resource: events,
  defaults(event) {
    partOf(event, 'involvedObject');
  },
  allowCreateOnUpdate: true,
  ttlSeconds: 60 * 60,
  validate,
  validateUpdate,
  columns: [
    text('Last Seen', lastSeen),
    text('Type', ({ type }) => type ?? ''),
    text('Reason', ({ reason }) => reason ?? ''),
    text('Object', objectText),
    text('Subobject', ({ involvedObject }) => involvedObject.fieldPath ?? '', { wide: true }),
    text('Source', sourceText, { wide: true }),
    text('Message', ({ message }) => (message ?? '').trim()),
    text('First Seen', firstSeen, { wide: true }),
    text('Count', ({ series, count }) => series?.count ?? (count || 1), { wide: true }),
    { ...nameColumn, priority: 1 },
  ],
};

/** In this version clients write Events of the newer form and no others. */
const strictVersion = 'events.k8s.io/v1';

function validate(event: Event, context?: ValidationContext): FieldError[] {
  const errors = validateAnyForm(event, context);
  return context?.apiVersion === strictVersion ? [...errors, ...validateStrictly(event)] : errors;
}

function validateUpdate(event: Event, previous: Event, context?: ValidationContext): FieldError[] {
  const errors = validateAnyForm(event, context);
  return context?.apiVersion === strictVersion ? [...errors, ...validateChange(event, previous)] : errors;
}

/** What only `deprecated` fields of the strict version hold is named as the stored version names it. */
function validateStrictly(event: Event): FieldError[] {
  const { type = '', source } = event;
  const errors = validateSeries(event);
  if (!event.eventTime) errors.push(required(path('eventTime')));
  if (type !== 'Normal' && type !== 'Warning') {
    errors.push(invalid(path('type'), '', `has invalid value: ${type}`));
  }
  const unset = {
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: source?.component || source?.host,
  };
  for (const [field, value] of Object.entries(unset)) {
    if (value) errors.push(invalid(path(field), '', 'needs to be unset'));
  }
  return errors;
}

function validateSeries({ series }: Event): FieldError[] {
  if (!series) return [];
  const errors: FieldError[] = [];
  // As upstream, for which it is one name with a point in it.
  if ((series.count ?? 0) < 2) errors.push(invalid(path('series.count'), '', 'should be at least 2'));
  if (!series.lastObservedTime) errors.push(required(path('series.lastObservedTime')));
  return errors;
}

/** All but the series and the metadata stays. */
function validateChange(event: Event, previous: Event): FieldError[] {
  const before = immutableFields(previous);
  const stays = Object.entries(immutableFields(event)).flatMap(([field, value]) =>
    validateImmutable(path(field), value, before[field]),
  );
  return semanticallyEqual(event.series, previous.series) ? stays : [...validateSeries(event), ...stays];
}

/** By their names in errors, as upstream shows them. */
function immutableFields(event: Event): Readonly<Record<string, unknown>> {
  const { source, related } = event;
  return {
    involvedObject: shownReference(event.involvedObject),
    reason: event.reason ?? '',
    message: event.message ?? '',
    source: shown({ Component: source?.component ?? '', Host: source?.host ?? '' }),
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count ?? 0,
    type: event.type ?? '',
    eventTime: event.eventTime ?? null,
    action: event.action ?? '',
    related: related && shownReference(related),
    reportingController: event.reportingComponent ?? '',
    reportingInstance: event.reportingInstance ?? '',
  };
}

function shownReference(reference: ObjectReference): unknown {
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = reference;
  return shown({
    Kind: kind ?? '',
    Namespace: namespace ?? '',
    Name: name ?? '',
    UID: uid ?? '',
    APIVersion: apiVersion ?? '',
    ResourceVersion: resourceVersion ?? '',
    FieldPath: fieldPath ?? '',
  });
}

/** Events of the newer form are known by their `eventTime`; the rules for them are stricter. */
function validateAnyForm(event: Event, context: ValidationContext | undefined): FieldError[] {
  const { metadata, involvedObject, eventTime } = event;
  const namespace = metadata.namespace ?? '';
  const about = involvedObject.namespace ?? '';
  const homes = eventTime ? ['default', 'kube-system'] : ['', 'default'];
  const fits = about === '' ? homes.includes(namespace) : eventTime != null || namespace === about;
  const errors: FieldError[] = [];
  if (!fits) errors.push(invalid(path('involvedObject', 'namespace'), about, 'does not match event.namespace'));
  if (eventTime) errors.push(...validateNewForm(event, context));
  return [...errors, ...refused(path('namespace'), namespace, dns1123Subdomain(namespace))];
}

function validateNewForm(event: Event, context: ValidationContext | undefined): FieldError[] {
  const controllerAt = path(context?.apiVersion === strictVersion ? 'reportingController' : 'reportingComponent');
  const controller = event.reportingComponent ?? '';
  return [
    ...(controller ? [] : [required(controllerAt)]),
    ...validateQualifiedName(controllerAt, controller),
    ...(['reportingInstance', 'action', 'reason', 'message'] as const).flatMap((field) =>
      validateLength(path(field), event[field] ?? '', longest[field], field !== 'message'),
    ),
  ];
}

function validateLength(at: FieldPath, value: string, most: number, needed: boolean): FieldError[] {
  const errors = value === '' && needed ? [required(at)] : [];
  return byteLength(value) > most ? [...errors, invalid(at, '', `can have at most ${most} characters`)] : errors;
}

function firstSeen({ firstTimestamp, eventTime }: Event, nowMs: number): string {
  return age(firstTimestamp ?? eventTime, nowMs);
}

function lastSeen(event: Event, nowMs: number): string {
  if (event.series) return age(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp ? age(event.lastTimestamp, nowMs) : firstSeen(event, nowMs);
}

function objectText({ involvedObject: { kind, name } }: Event): string {
  const word = (kind ?? '').toLowerCase();
  return name ? `${word}/${name}` : word;
}

function sourceText({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || reportingComponent || '';
  const host = source?.host || reportingInstance || '';
  return host ? `${component}, ${host}` : component;
}

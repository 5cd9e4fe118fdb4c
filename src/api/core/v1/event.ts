/** Events: what happened to an object, for people to read; they vanish after a while. */
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { byteLength, dns1123Subdomain } from '../../../apimachinery/names.ts';
import { nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type Event, events } from '../../gen/core-v1.ts';
import { age } from '../../human-duration.ts';
import type { KindBehaviour } from '../../kind.ts';
import { refused, validateQualifiedName } from '../../validation.ts';

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

export const eventBehaviour: KindBehaviour<Event> = {
  resource: events,
  defaults(event) {
    partOf(event, 'involvedObject');
  },
  allowCreateOnUpdate: true,
  ttlSeconds: 60 * 60,
  validate,
  validateUpdate: validate,
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

/** Events of the newer form are known by their `eventTime`; the rules for them are stricter. */
function validate(event: Event): FieldError[] {
  const { metadata, involvedObject, eventTime } = event;
  const namespace = metadata.namespace ?? '';
  const about = involvedObject.namespace ?? '';
  const homes = eventTime ? ['default', 'kube-system'] : ['', 'default'];
  const fits = about === '' ? homes.includes(namespace) : eventTime != null || namespace === about;
  const errors: FieldError[] = [];
  if (!fits) errors.push(invalid(path('involvedObject', 'namespace'), about, 'does not match event.namespace'));
  if (eventTime) errors.push(...validateNewForm(event));
  return [...errors, ...refused(path('namespace'), namespace, dns1123Subdomain(namespace))];
}

function validateNewForm(event: Event): FieldError[] {
  const controllerAt = path('reportingComponent');
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

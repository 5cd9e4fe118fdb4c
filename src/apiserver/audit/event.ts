/**
 * What is told of one stage of one request: an `Event` of `audit.k8s.io/v1`, its fields in the order in which they are written. Objects
 * of requests and answers stand in it as JSON texts already made, so that a large one is encoded once and never parsed again.
 */
import type { Status } from '../../apimachinery/status.ts';

/** Each tells all that those before it tell. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

export interface AuditUser {
  readonly username?: string | undefined;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface AuditObjectReference {
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly apiGroup?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly subresource?: string | undefined;
}

export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser | undefined;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string } | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly objectRef?: AuditObjectReference | undefined;
  readonly responseStatus?: Partial<Status> | undefined;
  /** JSON texts. */
  readonly requestObject?: string | undefined;
  readonly responseObject?: string | undefined;
  /** RFC 3339 with microseconds. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The JSON of an event, in one line without its end. */
export function encodeEvent(event: AuditEvent): string {
  return `{"kind":"Event","apiVersion":"audit.k8s.io/v1",${fieldsOf(event)}}`;
}

/** The JSON of many, as a webhook gets them. */
export function encodeEvents(events: readonly AuditEvent[]): string {
  const items = events.map((event) => `{${fieldsOf(event)}}`).join(',');
  return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`;
}

function fieldsOf(event: AuditEvent): string {
  const { requestObject, responseObject, requestReceivedTimestamp, stageTimestamp, annotations, ...head } = event;
  const parts = [
    JSON.stringify({ ...head, userAgent: head.userAgent || undefined }).slice(1, -1),
    ...(requestObject === undefined ? [] : [`"requestObject":${requestObject}`]),
    ...(responseObject === undefined ? [] : [`"responseObject":${responseObject}`]),
    JSON.stringify({ requestReceivedTimestamp, stageTimestamp, annotations }).slice(1, -1),
  ];
  return parts.join(',');
}

/** One line of the legacy format. */
export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, responseStatus } = event;
  const none = '<none>';
  const values = {
    id: quote(event.auditID),
    stage: quote(event.stage),
    ip: quote(event.sourceIPs[0] ?? '<unknown>'),
    method: quote(event.verb),
    user: quote(user.username || none),
    groups: quote(user.username && user.groups?.length ? quoteAll(user.groups) : none),
    as: quote(impersonatedUser ? (impersonatedUser.username ?? '') : '<self>'),
    asgroups: quote(impersonatedUser?.groups ? quoteAll(impersonatedUser.groups) : '<lookup>'),
    'user-agent': quote(event.userAgent),
    namespace: quote(objectRef?.namespace || none),
    uri: quote(event.requestURI),
    response: `"${responseStatus ? (responseStatus.code ?? 0) : '<deferred>'}"`,
  };
  const fields = Object.entries(values).map(([key, value]) => `${key}=${value}`);
  return `${event.requestReceivedTimestamp} AUDIT: ${fields.join(' ')}`;
}

function quoteAll(texts: readonly string[]): string {
  return texts.map(quote).join(',');
}

function quote(text: string): string {
  return JSON.stringify(text);
}

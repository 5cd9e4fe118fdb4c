/**
 * The trail of one request: what is known of it, gathered while it is served, and told stage by stage. Registry and admission add to it
 * what they alone know; the pipeline opens and ends it. Costs nothing where the policy does not ask for the request.
 */
import { jsonText, parseJson } from '../../apimachinery/exact-json.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { internalError, type Status } from '../../apimachinery/status.ts';
import { formatMicroTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { ApiRequest, RequestInfo, UserInfo } from '../request.ts';
import type { AuditTrail } from './audit-trail.ts';
import {
  type AuditEvent,
  type AuditLevel,
  type AuditObjectReference,
  type AuditStage,
  type AuditUser,
  auditLevels,
} from './event.ts';
import type { AuditScope } from './policy.ts';
import type { AuditSink } from './sink.ts';
import { withoutManagedFields } from './without-managed-fields.ts';

export interface TrailParts {
  readonly auditID: string;
  readonly scope: AuditScope;
  readonly sink: AuditSink;
  readonly clock: Clock;
  readonly receivedAtMs: number;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
}

const longestUserAgent = 1024;

export class RequestTrail implements AuditTrail {
  readonly #parts: TrailParts;
  readonly #annotations: Record<string, string> = {};
  #impersonatedUser: AuditUser | undefined;
  #authenticationMetadata: AuditEvent['authenticationMetadata'];
  #objectRef: AuditObjectReference | undefined;
  #requestObject: string | undefined;
  #responseStatus: Partial<Status> | undefined;
  #responseObject: string | undefined;

  constructor(parts: TrailParts) {
    this.#parts = parts;
    this.#objectRef = referenceOf(parts.info);
  }

  get tellsRequest(): boolean {
    return this.#tells('Request');
  }

  get tellsResponse(): boolean {
    return this.#tells('RequestResponse');
  }

  impersonated(user: UserInfo, constraint = ''): void {
    this.#impersonatedUser = userOf(user);
    if (constraint !== '') this.#authenticationMetadata = { impersonationConstraint: constraint };
  }

  requestObject(object: unknown): void {
    const { metadata } = (object ?? {}) as Partial<KubeObject>;
    const { namespace, name, uid, resourceVersion, ...rest } = this.#objectRef ?? {};
    this.#objectRef = {
      ...rest,
      namespace: namespace || metadata?.namespace,
      name: name || metadata?.name,
      uid: uid || metadata?.uid,
      resourceVersion: resourceVersion || metadata?.resourceVersion,
    };
    if (this.tellsRequest) this.#requestObject = jsonText(this.#shown(object));
  }

  requestPatch(text: string): void {
    if (this.tellsRequest) this.#requestObject = oneLine(text);
  }

  annotate(key: string, value: string, level: AuditLevel = 'Metadata'): void {
    // What was said first stays, as upstream.
    if (this.#tells(level) && !Object.hasOwn(this.#annotations, key)) this.#annotations[key] = value;
  }

  responded(code: number, failure?: Status): void {
    const { status, message, reason, details } = failure ?? {};
    this.#responseStatus = { metadata: {}, status, message, reason, details, code };
  }

  responseObject(object: unknown): void {
    this.#responseObject = jsonText(this.#shown(object));
  }

  /** The same from a JSON text. */
  responseText(text: string): void {
    if (this.#parts.scope.omitManagedFields) this.responseObject(JSON.parse(text));
    else this.#responseObject = oneLine(text.trimEnd());
  }

  /** Rejects with 500 when a sink that must not miss anything has missed the request. */
  async tell(stage: AuditStage): Promise<void> {
    const { scope, sink } = this.#parts;
    if (scope.omitStages.has(stage)) return;
    const told = await sink.process([this.#event(stage)]);
    if (!told && stage === 'RequestReceived') throw internalError('failed to store audit event');
  }

  #event(stage: AuditStage): AuditEvent {
    const { auditID, scope, request, info, user, clock, receivedAtMs } = this.#parts;
    const { 'user-agent': userAgent = '' } = request.headers;
    return {
      level: scope.level,
      auditID,
      stage,
      requestURI: requestUri(request),
      verb: info.verb,
      user: userOf(user),
      impersonatedUser: this.#impersonatedUser,
      authenticationMetadata: this.#authenticationMetadata,
      sourceIPs: sourceIps(request),
      userAgent:
        userAgent.length > longestUserAgent ? `${userAgent.slice(0, longestUserAgent)}...TRUNCATED` : userAgent,
      objectRef: this.#objectRef,
      responseStatus: this.#responseStatus,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      requestReceivedTimestamp: formatMicroTime(receivedAtMs),
      stageTimestamp: formatMicroTime(stage === 'RequestReceived' ? receivedAtMs : clock.now()),
      annotations: Object.keys(this.#annotations).length > 0 ? { ...this.#annotations } : undefined,
    };
  }

  #tells(level: AuditLevel): boolean {
    return auditLevels.indexOf(this.#parts.scope.level) >= auditLevels.indexOf(level);
  }

  #shown(object: unknown): unknown {
    return this.#parts.scope.omitManagedFields ? withoutManagedFields(object) : object;
  }
}

/** An event is a line. What is no JSON at all stands in it as a string. */
function oneLine(json: string): string {
  try {
    return json.includes('\n') || !json.startsWith('{') ? jsonText(parseJson(json)) : json;
  } catch {
    return JSON.stringify(json);
  }
}

function referenceOf(info: RequestInfo): AuditObjectReference | undefined {
  if (!info.isResource) return undefined;
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    namespace: namespace || undefined,
    name: name || undefined,
    uid: undefined,
    apiGroup: group || undefined,
    apiVersion: version,
    resourceVersion: undefined,
    subresource: subresource || undefined,
  };
}

function userOf({ name, uid, groups, extra }: UserInfo): AuditUser {
  const extras = extra && Object.keys(extra).length > 0 ? extra : undefined;
  return { username: name || undefined, uid: uid || undefined, groups, extra: extras };
}

/** Where the request came from: what proxies say, nearest to the client first, and who is connected. */
function sourceIps({ headers, remoteAddress }: ApiRequest): readonly string[] {
  const forwarded = (headers['x-forwarded-for'] ?? '').split(',').map((text) => text.trim());
  const all = [...forwarded, headers['x-real-ip'] ?? '', remoteAddress.replace(/^::ffff:/, '')];
  return [...new Set(all.filter((text) => text !== ''))];
}

function requestUri({ path, query }: ApiRequest): string {
  const search = query.toString();
  return search === '' ? encodeURI(path) : `${encodeURI(path)}?${search}`;
}

/**
 * The stages of a request: what it means, whether there is time for it, who asks, whether there is room for it, whether they may, and
 * the handler at the end. The order is upstream's. Whatever is thrown on the way becomes a Status here and nowhere else.
 */

import { isUnauthorized } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Auditor, KnownRequest } from './audit/auditor.ts';
import type { AuthenticationResult } from './authentication/authenticator.ts';
import type { Impersonation } from './authentication/impersonation.ts';
import { asksImpersonation, withoutImpersonation } from './authentication/impersonation-headers.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { AccessRefusal } from './authorization/forbidden.ts';
import { warningHeader } from './encoding/replies.ts';
import type { YamlThread } from './encoding/yaml-thread.ts';
import { failureResponse, UndecidedError } from './failure.ts';
import { type FlowControl, isLongRunning } from './flow-control/flow-control.ts';
import type { IdentityStatistics } from './metrics/identity-statistics.ts';
import type { ObservedRequest, RequestObserver } from './metrics/request-observer.ts';
import { notFoundAt, notFoundPage } from './pages.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UserInfo } from './request.ts';
import { parseRequestInfo } from './request-info.ts';
import type { RequestTime } from './request-time.ts';
import type { ServedResources } from './resources.ts';
import type { Shutdown } from './shutdown.ts';

export interface PipelineOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resources: ServedResources;
  readonly flowControl: () => FlowControl;
  readonly observer: RequestObserver;
  readonly time: RequestTime;
  readonly shutdown: Shutdown;
  readonly yamlThread: YamlThread;
  /** Rejects with 401. */
  authenticate(request: ApiRequest): Promise<AuthenticationResult>;
  readonly authorizer: () => Authorizer;
  readonly impersonate: Impersonation['of'];
  readonly identity: IdentityStatistics;
  /** Absent: nothing is audited. */
  readonly auditor?: Auditor | undefined;
  /** Whoever serves this path in this server's stead; undefined: nobody. */
  remoteHandler(path: string): Handler | undefined;
  readonly resourceHandler: Handler;
  /** Whoever serves a path that is no resource; undefined: nobody. */
  pathHandler(path: string): Handler | undefined;
}

/** Never rejects. */
export function createPipeline(options: PipelineOptions): (request: ApiRequest) => Promise<ApiResponse> {
  const { log, observer } = options;
  return async (request) => {
    let info: RequestInfo | undefined;
    const observed = observer.begin(request);
    const inProcess = request.user !== undefined;
    const auditID = inProcess && !options.auditor ? '' : request.headers['audit-id'] || options.random.uuid();
    let response: ApiResponse;
    try {
      info = parseRequestInfo(request.method, request.path, request.query);
      const receivedAtMs = options.clock.now();
      response = await serve(options, { request, info, auditID, receivedAtMs, inProcess, observed });
    } catch (error) {
      response = failureResponse(error, request, log);
    }
    return observed.end(info, inProcess ? response : withHeaders(response, { 'audit-id': auditID }));
  };
}

interface Serving extends Omit<KnownRequest, 'user'> {
  /** From a component of this process, which has said who it is. */
  readonly inProcess: boolean;
  readonly observed: ObservedRequest;
}

function serve(options: PipelineOptions, serving: Serving): Promise<ApiResponse> | ApiResponse {
  const { time, shutdown } = options;
  const { request, info } = serving;
  const longRunning = isLongRunning(info);
  serving.observed.known(info, longRunning);
  const refusal = shutdown.refusalOf(request);
  if (refusal) return refusal;
  if (longRunning) return answer(options, serving, time.waitLimitOf());
  const limitMs = time.limitOf(request);
  const ended = shutdown.enter();
  const expired = () => serving.observed.terminated(info, 504);
  return time.within(request, { limitMs, ended, expired }, answer(options, serving, time.waitLimitOf(limitMs)));
}

/** Who asks is settled first, then what the audit log tells of it; from then on whatever happens is told, failures too. */
async function answer(options: PipelineOptions, serving: Serving, waitLimitMs: number): Promise<ApiResponse> {
  const { auditor, log } = options;
  const { request, info } = serving;
  const known: AuthenticationResult = request.user ? { user: request.user } : await authenticated(options, serving);
  const { user, annotations = {}, warnings = [] } = known;
  const trail = await auditor?.begin({ ...serving, user });
  for (const [key, value] of Object.entries(annotations)) trail?.annotate(key, value);
  // The request is the pipeline's own until it is answered.
  Object.assign(request, { user, audit: trail, auditID: serving.auditID, yamlThread: options.yamlThread });
  const admitting = admit(options, serving, { user, waitLimitMs });
  const admitted = warnings.length === 0 ? admitting : admitting.then((response) => withWarnings(response, warnings));
  if (!auditor || !trail) return admitted;
  const response = await admitted.catch((error: unknown) => failureResponse(error, request, log));
  return auditor.finish({ trail, request, longRunning: isLongRunning(info) }, response);
}

/** Rejects with 401. */
async function authenticated(options: PipelineOptions, serving: Serving): Promise<AuthenticationResult> {
  const { authenticate, auditor, identity, clock, log } = options;
  const startMs = clock.monotonic();
  let result = 'failure';
  try {
    const known = await authenticate(serving.request);
    result = 'success';
    identity.users.add({ username: compressedName(known.user.name) });
    return known;
  } catch (error) {
    if (!isUnauthorized(error) || error.cause !== undefined) result = 'error';
    if (auditor) await auditor.refused(serving, failureResponse(error, serving.request, log).status);
    throw error;
  } finally {
    identity.authentication.add({ result }, clock.monotonic() - startMs);
  }
}

/** So that the series of all users stay few. */
function compressedName(name: string): string {
  if (wellKnownUsers.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}

const wellKnownUsers: ReadonlySet<string> = new Set([
  'admin',
  'client',
  'kube_proxy',
  'kubelet',
  'system:serviceaccount:kube-system:default',
]);

/** As whom, whether there is room, whether they may; then the handler. */
async function admit(
  options: PipelineOptions,
  { request, info, observed, inProcess }: Serving,
  known: { readonly user: UserInfo; readonly waitLimitMs: number },
): Promise<ApiResponse> {
  const { flowControl } = options;
  let { user } = known;
  if (!inProcess && asksImpersonation(request)) {
    const impersonated = await options.impersonate(request, info, user);
    if (impersonated) {
      user = impersonated.user;
      request.audit?.impersonated(user, impersonated.constraint);
      Object.assign(request, { user, headers: withoutImpersonation(request.headers) });
    }
  }
  const entering = flowControl().enter(request, info, known.waitLimitMs);
  const entry = entering instanceof Promise ? await entering : entering;
  if ('refusal' in entry) {
    observed.terminated(info, entry.refusal.status);
    return entry.refusal;
  }
  let response: ApiResponse;
  try {
    await authorize(options, { user, info, request });
    response = await handlerOf(options, info)(request, info);
    if (response.body.kind === 'stream' && !isLongRunning(info)) {
      // A long list occupies its seats until it is written.
      const chunks = options.time.held(response.body.chunks, request, entry.release);
      response = { ...response, body: { ...response.body, chunks } };
    } else entry.release();
  } catch (error) {
    entry.release();
    response = failureResponse(error, request, options.log);
  }
  return entry.headers ? withHeaders(response, entry.headers) : response;
}

function withWarnings(response: ApiResponse, warnings: readonly string[]): ApiResponse {
  const { warning } = response.headers;
  const added = warningHeader(warnings).warning ?? '';
  return withHeaders(response, { warning: warning ? `${added}, ${warning}` : added });
}

function withHeaders(response: ApiResponse, headers: ApiResponse['headers']): ApiResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** Rejects with 403, or with a response where somebody who should have decided could not. */
async function authorize(
  { authorizer, identity, clock }: PipelineOptions,
  { user, info, request }: { readonly user: UserInfo; readonly info: RequestInfo; readonly request: ApiRequest },
): Promise<void> {
  const attributes = { user, info };
  const startMs = clock.monotonic();
  const pending = authorizer().authorize(attributes);
  const answer = pending instanceof Promise ? await pending : pending;
  const { decision, error } = answer;
  const result = decision === 'allow' ? 'allowed' : error ? 'error' : decision === 'deny' ? 'denied' : decision;
  identity.authorization.add({ result }, clock.monotonic() - startMs);
  if (decision !== 'allow' && error) {
    request.audit?.annotate('authorization.k8s.io/reason', 'internal error');
    throw new UndecidedError(request, error);
  }
  request.audit?.annotate('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
  request.audit?.annotate('authorization.k8s.io/reason', answer.reason);
  if (decision !== 'allow') throw new AccessRefusal(attributes, answer.reason);
}

function handlerOf(options: PipelineOptions, info: RequestInfo): Handler {
  const { resources, resourceHandler, pathHandler } = options;
  if (info.path.startsWith('//')) return notFoundPage;
  const remote = options.remoteHandler(info.path);
  if (remote) return remote;
  if (info.isResource && resources.hasVersion(info.group, info.version)) return resourceHandler;
  return pathHandler(info.path) ?? notFoundAt(resources, info.path);
}

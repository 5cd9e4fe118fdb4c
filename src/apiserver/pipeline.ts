/**
 * The stages of a request: what it means, who asks, whether there is room for it, whether they may, and the handler at the end. The
 * order is upstream's. Whatever is thrown on the way becomes a Status here and nowhere else.
 */

import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Auditor, KnownRequest } from './audit/auditor.ts';
import type { AuthenticationResult } from './authentication/authenticator.ts';
import { asksImpersonation, impersonatedUser } from './authentication/impersonation.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { forbiddenError } from './authorization/forbidden.ts';
import { failureResponse } from './failure.ts';
import { type FlowControl, isLongRunning } from './flow-control.ts';
import type { RequestObserver } from './metrics/request-observer.ts';
import { notFoundPage } from './pages.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UserInfo } from './request.ts';
import { parseRequestInfo } from './request-info.ts';
import type { ServedResources } from './resources.ts';

export interface PipelineOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resources: ServedResources;
  readonly flowControl: FlowControl;
  readonly observer: RequestObserver;
  /** Rejects with 401. */
  authenticate(request: ApiRequest): Promise<AuthenticationResult>;
  readonly authorizer: () => Authorizer;
  /** Absent: nothing is audited. */
  readonly auditor?: Auditor | undefined;
  readonly resourceHandler: Handler;
  /** Whoever serves a path that is no resource; undefined: nobody. */
  pathHandler(path: string): Handler | undefined;
}

/** Never rejects. */
export function createPipeline(options: PipelineOptions): (request: ApiRequest) => Promise<ApiResponse> {
  const { log, observer } = options;
  return async (request) => {
    let info: RequestInfo | undefined;
    const observed = observer.begin();
    const inProcess = request.user !== undefined;
    const auditID = inProcess && !options.auditor ? '' : request.headers['audit-id'] || options.random.uuid();
    let response: ApiResponse;
    try {
      info = parseRequestInfo(request.method, request.path, request.query);
      response = await answer(options, { request, info, auditID, receivedAtMs: options.clock.now(), inProcess });
    } catch (error) {
      response = failureResponse(error, request, log);
    }
    observed.end(request, info, response);
    return inProcess ? response : withAuditId(response, auditID);
  };
}

interface Arrival extends Omit<KnownRequest, 'user'> {
  /** From a component of this process, which has said who it is. */
  readonly inProcess: boolean;
}

/** Who asks is settled first, then what the audit log tells of it; from then on whatever happens is told, failures too. */
async function answer(options: PipelineOptions, arrival: Arrival): Promise<ApiResponse> {
  const { auditor, log } = options;
  const { request, info } = arrival;
  const user = request.user ?? (await authenticated(options, arrival));
  const trail = await auditor?.begin({ ...arrival, user });
  // The request is the pipeline's own until it is answered.
  Object.assign(request, { user, audit: trail });
  const serving = serve(options, arrival, user);
  if (!auditor || !trail) return serving;
  const response = await serving.catch((error: unknown) => failureResponse(error, request, log));
  return auditor.finish({ trail, request, longRunning: isLongRunning(info) }, response);
}

async function serve(
  options: PipelineOptions,
  { request, info, inProcess }: Arrival,
  authenticatedUser: UserInfo,
): Promise<ApiResponse> {
  const { authorizer } = options;
  let user = authenticatedUser;
  if (!inProcess && asksImpersonation(request)) {
    user = await impersonatedUser(request, user, authorizer());
    request.audit?.impersonated(user);
    Object.assign(request, { user });
  }
  const entered = options.flowControl.enter(request, info);
  const release = entered instanceof Promise ? await entered : entered;
  try {
    await authorize(authorizer(), { user, info, request });
    return await handlerOf(options, info)(request, info);
  } finally {
    release();
  }
}

/** Rejects with 401. */
async function authenticated({ authenticate, auditor, log }: PipelineOptions, arrival: Arrival): Promise<UserInfo> {
  try {
    return (await authenticate(arrival.request)).user;
  } catch (error) {
    if (auditor) await auditor.refused(arrival, failureResponse(error, arrival.request, log).status);
    throw error;
  }
}

/** By which the log and the client speak of the same request. */
function withAuditId(response: ApiResponse, auditID: string): ApiResponse {
  return { ...response, headers: { ...response.headers, 'audit-id': auditID } };
}

/** Throws 403. */
async function authorize(
  authorizer: Authorizer,
  { user, info, request }: { readonly user: UserInfo; readonly info: RequestInfo; readonly request: ApiRequest },
): Promise<void> {
  const attributes = { user, info };
  const pending = authorizer.authorize(attributes);
  const { decision, reason } = pending instanceof Promise ? await pending : pending;
  request.audit?.annotate('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
  request.audit?.annotate('authorization.k8s.io/reason', reason);
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

function handlerOf({ resources, resourceHandler, pathHandler }: PipelineOptions, info: RequestInfo): Handler {
  if (info.isResource && resources.hasVersion(info.group, info.version)) return resourceHandler;
  return pathHandler(info.path) ?? notFoundPage;
}

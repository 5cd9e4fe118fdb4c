/**
 * The stages of a request: what it means, who asks, whether there is room for it, whether they may, and the handler at the end. The
 * order is upstream's. Whatever is thrown on the way becomes a Status here and nowhere else.
 */

import type { Log } from '../base/log.ts';
import type { AuthenticationResult } from './authentication/authenticator.ts';
import { asksImpersonation, impersonatedUser } from './authentication/impersonation.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { forbiddenError } from './authorization/forbidden.ts';
import { failureResponse } from './failure.ts';
import type { FlowControl } from './flow-control.ts';
import type { RequestObserver } from './metrics/request-observer.ts';
import { notFoundPage } from './pages.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UserInfo } from './request.ts';
import { parseRequestInfo } from './request-info.ts';
import type { ServedResources } from './resources.ts';

export interface PipelineOptions {
  readonly log: Log;
  readonly resources: ServedResources;
  readonly flowControl: FlowControl;
  readonly observer: RequestObserver;
  /** Rejects with 401. */
  authenticate(request: ApiRequest): Promise<AuthenticationResult>;
  readonly authorizer: () => Authorizer;
  /** Sees each request that is known, before anything is done; the audit log's place. */
  readonly audit?: ((request: ApiRequest, info: RequestInfo) => void) | undefined;
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
    let response: ApiResponse;
    try {
      info = parseRequestInfo(request.method, request.path, request.query);
      response = await answer(options, request, info);
    } catch (error) {
      response = failureResponse(error, request, log);
    }
    observed.end(request, info, response);
    return response;
  };
}

async function answer(options: PipelineOptions, request: ApiRequest, info: RequestInfo): Promise<ApiResponse> {
  const user = request.user ?? (await userOf(options, request));
  // The request is the pipeline's own until it is answered.
  const known = Object.assign(request, { user });
  options.audit?.(known, info);
  const entered = options.flowControl.enter(known, info);
  const release = entered instanceof Promise ? await entered : entered;
  try {
    await authorize(options.authorizer(), user, info);
    return await handlerOf(options, info)(known, info);
  } finally {
    release();
  }
}

async function userOf({ authenticate, authorizer }: PipelineOptions, request: ApiRequest): Promise<UserInfo> {
  const { user } = await authenticate(request);
  return asksImpersonation(request) ? impersonatedUser(request, user, authorizer()) : user;
}

/** Throws 403. */
async function authorize(authorizer: Authorizer, user: UserInfo, info: RequestInfo): Promise<void> {
  const attributes = { user, info };
  const pending = authorizer.authorize(attributes);
  const { decision, reason } = pending instanceof Promise ? await pending : pending;
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

function handlerOf({ resources, resourceHandler, pathHandler }: PipelineOptions, info: RequestInfo): Handler {
  if (info.isResource && resources.hasVersion(info.group, info.version)) return resourceHandler;
  return pathHandler(info.path) ?? notFoundPage;
}

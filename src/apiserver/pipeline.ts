/**
 * The stages of a request: what it means, whether there is time for it, who asks, whether there is room for it, whether they may, and
 * the handler at the end. The order is upstream's. Whatever is thrown on the way becomes a Status here and nowhere else.
 */

import type { Log } from '../base/log.ts';
import type { AuthenticationResult } from './authentication/authenticator.ts';
import { asksImpersonation, impersonatedUser } from './authentication/impersonation.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { forbiddenError } from './authorization/forbidden.ts';
import type { YamlThread } from './encoding/yaml-thread.ts';
import { failureResponse } from './failure.ts';
import { type FlowControl, isLongRunning } from './flow-control/flow-control.ts';
import type { ObservedRequest, RequestObserver } from './metrics/request-observer.ts';
import { notFoundPage } from './pages.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UserInfo } from './request.ts';
import { parseRequestInfo } from './request-info.ts';
import type { RequestTime } from './request-time.ts';
import type { ServedResources } from './resources.ts';
import type { Shutdown } from './shutdown.ts';

export interface PipelineOptions {
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
    const observed = observer.begin(request);
    let response: ApiResponse;
    try {
      info = parseRequestInfo(request.method, request.path, request.query);
      response = await serve(options, { request, info, observed });
    } catch (error) {
      response = failureResponse(error, request, log);
    }
    return observed.end(info, response);
  };
}

interface Serving {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
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
  return time.within(request, { limitMs, ended }, answer(options, serving, time.waitLimitOf(limitMs)));
}

async function answer(options: PipelineOptions, serving: Serving, waitLimitMs: number): Promise<ApiResponse> {
  const { request, info, observed } = serving;
  const user = request.user ?? (await userOf(options, request));
  // The request is the pipeline's own until it is answered.
  const known = Object.assign(request, { user, yamlThread: options.yamlThread });
  options.audit?.(known, info);
  const entering = options.flowControl().enter(known, info, waitLimitMs);
  const entry = entering instanceof Promise ? await entering : entering;
  if ('refusal' in entry) {
    observed.terminated(info, entry.refusal.status);
    return entry.refusal;
  }
  let response: ApiResponse;
  try {
    await authorize(options.authorizer(), user, info);
    response = await handlerOf(options, info)(known, info);
  } catch (error) {
    response = failureResponse(error, request, options.log);
  } finally {
    entry.release();
  }
  return entry.headers ? { ...response, headers: { ...response.headers, ...entry.headers } } : response;
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

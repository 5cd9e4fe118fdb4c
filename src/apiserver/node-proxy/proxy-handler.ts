/**
 * `proxy` of nodes, Pods and Services: a request passed on with its path, query, body and headers, and the answer passed back, rewritten
 * where it leads to the backend (`rewritten-answer.ts`).
 */
import { posix } from 'node:path';
import { escapePath } from '../../apimachinery/go-url.ts';
import { badRequest, messageOf, serviceUnavailable } from '../../apimachinery/status.ts';
import { sendRequest, type UpgradeTarget } from '../../serving/upgrade.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo } from '../request.ts';
import { passedResponse } from './backend-response.ts';
import type { NodeProxyContext } from './context.ts';
import { hostOf, passedBody, passedHeaders, searchOf } from './passed-request.ts';
import { forwardedFor, passOn } from './pod-streams.ts';
import { type FindLocation, locationHost, type ProxyLocation } from './proxy-location.ts';
import { rewrittenAnswer } from './rewritten-answer.ts';

export function proxyHandler(context: NodeProxyContext, find: FindLocation): Handler {
  return async (request, info) => {
    const location = await find(context, info, request.signal);
    const { prefix, rest } = splitPath(info);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!request.upgrade && rest === '' && isRead) return withSlash(request);
    const target = targetOf(context, location, { rest, search: searchOf(request) });
    if (request.upgrade) return passOn(request, request.upgrade, target);
    const response = await forward(request, target, prefix + escapePath(rest));
    const { method } = request;
    const place = { method, backendHost: locationHost(location), requestHost: hostOf(request), prefix };
    return rewrittenAnswer(response, place);
  };
}

/** `/api/v1/namespaces/a/pods/b/proxy` and what follows it. */
function splitPath(info: RequestInfo): { readonly prefix: string; readonly rest: string } {
  const segments = info.path.split('/');
  const length = info.namespace === '' ? 6 : 8;
  const rest = segments.slice(length).join('/');
  const prefix = escapePath(segments.slice(0, length).join('/'));
  return { prefix, rest: segments.length > length ? cleaned(`/${rest}`) : '' };
}

/** Without `.` and `..`, which must not lead out of the backend's own tree; a slash at the end stays. */
function cleaned(path: string): string {
  const normal = posix.normalize(path).replace(/^\/+/, '/');
  return normal;
}

/** Pages with relative links work only below a slash. */
function withSlash(request: ApiRequest): ApiResponse {
  const search = searchOf(request);
  const location = `${escapePath(request.path)}/${search === '' ? '' : `?${search}`}`;
  return { status: 301, headers: { location }, body: { kind: 'none' } };
}

function targetOf(
  { connect }: NodeProxyContext,
  location: ProxyLocation,
  { rest, search }: { readonly rest: string; readonly search: string },
): UpgradeTarget {
  const url = URL.parse(`${location.scheme}://${locationHost(location)}`);
  if (!url) throw badRequest(`invalid address ${JSON.stringify(locationHost(location))}`);
  url.pathname = escapePath(rest);
  url.search = search;
  return { url, tls: location.tls, connect: connect(location) };
}

/** Throws 503 when the backend cannot be reached. */
async function forward(request: ApiRequest, target: UpgradeTarget, uri: string): Promise<ApiResponse> {
  const { method, signal } = request;
  const headers = {
    ...passedHeaders(request),
    ...forwardedFor(request),
    'x-forwarded-uri': uri,
    host: hostOf(request) || target.url.host,
  };
  try {
    const answer = await sendRequest(target, { method, headers, body: passedBody(request), signal });
    if (!answer.upgraded) return passedResponse(answer.response, request);
    answer.socket.destroy();
    throw new Error('unexpected upgrade');
  } catch (error) {
    throw serviceUnavailable(`error trying to reach service: ${messageOf(error)}`);
  }
}

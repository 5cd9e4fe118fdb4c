/**
 * `proxy` of nodes, Pods and Services: a request passed on with its path, query, body and headers, and the answer passed back. What the
 * backend says of its own address in a redirect is rewritten to lead through the proxy again; links inside pages are not.
 */
import { posix } from 'node:path';
import { badRequest, messageOf, serviceUnavailable } from '../../apimachinery/status.ts';
import { sendRequest, type UpgradeTarget } from '../../serving/upgrade.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo } from '../request.ts';
import { passedResponse } from './backend-response.ts';
import type { NodeProxyContext } from './context.ts';
import { hostOf, passedBody, passedHeaders, searchOf } from './passed-request.ts';
import { forwardedFor, passOn } from './pod-streams.ts';
import { type FindLocation, locationHost, type ProxyLocation } from './proxy-location.ts';

export function proxyHandler(context: NodeProxyContext, find: FindLocation): Handler {
  return async (request, info) => {
    const location = await find(context, info, request.signal);
    const { prefix, rest } = splitPath(info);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!request.upgrade && rest === '' && isRead) return withSlash(request);
    const target = targetOf(context, location, { rest, search: searchOf(request) });
    if (request.upgrade) return passOn(request, request.upgrade, target);
    const response = await forward(request, target, prefix + encodedPath(rest));
    const redirect = response.headers.location;
    if (redirect === undefined) return response;
    const rewritten = rewriteLocation(redirect, {
      backendHost: locationHost(location),
      requestHost: hostOf(request),
      prefix,
    });
    return { ...response, headers: { ...response.headers, location: rewritten } };
  };
}

/** `/api/v1/namespaces/a/pods/b/proxy` and what follows it. */
function splitPath(info: RequestInfo): { readonly prefix: string; readonly rest: string } {
  const segments = info.path.split('/');
  const length = info.namespace === '' ? 6 : 8;
  const rest = segments.slice(length).join('/');
  const prefix = encodedPath(segments.slice(0, length).join('/'));
  return { prefix, rest: segments.length > length ? cleaned(`/${rest}`) : '' };
}

/** Without `.` and `..`, which must not lead out of the backend's own tree; a slash at the end stays. */
function cleaned(path: string): string {
  const normal = posix.normalize(path).replace(/^\/+/, '/');
  return normal;
}

export function encodedPath(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}

/** Pages with relative links work only below a slash. */
function withSlash(request: ApiRequest): ApiResponse {
  const search = searchOf(request);
  const location = `${encodedPath(request.path)}/${search === '' ? '' : `?${search}`}`;
  return { status: 301, headers: { location }, body: { kind: 'none' } };
}

function targetOf(
  { connect }: NodeProxyContext,
  location: ProxyLocation,
  { rest, search }: { readonly rest: string; readonly search: string },
): UpgradeTarget {
  const url = URL.parse(`${location.scheme}://${locationHost(location)}`);
  if (!url) throw badRequest(`invalid address ${JSON.stringify(locationHost(location))}`);
  url.pathname = encodedPath(rest);
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

/** A redirect to the backend itself becomes one through the proxy; others, and relative ones, stay. */
function rewriteLocation(
  location: string,
  from: { readonly backendHost: string; readonly requestHost: string; readonly prefix: string },
): string {
  const [, scheme = '', host = '', path = '', tail = ''] =
    /^(?:([a-z][a-z0-9+.-]*:)?\/\/([^/?#]*))?([^?#]*)(.*)$/i.exec(location) ?? [];
  const isElsewhere = host !== '' && host !== from.backendHost && host !== from.requestHost;
  if (isElsewhere || !path.startsWith('/')) return location;
  const origin = host !== '' && host === from.requestHost ? `${scheme}//${host}` : '';
  if (path.startsWith(from.prefix)) return `${origin}${path}${tail}`;
  const joined = posix.join(from.prefix, path);
  return `${origin}${path.endsWith('/') && !joined.endsWith('/') ? `${joined}/` : joined}${tail}`;
}

/**
 * A request for a remote group version, handed on to its server as it came: path, query, headers and body, with who asks in headers, and
 * the answer handed back as it comes, watches and upgraded connections too. Whether they may has been decided before.
 */
import { escapePath } from '../../apimachinery/go-url.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { hostPort } from '../../base/host-port.ts';
import type { DialAddress } from '../../serving/dial.ts';
import { forwardedHeaders, joinUpgraded, responseText, type UpgradeAnswer } from '../../serving/upgrade.ts';
import { objectMediaType } from '../encoding/media-types.ts';
import { passedResponse } from '../node-proxy/backend-response.ts';
import { passedBody, passedHeaders, searchOf } from '../node-proxy/passed-request.ts';
import { forwardedFor, takenResponse } from '../node-proxy/pod-streams.ts';
import { rewrittenAnswer } from '../node-proxy/rewritten-answer.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UpgradeConnection } from '../request.ts';
import { objectAnswer } from './object-answer.ts';
import type { RemoteServer } from './remote-server.ts';
import { userHeaders } from './user-headers.ts';

export interface RemoteApi {
  /** Of the APIService. */
  readonly name: string;
  readonly available: boolean;
  readonly server: RemoteServer;
}

export interface RemoteHandlerOptions {
  readonly clock: Clock;
  /** `--aggregator-reject-forwarding-redirect`. Default true. */
  readonly rejectRedirects?: boolean | undefined;
}

/** Clients ask for discovery before anything else, and wait for it. */
const discoveryTimeoutMs = 5000;
/** Names the APIServices on a request's way: one that comes by again would come for ever. */
const passedHeader = 'x-coracle-aggregated-by';

export function remoteHandler(api: () => RemoteApi, options: RemoteHandlerOptions): Handler {
  return async (request, info) => {
    const { name, available, server } = api();
    if (!available) return plainText(503, 'service unavailable');
    const { user } = request;
    if (!user) return plainText(500, 'missing user');
    const passed = (request.headers[passedHeader] ?? '').split(',').map((one) => one.trim());
    if (passed.includes(name)) return plainText(508, `the APIService ${name} leads back to this server`);
    let address: DialAddress;
    try {
      address = server.locate();
    } catch {
      return plainText(503, 'service unavailable');
    }
    const search = searchOf(request);
    const path = `${escapePath(request.path)}${search === '' ? '' : `?${search}`}`;
    const told = {
      ...userHeaders(user),
      ...forwardedFor(request),
      ...(request.auditID ? { 'audit-id': request.auditID } : {}),
      [passedHeader]: [...passed, name].filter((one) => one !== '').join(', '),
    };
    if (request.upgrade) {
      const headers = { ...forwardedHeaders(request.upgrade.request.headers), ...told, host: hostPort(address) };
      const send = () => server.send(address, { method: request.method, path, headers, signal: request.signal });
      return passUpgrade(request, request.upgrade, send);
    }
    return pass({ host: hostPort(address), request, info, options }, (headers, signal) =>
      server.send(address, {
        method: request.method,
        path,
        headers: { ...headers, ...told, host: hostPort(address) },
        body: passedBody(request),
        signal,
      }),
    );
  };
}

interface Passing {
  /** Of the server, with its port. */
  readonly host: string;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly options: RemoteHandlerOptions;
}

type Send = (headers: Record<string, string | string[]>, signal: AbortSignal) => Promise<UpgradeAnswer>;

async function pass({ host, request, info, options }: Passing, send: Send): Promise<ApiResponse> {
  const inProcess = request.headers.accept === objectMediaType;
  const isDiscovery = !info.isResource && info.path.split('/').filter(Boolean).length === 3;
  const limit = isDiscovery ? timeLimit(request.signal, options.clock) : undefined;
  try {
    const headers = {
      ...passedHeaders(request),
      'x-forwarded-uri': escapePath(request.path),
      'x-forwarded-host': host,
      'x-forwarded-proto': 'https',
      ...(inProcess ? { accept: 'application/json' } : {}),
      ...(inProcess && request.body.kind === 'value'
        ? { 'content-type': request.headers['content-type'] ?? 'application/json' }
        : {}),
    };
    const answer = await send(headers, limit?.signal ?? request.signal);
    if (answer.upgraded) {
      answer.socket.destroy();
      throw new Error('unexpected upgrade');
    }
    const { response } = answer;
    response.once('close', () => limit?.cancel());
    const { statusCode = 502, headers: told } = response;
    if ((options.rejectRedirects ?? true) && statusCode >= 300 && statusCode <= 399 && told.location) {
      response.destroy();
      const message = 'the backend attempted to redirect this request, which is not permitted';
      return { status: 502, headers: {}, body: { kind: 'bytes', chunks: [Buffer.from(message)] } };
    }
    if (inProcess) return await objectAnswer(response, { request, info });
    const origin = { scheme: 'https', host };
    const place = { method: request.method, backendHost: host, requestHost: host, prefix: '', origin };
    const rewritten = rewrittenAnswer(passedResponse(response, request), place);
    return await rewritten.catch((error: unknown) => plainText(503, messageOf(error)));
  } catch (error) {
    limit?.cancel();
    return plainText(503, `error trying to reach service: ${messageOf(error)}`);
  }
}

function timeLimit(outer: AbortSignal, clock: Clock): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const timer = clock.after(discoveryTimeoutMs, () => controller.abort(new Error('context deadline exceeded')));
  const onAbort = () => controller.abort(outer.reason);
  if (outer.aborted) onAbort();
  outer.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      outer.removeEventListener('abort', onAbort);
    },
  };
}

async function passUpgrade(
  request: ApiRequest,
  client: UpgradeConnection,
  send: () => Promise<UpgradeAnswer>,
): Promise<ApiResponse> {
  let answer: UpgradeAnswer;
  try {
    answer = await send();
  } catch (error) {
    return plainText(503, `error dialing backend: ${messageOf(error)}`);
  }
  if (answer.upgraded) {
    joinUpgraded(client, answer);
    return takenResponse;
  }
  const status = answer.response.statusCode ?? 0;
  if (status >= 400) return passedResponse(answer.response, request);
  const text = await responseText(answer.response);
  return plainText(503, `invalid upgrade response: status code ${status}${text === '' ? '' : ` ${text}`}`);
}

/** As Go's `http.Error`. */
function plainText(status: number, message: string): ApiResponse {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: { kind: 'bytes', chunks: [Buffer.from(`${message}\n`)] },
  };
}

/**
 * `pods/exec`, `pods/attach` and `pods/portforward`: upgraded connections handed on to the kubelet. SPDY and old WebSocket protocols pass
 * as they are; the newest WebSocket protocols are translated for kubelets that do not know them.
 */
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { badRequest, genericServerResponse, messageOf, statusError } from '../../apimachinery/status.ts';
import {
  acceptCommand,
  asksStreamClose,
  asksTunnel,
  bridge,
  type CommandOptions,
  tunnelSpdy,
} from '../../serving/remote-command.ts';
import { forwardedHeaders, joinUpgraded, sendRequest, type UpgradeTarget } from '../../serving/upgrade.ts';
import { forbiddenError } from '../authorization/forbidden.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo, UpgradeConnection } from '../request.ts';
import { passedResponse } from './backend-response.ts';
import type { NodeProxyContext } from './context.ts';
import type { KubeletConnection } from './kubelet-connections.ts';
import { commandOptions, containerOf } from './pod-container.ts';

export const takenResponse: ApiResponse = { status: 101, headers: {}, body: { kind: 'taken' } };

interface Destination {
  readonly target: UpgradeTarget;
  readonly kubelet: KubeletConnection;
}

export function podCommandHandler(context: NodeProxyContext, kind: 'exec' | 'attach'): Handler {
  return async (request, info) => {
    await checkMethodAndRight(context, request, info);
    const { streams, parameters } = commandOptions(request.query);
    const { target, kubelet } = await destination(context, request, info, {
      path: (pod) => [kind, info.namespace, info.name, containerOf(pod, request.query.get('container'))],
      parameters,
    });
    const client = upgradeOf(request);
    if (!asksStreamClose(client.request.headers) || kubelet.speaksWebSocket) return passOn(request, client, target);
    translate(context, client, { target, streams });
    return takenResponse;
  };
}

export function podPortForwardHandler(context: NodeProxyContext): Handler {
  return async (request, info) => {
    await checkMethodAndRight(context, request, info);
    const ports = request.query.getAll('ports').join(',');
    const { target, kubelet } = await destination(context, request, info, {
      path: () => ['portForward', info.namespace, info.name],
      parameters: new URLSearchParams(ports === '' ? {} : { port: ports }),
    });
    const client = upgradeOf(request);
    if (!asksTunnel(client.request.headers) || kubelet.speaksWebSocket) return passOn(request, client, target);
    const refused = await tunnelSpdy(client, target, forwardedFor(request)).catch(unreachable);
    return refused ? passedResponse(refused, request) : takenResponse;
  };
}

/** A browser's WebSocket begins with GET; it still changes something, so it needs the right that a POST needs. */
async function checkMethodAndRight({ authorizer }: NodeProxyContext, request: ApiRequest, info: RequestInfo) {
  if (request.method !== 'GET' && request.method !== 'POST') {
    throw genericServerResponse({ code: 405, method: request.method });
  }
  const { user } = request;
  if (!authorizer || !user || info.verb === 'create') return;
  const attributes = { user, info: { ...info, verb: 'create' } };
  const { decision, reason } = await authorizer().authorize(attributes);
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

async function destination(
  { client, kubelets, connect }: NodeProxyContext,
  { signal }: ApiRequest,
  info: RequestInfo,
  ask: { readonly path: (pod: Pod) => readonly string[]; readonly parameters: URLSearchParams },
): Promise<Destination> {
  const pod = await client.get(pods, { namespace: info.namespace, name: info.name }, { signal });
  const path = ask.path(pod).map(encodeURIComponent).join('/');
  const { nodeName } = pod.spec;
  if (!nodeName) throw badRequest(`pod ${info.name} does not have a host assigned`);
  const kubelet = await kubelets.of(nodeName, signal);
  const url = new URL(`${kubelet.origin}/${path}`);
  url.search = ask.parameters.toString();
  return { target: { url, tls: kubelet.tls, connect: connect(kubelet) }, kubelet };
}

/** Throws 400. */
function upgradeOf({ upgrade }: ApiRequest): UpgradeConnection {
  if (!upgrade) throw badRequest('Upgrade request required');
  return upgrade;
}

/** Runs on after the answer: the session lasts as long as its two ends. */
function translate(
  { log }: NodeProxyContext,
  client: UpgradeConnection,
  { target, streams }: { readonly target: UpgradeTarget; readonly streams: CommandOptions },
): void {
  const session = async () => {
    const accepted = await acceptCommand(client, streams);
    if (accepted) await bridge(accepted, target, streams);
  };
  session().catch((error: unknown) => {
    log.debug('a session ended unexpectedly', { url: target.url.pathname, error: messageOf(error) });
    client.socket.destroy();
  });
}

/** Passes the upgrade on as it is. Throws when the other side cannot be reached; its refusal is the answer. */
export async function passOn(
  request: ApiRequest,
  client: UpgradeConnection,
  target: UpgradeTarget,
): Promise<ApiResponse> {
  const { method, signal } = request;
  const headers = { ...forwardedHeaders(client.request.headers), ...forwardedFor(request) };
  const answer = await sendRequest(target, { method, headers, signal }).catch(unreachable);
  if (answer.upgraded) {
    joinUpgraded(client, answer);
    return takenResponse;
  }
  const status = answer.response.statusCode ?? 0;
  if (status >= 400) return passedResponse(answer.response, request);
  answer.response.destroy();
  throw statusError({ code: 500, reason: '', message: `invalid upgrade response: status code ${status}` });
}

function unreachable(error: unknown): never {
  throw statusError({ code: 500, reason: '', message: `error dialing backend: ${messageOf(error)}` }, { cause: error });
}

/** Tells the other side who asked, after those who passed the request on before. */
export function forwardedFor({ headers, remoteAddress }: ApiRequest): Record<string, string> {
  const before = headers['x-forwarded-for'];
  const address = remoteAddress.replace(/^::ffff:/, '');
  if (address === '') return before ? { 'x-forwarded-for': before } : {};
  return { 'x-forwarded-for': before ? `${before}, ${address}` : address };
}

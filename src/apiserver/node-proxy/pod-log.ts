/**
 * `pods/log`: the log of a container as its kubelet gives it, streamed as it comes until the reader has gone, over a WebSocket to a browser
 * that asks for one.
 */
import type { IncomingMessage } from 'node:http';
import { pods } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import {
  badRequest,
  genericServerResponse,
  internalError,
  messageOf,
  type StatusError,
  statusError,
} from '../../apimachinery/status.ts';
import { responseText, sendRequest } from '../../serving/upgrade.ts';
import type { ApiRequest, Handler } from '../request.ts';
import { asksWebSocket } from '../request-info.ts';
import { chunksOf } from './backend-response.ts';
import type { NodeProxyContext } from './context.ts';
import { containerOf, podLogOptions } from './pod-container.ts';

export function podLogHandler({ client, kubelets, connect }: NodeProxyContext): Handler {
  return async (request, info) => {
    if (info.verb !== 'get') throw genericServerResponse({ code: 405, method: request.method });
    const { signal } = request;
    const options = podLogOptions(info.name, request.query);
    const pod = await client.get(pods, { namespace: info.namespace, name: info.name }, { signal });
    const container = containerOf(pod, options.container);
    const { nodeName } = pod.spec;
    if (!nodeName) return { status: 204, headers: {}, body: { kind: 'none' } };
    const kubelet = await kubelets.of(nodeName, signal);
    const path = ['containerLogs', info.namespace, info.name, container].map(encodeURIComponent).join('/');
    const url = new URL(`${kubelet.origin}/${path}`);
    url.search = options.parameters.toString();
    const tls = options.insecureSkipTlsVerifyBackend ? { ...kubelet.tls, verify: false } : kubelet.tls;
    const response = await ask({ url, tls, connect: connect(kubelet) }, request);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 206) throw refusal(status, await responseText(response), info.name);
    const chunks = chunksOf(response, signal);
    const headers = { 'content-type': 'text/plain' };
    return { status: asksWebSocket(request) ? 101 : 200, headers, body: { kind: 'stream', chunks, live: true } };
  };
}

async function ask(target: Parameters<typeof sendRequest>[0], { signal }: ApiRequest): Promise<IncomingMessage> {
  try {
    const answer = await sendRequest(target, { method: 'GET', headers: {}, signal });
    if (!answer.upgraded) return answer.response;
    answer.socket.destroy();
    throw new Error('unexpected upgrade');
  } catch (error) {
    const message = `Get ${quote(target.url.href)}: ${messageOf(error)}`;
    throw statusError({ code: 500, reason: '', message }, { cause: error });
  }
}

function refusal(code: number, text: string, name: string): StatusError {
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const resource = { group: '', resource: 'pods/log' };
  return genericServerResponse({ code, method: '', resource, name, serverMessage: text });
}

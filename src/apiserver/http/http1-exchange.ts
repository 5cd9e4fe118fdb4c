/** One request over HTTP/1.1, and connections that leave HTTP: upgrades to WebSocket or SPDY. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { onFirstCall } from '../../base/lazy-module.ts';
import { joinedChunks } from '../encoding/list-encoding.ts';
import type { UpgradeConnection } from '../request.ts';
import type { ConnectionContext } from './connection.ts';
import { HttpRequest, noBody, streamedBody } from './http-request.ts';
import { drained, pumpFrames } from './http2-stream.ts';
import { type EncodedBody, type EncodedResponse, encodeResponse, type FrameJoiner } from './response-encoding.ts';

export async function serveRequest(
  context: ConnectionContext,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => {});
  const made = await requestOrFailure(context, message, undefined);
  if (made instanceof HttpRequest) response.once('close', () => made.abort());
  const encoded = made instanceof HttpRequest ? await context.respond(made) : made;
  if (response.destroyed) return cancel(encoded.body);
  // A body that nobody has read would be taken for the next request.
  if (!message.complete) encoded.headers.connection = 'close';
  response.writeHead(encoded.status, encoded.headers);
  if (message.method === 'HEAD') {
    cancel(encoded.body);
    response.end();
    return;
  }
  await writeBody(response, encoded.body, context.joiner);
}

export async function serveUpgrade(context: ConnectionContext, upgrade: UpgradeConnection): Promise<void> {
  const { socket, request: message } = upgrade;
  socket.on('error', () => {});
  const made = await requestOrFailure(context, message, upgrade);
  if (made instanceof HttpRequest) socket.once('close', () => made.abort());
  const encoded = made instanceof HttpRequest ? await context.respond(made) : made;
  if (encoded.body.kind === 'taken' || socket.destroyed) return;
  if (encoded.status === 101) return answerOverWebSocket(upgrade, encoded);
  const head = Object.entries({ ...encoded.headers, connection: 'close' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  // Importing the module by name would load all that it exports, a whole HTTP client among it.
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  socket.write(`HTTP/1.1 ${encoded.status} ${STATUS_CODES[encoded.status] ?? ''}\r\n${head}\r\n`);
  await writeBody(socket, encoded.body, context.joiner);
}

const answerOverWebSocket = onFirstCall(async () => (await import('./web-socket-answer.ts')).answerOverWebSocket);

async function requestOrFailure(
  context: ConnectionContext,
  message: IncomingMessage,
  upgrade: UpgradeConnection | undefined,
): Promise<HttpRequest | EncodedResponse> {
  try {
    return requestOf(context, message, upgrade);
  } catch (error) {
    const fallback = { method: message.method ?? '', path: '', headers: {}, signal: new AbortController().signal };
    return encodeResponse(fallback as never, context.failure(error, fallback));
  }
}

function requestOf(context: ConnectionContext, message: IncomingMessage, upgrade: UpgradeConnection | undefined) {
  const { headers } = message;
  const hasBody =
    !upgrade && (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0');
  const socket = message.socket as TLSSocket;
  return new HttpRequest({
    method: message.method ?? 'GET',
    target: message.url ?? '/',
    headers: headers as Readonly<Record<string, string | undefined>>,
    body: hasBody ? streamedBody(message, context.bodies) : noBody,
    remoteAddress: socket.remoteAddress ?? '',
    clientCertificates: context.certificatesOf(socket),
    upgrade,
  });
}

async function writeBody(target: Duplex | ServerResponse, body: EncodedBody, joiner: FrameJoiner): Promise<void> {
  if (body.kind === 'bytes') {
    target.end(body.bytes);
  } else if (body.kind === 'stream') {
    if ('flushHeaders' in target) target.flushHeaders();
    for await (const chunk of joinedChunks(body.chunks)) {
      if (target.destroyed) return;
      if (!target.write(chunk)) await drained(target);
    }
    target.end();
  } else if (body.kind === 'watch') {
    if ('flushHeaders' in target) target.flushHeaders();
    pumpFrames(body.frames, target, joiner);
  }
}

function cancel(body: EncodedBody): void {
  if (body.kind === 'watch') body.frames.cancel();
}

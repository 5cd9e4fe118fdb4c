/**
 * Upgraded connections (SPDY, WebSocket) handed from hop to hop: dialling a server and asking it to upgrade, answering a client that
 * asked, and joining two sockets byte by byte. What is said over them is not looked at here.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** A client's request to upgrade, still unanswered. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came behind the request's head. */
  readonly head: Buffer;
}

export interface UpgradeTarget {
  readonly url: URL;
  /** For https: what to trust and show. `verify: false` takes any certificate. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly verify?: boolean };
  /** Replaces the dialling of `url`, for tunnels. */
  readonly connect?: () => Promise<Duplex>;
}

export type UpgradeAnswer =
  | {
      readonly upgraded: true;
      readonly socket: Duplex;
      readonly head: Buffer;
      readonly headers: IncomingMessage['headers'];
    }
  /** The server answered something else than 101; its response is there to be passed on. */
  | { readonly upgraded: false; readonly response: IncomingMessage };

const hopHeaders = new Set([
  'host',
  'authorization',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
]);

/** The client's headers as they go on to the next hop: without those that were meant for this one. */
export function forwardedHeaders(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (
      value !== undefined &&
      !hopHeaders.has(name) &&
      !name.startsWith('x-remote-') &&
      !name.startsWith('impersonate-')
    )
      result[name] = value;
  return result;
}

/** Sends a request with upgrade headers and resolves with the answer. Rejects when the server cannot be reached. */
export async function dialUpgrade(
  target: UpgradeTarget,
  method: string,
  headers: Record<string, string | string[]>,
  signal?: AbortSignal,
): Promise<UpgradeAnswer> {
  const secure = target.url.protocol === 'https:';
  const { tls } = target;
  const socket = await target.connect?.();
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? httpsRequest : httpRequest)({
      protocol: target.url.protocol,
      hostname: target.url.hostname.replace(/^\[|\]$/g, ''),
      port: target.url.port || (secure ? 443 : 80),
      path: `${target.url.pathname}${target.url.search}`,
      method,
      headers,
      agent: false,
      ...(signal ? { signal } : {}),
      ...(socket ? { createConnection: () => socket } : {}),
      ...(tls?.ca ? { ca: tls.ca } : {}),
      ...(tls?.cert ? { cert: tls.cert } : {}),
      ...(tls?.key ? { key: tls.key } : {}),
      ...(secure ? { rejectUnauthorized: tls?.verify !== false } : {}),
    });
    outgoing.on('upgrade', (response, upgradedSocket, head) =>
      resolve({ upgraded: true, socket: upgradedSocket, head, headers: response.headers }),
    );
    outgoing.on('response', (response) => resolve({ upgraded: false, response }));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Says yes to a client that asked for an upgrade. */
export function acceptUpgrade(
  socket: Duplex,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): void {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (const [name, value] of Object.entries(headers))
    for (const one of value === undefined ? [] : [value].flat()) lines.push(`${name}: ${one}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

/** Answers a client that asked for an upgrade with an ordinary response, and closes. */
export function refuseUpgrade(socket: Duplex, status: number, body: string, contentType = 'application/json'): void {
  socket.end(
    `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\nContent-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function reasonPhrase(status: number): string {
  return (
    {
      400: 'Bad Request',
      401: 'Unauthorized',
      403: 'Forbidden',
      404: 'Not Found',
      500: 'Internal Server Error',
      503: 'Service Unavailable',
    }[status] ?? 'Error'
  );
}

/** Joins two sockets until either is done. */
export function join(a: Duplex, b: Duplex): void {
  const end = () => {
    a.destroy();
    b.destroy();
  };
  for (const socket of [a, b]) {
    socket.on('error', end);
    socket.on('close', end);
  }
  a.pipe(b);
  b.pipe(a);
}

/** Passes an upgrade on to `target` as it is: headers, answer and all bytes after it. */
export async function passUpgrade(
  client: UpgradeRequest,
  target: UpgradeTarget,
  extraHeaders: Record<string, string> = {},
): Promise<void> {
  const headers = { ...forwardedHeaders(client.request.headers), ...extraHeaders };
  client.socket.on('error', () => client.socket.destroy());
  const answer = await dialUpgrade(target, client.request.method ?? 'POST', headers);
  if (!answer.upgraded) return passRefusal(client.socket, answer.response);
  acceptUpgrade(client.socket, answer.headers);
  if (answer.head.length > 0) client.socket.write(answer.head);
  if (client.head.length > 0) answer.socket.write(client.head);
  join(client.socket, answer.socket);
}

function passRefusal(socket: Duplex, response: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      refuseUpgrade(
        socket,
        response.statusCode ?? 500,
        Buffer.concat(chunks).toString(),
        response.headers['content-type'] ?? 'text/plain',
      );
      resolve();
    });
    response.on('error', () => {
      socket.destroy();
      resolve();
    });
  });
}

/**
 * Requests that go on to another server, and upgraded connections (SPDY, WebSocket) handed from hop to hop: sending a request that may
 * be upgraded, answering a client that asked, and joining two sockets byte by byte. What is said over them is not looked at here.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, connect as netConnect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { httpModule } from '../base/lazy-module.ts';
import { connectionFailure, type DialAddress, DialError, dialError } from './dial.ts';

/** A client's request to upgrade, still unanswered. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came behind the request's head. */
  readonly head: Buffer;
}

export interface UpgradeTarget {
  readonly url: URL;
  /** For https: what to trust and show (PEM). `verify: false` takes any certificate. */
  readonly tls?: TargetTls | undefined;
  /** Replaces the dialling of `url`, for timeouts and tunnels. TLS, where the URL asks for it, is spoken over what this gives. */
  readonly connect?: ((signal?: AbortSignal) => Promise<Duplex>) | undefined;
}

export interface TargetTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly verify?: boolean | undefined;
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

export type OutgoingHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface OutgoingRequest {
  readonly method: string;
  readonly headers: OutgoingHeaders;
  /** Pieces are handed on as they come. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Ends the request; after the answer it ends the response's body, but not an upgraded connection. */
  readonly signal?: AbortSignal | undefined;
}

/** A browser can put its bearer token only here. */
const tokenProtocol = 'base64url.bearer.authorization.k8s.io.';

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

/** The client's headers as they go on to the next hop: without those that were meant for this one, credentials above all. */
export function forwardedHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopHeaders.has(name)) continue;
    if (name.startsWith('x-remote-') || name.startsWith('impersonate-') || name.startsWith(':')) continue;
    result[name] = typeof value === 'string' ? value : [...value];
  }
  const protocols = result['sec-websocket-protocol'];
  if (protocols !== undefined) {
    const kept = [protocols].flat().flatMap((text) => text.split(','));
    result['sec-websocket-protocol'] = kept
      .map((protocol) => protocol.trim())
      .filter((protocol) => !protocol.startsWith(tokenProtocol))
      .join(', ');
  }
  return result;
}

/** Sends a request with upgrade headers and resolves with the answer. Rejects when the server cannot be reached. */
export function dialUpgrade(
  target: UpgradeTarget,
  method: string,
  headers: OutgoingHeaders,
  signal?: AbortSignal,
): Promise<UpgradeAnswer> {
  return sendRequest(target, { method, headers, signal });
}

/**
 * Sends a request over a connection of its own and resolves with the head of the answer. Rejects with a `DialError` when there is none, or
 * with the signal's reason.
 */
export async function sendRequest(target: UpgradeTarget, request: OutgoingRequest): Promise<UpgradeAnswer> {
  const { method, headers, signal } = request;
  const socket = await openSocket(target, signal);
  if (signal?.aborted) {
    socket.on('error', () => {}).destroy();
    throw signal.reason;
  }
  const outgoing = httpModule().request({
    path: `${target.url.pathname}${target.url.search}`,
    method,
    headers: { host: target.url.host, ...(headers as Record<string, string | string[]>) },
    // Without an agent, which would dial by itself.
    createConnection: () => socket,
  });
  return answerTo(outgoing, request).catch((error: unknown) => {
    socket.destroy();
    throw signal?.aborted ? error : failureOf(error as NodeJS.ErrnoException, target.url);
  });
}

/** Sends the body of a begun request and resolves with the head of the answer; rejects with the error as it is, or the signal's reason. */
export function answerTo(
  outgoing: ClientRequest,
  { body, signal }: Pick<OutgoingRequest, 'body' | 'signal'>,
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const onAbort = () => outgoing.destroy(new Error('aborted'));
    const settled = () => signal?.removeEventListener('abort', onAbort);
    signal?.addEventListener('abort', onAbort, { once: true });
    outgoing.on('upgrade', (response, socket, head) => {
      settled();
      resolve({ upgraded: true, socket: outliveFailedWrites(socket), head, headers: response.headers });
    });
    outgoing.on('response', (response) => {
      response.on('close', settled);
      resolve({ upgraded: false, response });
    });
    outgoing.on('error', (error) => {
      settled();
      reject(signal?.aborted ? signal.reason : error);
    });
    if (signal?.aborted) onAbort();
    else if (body === undefined || body instanceof Uint8Array) outgoing.end(body);
    // A sender who stops half-way leaves nothing that could be answered.
    else handOn(body, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
}

/**
 * Node closes a socket whose write fails and forgets what it has not read yet. A command that ends with input left over makes its
 * runtime close just so, right behind the exit code: here a failed write says nothing, and the reader finds the end by itself.
 */
function outliveFailedWrites(socket: Duplex): Duplex {
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk, encoding, done) => write.call(socket, chunk, encoding, () => done());
  if (writev) socket._writev = (chunks, done) => writev.call(socket, chunks, () => done());
  return socket;
}

async function handOn(pieces: AsyncIterable<Uint8Array>, outgoing: ClientRequest): Promise<void> {
  for await (const piece of pieces) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(piece)) await roomIn(outgoing);
  }
  outgoing.end();
}

/** Resolves when more may be written, or nothing any more. */
function roomIn(outgoing: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}

function failureOf(error: NodeJS.ErrnoException, url: URL): DialError {
  const address = addressOf(url);
  if (error instanceof DialError) return error;
  if (error.syscall === 'connect' || error.syscall === 'getaddrinfo') return dialError(error, address);
  return new DialError(connectionFailure(error, address.host), error.code ?? '', { cause: error });
}

/** Where a URL leads, its scheme's port included. */
export function addressOf(url: URL): DialAddress {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
}

async function openSocket({ url, tls = {}, connect }: UpgradeTarget, signal?: AbortSignal): Promise<Duplex> {
  const secure = url.protocol === 'https:';
  const { host, port } = addressOf(url);
  const socket = connect ? await connect(signal) : netConnect({ host, port, noDelay: true });
  if (!secure) return socket;
  return tlsConnect({
    socket,
    host,
    ...(isIP(host) ? {} : { servername: host }),
    ...(tls.ca ? { ca: tls.ca } : {}),
    ...(tls.cert ? { cert: tls.cert } : {}),
    ...(tls.key ? { key: tls.key } : {}),
    rejectUnauthorized: tls.verify !== false,
    minVersion: 'TLSv1.2',
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
    `HTTP/1.1 ${status} ${httpModule().STATUS_CODES[status] ?? 'Error'}\r\nContent-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Joins two sockets until both are done; what one side sent before it closed still reaches the other. */
export function join(a: Duplex, b: Duplex): void {
  flow(a, b);
  flow(b, a);
}

function flow(from: Duplex, to: Duplex): void {
  const onClose = () => {
    // Nobody is left to hear what `to` would still say; what it is to be told must leave first.
    if (to.writableFinished) to.destroy();
    else to.end(() => to.destroy());
  };
  // How a side ended is its own matter: the other one is told all that came from it, then that it is over.
  from.on('error', () => {});
  from.on('close', onClose);
  if (from.destroyed) onClose();
  else from.pipe(to);
}

/** Passes an upgrade on to `target` as it is: headers, answer and all bytes after it. Rejects when the target cannot be reached. */
export async function passUpgrade(
  client: UpgradeRequest,
  target: UpgradeTarget,
  extraHeaders: Record<string, string> = {},
): Promise<void> {
  const headers = { ...forwardedHeaders(client.request.headers), ...extraHeaders };
  client.socket.on('error', () => client.socket.destroy());
  const answer = await dialUpgrade(target, client.request.method ?? 'POST', headers);
  if (answer.upgraded) joinUpgraded(client, answer);
  else await passRefusal(client.socket, answer.response);
}

/** Tells the client that the target has agreed, and joins the two. */
export function joinUpgraded(client: UpgradeRequest, answer: UpgradeAnswer & { readonly upgraded: true }): void {
  acceptUpgrade(client.socket, answer.headers);
  if (answer.head.length > 0) client.socket.write(answer.head);
  if (client.head.length > 0) answer.socket.write(client.head);
  join(client.socket, answer.socket);
}

/** At most so much of a refusal's text is passed on. */
const refusalBytes = 50_000;

/** The text of a response, cut off where it becomes unreasonable. */
export async function responseText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= refusalBytes) break;
    }
  } catch {
    // What came before the connection broke is all there is to tell.
  }
  return Buffer.concat(chunks).subarray(0, refusalBytes).toString();
}

async function passRefusal(socket: Duplex, response: IncomingMessage): Promise<void> {
  const text = await responseText(response);
  refuseUpgrade(socket, response.statusCode ?? 500, text, response.headers['content-type'] ?? 'text/plain');
}

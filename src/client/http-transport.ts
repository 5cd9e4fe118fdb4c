/**
 * The `Transport` to an API server over HTTP/2. Connections are shared and replaced when they die; what the server asks to send
 * again (429, or 5xx with Retry-After) is sent again, as client-go does; a watch's lines are decoded as they arrive, and a slow
 * reader slows the server down instead of filling memory.
 */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { jsonText, parseJson } from '../apimachinery/exact-json.ts';
import { genericServerResponse, type Status, StatusError } from '../apimachinery/status.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Transport, TransportRequest } from './client.ts';
import { ConnectionError } from './connection-error.ts';
import { Http2Sessions, type SessionOptions } from './http2-sessions.ts';
import { splitLines } from './json-lines.ts';
import type { RequestStatistics, RequestTarget } from './request-statistics.ts';

export interface TlsOptions {
  /** PEM of the authorities to trust; absent: the system's. */
  readonly ca?: string | Buffer | undefined;
  /** PEM of the client's certificate and key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** Name to verify the server's certificate for, where it is not the URL's. */
  readonly serverName?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface HttpTransportOptions {
  /** `https://host:port`, with a path where the server stands behind one. */
  readonly server: string;
  readonly clock: Clock;
  readonly tls?: TlsOptions | undefined;
  /** A bearer token, or what gives the current one before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly basicAuth?: { readonly username: string; readonly password: string } | undefined;
  readonly impersonate?: Impersonation | undefined;
  readonly userAgent?: string | undefined;
  /** For requests that are no watch; absent: none. */
  readonly timeoutMs?: number | undefined;
  /** How often an answer that says "try again later" is obeyed; default 10. */
  readonly maxRetries?: number | undefined;
  /** Called with the text of each `Warning` header. */
  readonly onWarning?: ((text: string) => void) | undefined;
  /** Where requests are counted; absent: nowhere. */
  readonly statistics?: RequestStatistics | undefined;
  readonly pingAfterMs?: number | undefined;
  readonly pingTimeoutMs?: number | undefined;
}

export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  return new HttpTransport(options);
}

interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly stream: ClientHttp2Stream;
  readonly body: AsyncIterable<Buffer>;
}

export class HttpTransport implements Transport {
  readonly #options: HttpTransportOptions;
  readonly #sessions: Http2Sessions;
  readonly #url: URL;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#url = new URL(options.server);
    this.#sessions = new Http2Sessions(sessionOptions(options, this.#url.origin));
  }

  async send(request: TransportRequest): Promise<unknown> {
    const { clock, statistics } = this.#options;
    if (!statistics) return this.#sendInTime(request);
    const startMs = clock.monotonic();
    try {
      return await this.#sendInTime(request);
    } finally {
      statistics.took(this.#target(request), clock.monotonic() - startMs);
    }
  }

  async #sendInTime(request: TransportRequest): Promise<unknown> {
    const { timeoutMs, clock } = this.#options;
    if (timeoutMs === undefined) return this.#sendAndRead(request);
    const limit = new AbortController();
    const timer = clock.after(timeoutMs, () => limit.abort(timeoutError(request, timeoutMs)));
    const signal = request.signal ? AbortSignal.any([request.signal, limit.signal]) : limit.signal;
    try {
      return await this.#sendAndRead({ ...request, signal });
    } finally {
      timer.cancel();
    }
  }

  async *stream(request: TransportRequest): AsyncGenerator<{ type: string; object: unknown }, void, undefined> {
    const answer = await this.#answered(request);
    yield* splitLines(answer.body) as AsyncGenerator<{ type: string; object: unknown }, void, undefined>;
  }

  /** Connections now open; for tests and metrics. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Renewed credentials: what begins from now on shows them, and connections that showed the old ones are left. */
  replaceTls(tls: TlsOptions): void {
    this.#sessions.replaceTls(sessionTls(tls));
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }

  async #sendAndRead(request: TransportRequest): Promise<unknown> {
    for (let resets = 0; ; resets++) {
      try {
        const answer = await this.#answered(request);
        const body = await readAll(answer.body);
        this.#options.statistics?.received(this.#target(request), body.length);
        return decode(body, answer.headers);
      } catch (error) {
        // A read can be sent again when the connection broke in the middle; a write may have happened.
        const broken = error instanceof ConnectionError && error.code !== 'ECONNREFUSED' && request.method === 'GET';
        if (!broken || error.neverSent || resets >= 1 || request.signal?.aborted) throw error;
      }
    }
  }

  /** An answer below 400; others are thrown, after as many tries as the server asks for. */
  async #answered(request: TransportRequest): Promise<Answer> {
    const { clock, maxRetries = 10 } = this.#options;
    for (let retries = 0; ; retries++) {
      const answer = await this.#counted(request, retries > 0);
      this.#warn(answer.headers);
      if (answer.code < 400) return answer;
      const body = await readAll(answer.body);
      const waitSeconds = retryAfter(answer);
      if (waitSeconds === undefined || retries >= maxRetries) {
        this.#options.statistics?.received(this.#target(request), body.length);
        throw failure(answer, body, request);
      }
      await sleep(clock, waitSeconds * 1000, request.signal);
    }
  }

  async #counted(request: TransportRequest, again: boolean): Promise<Answer> {
    const { statistics } = this.#options;
    if (!statistics) return this.#attempt(request);
    try {
      const answer = await this.#attempt(request);
      statistics.tried(this.#target(request), { code: answer.code, again });
      return answer;
    } catch (error) {
      statistics.tried(this.#target(request), { code: undefined, again });
      throw error;
    }
  }

  #target({ method }: TransportRequest): RequestTarget {
    return { host: this.#url.host, verb: method };
  }

  /** Sends until the server has surely got it: a refused stream or a connection lost before use is tried on another. */
  async #attempt(request: TransportRequest): Promise<Answer> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#exchange(request);
      } catch (error) {
        const again = error instanceof ConnectionError && error.neverSent && retriableCodes.has(error.code);
        if (!again || tries >= 3 || request.signal?.aborted) throw error;
      }
    }
  }

  async #exchange(request: TransportRequest): Promise<Answer> {
    const { signal } = request;
    signal?.throwIfAborted();
    const headers = await this.#headers(request);
    const body = request.body === undefined ? undefined : Buffer.from(jsonText(request.body));
    if (body) {
      headers['content-length'] = body.length;
      this.#options.statistics?.sent(this.#target(request), body.length);
    }
    signal?.throwIfAborted();
    const { stream, session } = this.#sessions.request(headers, body === undefined);
    // Whoever waits for the stream hears of its errors; those that come when nobody does must not end the process.
    stream.on('error', () => {});
    const abort = () => this.#sessions.giveUp(stream, session);
    signal?.addEventListener('abort', abort, { once: true });
    stream.once('close', () => signal?.removeEventListener('abort', abort));
    if (body) stream.end(body);
    const translate = (error: unknown, answered: boolean): unknown =>
      signal?.aborted ? signal.reason : this.#sessions.connectionError(error, session, answered);
    let answer: IncomingHttpHeaders;
    try {
      answer = await responseHeaders(stream);
    } catch (error) {
      throw translate(error, false);
    }
    this.#sessions.heard(session);
    const chunks = readChunks(stream, {
      heard: () => this.#sessions.heard(session),
      translate: (error) => translate(error, true),
    });
    return { code: answer[':status'] as unknown as number, headers: answer, stream, body: chunks };
  }

  async #headers(request: TransportRequest): Promise<OutgoingHttpHeaders> {
    const { token, basicAuth, impersonate, userAgent } = this.#options;
    const prefix = this.#url.pathname.replace(/\/$/, '');
    const query = request.query?.size ? `?${new URLSearchParams([...request.query])}` : '';
    const headers: OutgoingHttpHeaders = {
      ':method': request.method,
      ':path': `${prefix}${request.path}${query}`,
      accept: request.accept ?? 'application/json',
      'user-agent': userAgent ?? 'coracle',
    };
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
    const bearer = typeof token === 'function' ? await token() : token;
    if (bearer) headers.authorization = `Bearer ${bearer}`;
    else if (basicAuth) {
      const { username, password } = basicAuth;
      headers.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    }
    if (impersonate) Object.assign(headers, impersonationHeaders(impersonate));
    return headers;
  }

  #warn(headers: IncomingHttpHeaders): void {
    const { onWarning } = this.#options;
    if (!onWarning || !headers.warning) return;
    for (const [, text] of headers.warning.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
      onWarning(text!.replace(/\\(.)/g, '$1'));
    }
  }
}

const retriableCodes: ReadonlySet<string> = new Set([
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_INVALID_SESSION',
  'ERR_HTTP2_SESSION_ERROR',
]);

function sessionOptions(options: HttpTransportOptions, origin: string): SessionOptions {
  const { tls, pingAfterMs, pingTimeoutMs } = options;
  return {
    origin,
    clock: options.clock,
    ...(pingAfterMs === undefined ? {} : { pingAfterMs }),
    ...(pingTimeoutMs === undefined ? {} : { pingTimeoutMs }),
    tls: sessionTls(tls),
  };
}

function sessionTls(tls: TlsOptions | undefined): NonNullable<SessionOptions['tls']> {
  return {
    minVersion: 'TLSv1.2',
    ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls?.key === undefined ? {} : { key: tls.key }),
    ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
    rejectUnauthorized: !tls?.insecureSkipVerify,
  };
}

export function impersonationHeaders(impersonate: Impersonation): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { 'impersonate-user': impersonate.user };
  if (impersonate.uid) headers['impersonate-uid'] = impersonate.uid;
  if (impersonate.groups?.length) headers['impersonate-group'] = [...impersonate.groups];
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = [...values];
  }
  return headers;
}

function responseHeaders(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve);
    stream.once('error', reject);
    stream.once('close', () => reject(Object.assign(new Error('stream closed'), { code: 'ECONNRESET' })));
  });
}

/** The body as it arrives; ends the stream when the reader leaves early. */
async function* readChunks(
  stream: ClientHttp2Stream,
  on: { heard(): void; translate(error: unknown): unknown },
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of chunksOf(stream)) {
      on.heard();
      yield chunk;
    }
    // An abort closes the stream without an error of its own.
    if (stream.rstCode !== 0) throw new Error(`stream closed with code ${stream.rstCode}`);
  } catch (error) {
    throw on.translate(error);
  } finally {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
}

/**
 * A stream of HTTP/2 counts as closed as soon as its last frame is there, though nobody has read it yet. Node's own iterator takes
 * that for a stream that broke off; this one reads what is there first.
 */
async function* chunksOf(stream: ClientHttp2Stream): AsyncGenerator<Buffer, void, undefined> {
  let failure: Error | undefined;
  let wake = () => {};
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };
  stream.on('readable', () => wake());
  stream.once('end', () => wake());
  stream.once('error', fail);
  stream.once('close', () => fail(Object.assign(new Error('stream closed'), { code: 'ECONNRESET' })));
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) yield chunk;
    else if (stream.readableEnded) return;
    else if (stream.destroyed) throw failure ?? stream.errored ?? new Error('stream closed');
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function decode(body: Buffer, headers: IncomingHttpHeaders): unknown {
  const text = body.toString();
  return /\bjson\b/.test(headers['content-type'] ?? '') ? parseJson(text) : text;
}

/** Seconds to wait when the server asks to be asked again. */
function retryAfter({ code, headers }: Answer): number | undefined {
  const seconds = headers['retry-after'];
  if ((code !== 429 && code < 500) || seconds === undefined || !/^[0-9]+$/.test(seconds)) return undefined;
  return Number(seconds);
}

function failure(answer: Answer, body: Buffer, request: TransportRequest): StatusError {
  const status = statusOf(body);
  if (status) return new StatusError(status);
  const seconds = Number(answer.headers['retry-after'] ?? 0);
  return genericServerResponse({
    code: answer.code,
    method: request.method,
    serverMessage: body.toString().trim(),
    retryAfterSeconds: Number.isInteger(seconds) ? seconds : 0,
    unexpected: true,
  });
}

function statusOf(body: Buffer): Status | undefined {
  try {
    const value = JSON.parse(body.toString()) as Status | null;
    return value?.kind === 'Status' && value.status !== 'Success' ? value : undefined;
  } catch {
    return undefined;
  }
}

function timeoutError(request: TransportRequest, timeoutMs: number): ConnectionError {
  const message = `${request.method} ${request.path}: no answer within ${timeoutMs} ms`;
  return new ConnectionError(message, { code: 'ETIMEDOUT', neverSent: false });
}

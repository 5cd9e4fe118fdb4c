/**
 * One call of a webhook: the post, the wait, the reply. The reply is nobody's but a stranger's: it is bounded in time and size, redirects are
 * not followed (they would let a webhook send the API server anywhere), and it must be a JSON object.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { parseJson } from '../../apimachinery/exact-json.ts';
import { JsonSyntaxError, maxJsonDepth, parseExact, scanJson } from '../../apimachinery/json-text.ts';
import {
  genericServerResponse,
  internalError,
  messageOf,
  type Status,
  StatusError,
} from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { impersonationHeaders } from '../../client/http-transport.ts';
import { connectionFailure, DialError } from '../../serving/dial.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Credentials, Endpoint } from './endpoint.ts';

/** A JSON object as the webhook sent it; nothing of it is known. */
export type ReviewObject = Readonly<Record<string, unknown>>;

/** No reply, or none that can be read. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  /** The request on whose behalf the webhook was called is gone: nobody's failure. */
  readonly canceled: boolean;

  constructor(message: string, options: ErrorOptions & { readonly canceled?: boolean } = {}) {
    super(message, options);
    this.canceled = options.canceled ?? false;
  }
}

interface Way {
  readonly endpoint: Endpoint;
  readonly pool: ConnectionPool;
  readonly clock: Clock;
}

interface Call {
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly maxReplyBytes: number;
  /** Any reply will do that says it went well. */
  readonly told?: boolean | undefined;
}

/** How often a webhook that says "try again later" is obeyed, as client-go. */
const maxRetries = 10;
const userAgent = 'kube-apiserver-admission';

interface Reply {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Rejects with `StatusError` or `WebhookCallError`. */
export async function send(way: Way, call: Call): Promise<ReviewObject> {
  const { clock, endpoint } = way;
  const wholeSeconds = Math.ceil(call.timeoutMs / 1000);
  const url = `${endpoint.url}?timeout=${durationText(wholeSeconds)}`;
  const limit = new AbortController();
  const timer = clock.after(call.timeoutMs, () => limit.abort(new Error('context deadline exceeded')));
  const onGone = () => limit.abort(new Error('context canceled'));
  if (call.signal?.aborted) onGone();
  call.signal?.addEventListener('abort', onGone, { once: true });
  const failed = (error: unknown, prefix: string) => {
    const { aborted, reason } = limit.signal;
    const why = aborted ? messageOf(reason) : messageOf(error);
    return new WebhookCallError(`${prefix}${why}`, { cause: error, canceled: call.signal?.aborted ?? false });
  };
  try {
    const headers = await headersFor(endpoint, call.body);
    for (let retries = 0; ; retries++) {
      const attempt = { path: `${endpoint.path}${url.slice(url.indexOf('?'))}`, headers, signal: limit.signal };
      const answer = await exchange(way, call, attempt).catch((error: unknown) => {
        throw failed(error, `Post ${JSON.stringify(url)}: `);
      });
      const text = await readText(answer, call.maxReplyBytes).catch((error: unknown) => {
        throw failed(error, 'unexpected error when reading response body. Please retry. Original error: ');
      });
      const reply = { code: answer.statusCode ?? 0, headers: answer.headers, text };
      const waitSeconds = retryAfter(reply);
      if (waitSeconds === undefined || retries >= maxRetries) return call.told ? acknowledged(reply) : reviewOf(reply);
      await sleep(clock, waitSeconds * 1000, limit.signal).catch((error: unknown) => {
        throw failed(error, `Post ${JSON.stringify(url)}: `);
      });
    }
  } finally {
    timer.cancel();
    call.signal?.removeEventListener('abort', onGone);
  }
}

/** As Go prints whole seconds: `10s`, `1m30s`. */
function durationText(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

interface Attempt {
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly signal: AbortSignal;
}

/** A kept connection may have been closed at the other end meanwhile: the call is then made over another. */
async function exchange(way: Way, call: Call, attempt: Attempt): Promise<IncomingMessage> {
  for (;;) {
    attempt.signal.throwIfAborted();
    const request = way.pool.request({ method: 'POST', path: attempt.path, headers: attempt.headers });
    try {
      return await answered(request, call.body, attempt.signal);
    } catch (error) {
      const stale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      if (!stale || attempt.signal.aborted) throw new Error(wordsFor(error, way.endpoint), { cause: error });
    }
  }
}

function wordsFor(error: unknown, { host }: Endpoint): string {
  const told = error instanceof DialError || error instanceof StatusError;
  return told ? error.message : connectionFailure(error, host);
}

function answered(request: ClientRequest, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const onAbort = () => request.destroy(new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = () => signal.removeEventListener('abort', onAbort);
    request.on('close', settled);
    request.on('response', resolve);
    // Nobody asked for an upgrade; what offers one is no webhook.
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error('unexpected upgrade'));
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function readText(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new WebhookCallError(`the reply is longer than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof WebhookCallError) throw error;
    throw new Error('unexpected EOF', { cause: error });
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function headersFor(
  { authority, credentials }: Endpoint,
  body: string,
): Promise<Record<string, string | string[]>> {
  return {
    host: authority,
    accept: 'application/json, */*',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': userAgent,
    ...(await authorization(credentials)),
  };
}

async function authorization(credentials: Credentials): Promise<Record<string, string | string[]>> {
  const { token, basicAuth, impersonate } = credentials;
  const headers: Record<string, string | string[]> = {};
  const bearer = typeof token === 'function' ? await token() : token;
  if (bearer) headers.authorization = `Bearer ${bearer}`;
  else if (basicAuth) {
    const pair = `${basicAuth.username}:${basicAuth.password}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  return { ...headers, ...(impersonate ? impersonationHeaders(impersonate) : {}) } as Record<string, string | string[]>;
}

/** Seconds to wait when the webhook asks to be asked again. */
function retryAfter({ code, headers }: Reply): number | undefined {
  const seconds = headers['retry-after'];
  if ((code !== 429 && code < 500) || seconds === undefined || !/^[0-9]{1,9}$/.test(seconds)) return undefined;
  return Number(seconds);
}

/** Throws what the webhook answered instead. */
function acknowledged(reply: Reply): ReviewObject {
  if (reply.code < 200 || reply.code > 206) throw statusOf(reply) ?? unexpectedAnswer(reply);
  return {};
}

/** Throws what the webhook answered instead. */
function reviewOf(reply: Reply): ReviewObject {
  acknowledged(reply);
  const { code, headers, text } = reply;
  if (text === '') {
    const contentType = headers['content-type'] ?? 'application/json';
    throw new WebhookCallError(`0-length response with status code: ${code} and content type: ${contentType}`);
  }
  const value = parse(text);
  if (value.kind !== 'Status') return value;
  const status = value as unknown as Status;
  if (status.status !== 'Success') throw new StatusError(status);
  return {};
}

function parse(text: string): ReviewObject {
  const refused = (problem: string) => new WebhookCallError(`couldn't get version/kind; json parse error: ${problem}`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw refused(syntaxProblem(text));
  }
  if (scanJson(text).depth > maxJsonDepth) throw refused('exceeded max depth');
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ReviewObject;
  const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  const problem = `json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
  if (value === null) return {};
  throw refused(problem);
}

function syntaxProblem(text: string): string {
  try {
    parseExact(text);
    return 'invalid JSON';
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw internalError(messageOf(error), { cause: error });
  }
}

function statusOf({ text }: Reply): StatusError | undefined {
  try {
    const value = JSON.parse(text) as Status | null;
    return value?.kind === 'Status' && value.status !== 'Success' ? new StatusError(value) : undefined;
  } catch {
    return undefined;
  }
}

const longestMessageBytes = 2048;

function unexpectedAnswer({ code, headers, text }: Reply): StatusError {
  const type = headers['content-type'];
  const isText = type === undefined || /^\s*text\//i.test(type);
  const shown = Buffer.from(text).subarray(0, longestMessageBytes).toString().trim();
  return genericServerResponse({
    code,
    method: 'POST',
    serverMessage: isText ? shown : 'unknown',
    retryAfterSeconds: retryAfter({ code, headers, text }) ?? 0,
    unexpected: true,
  });
}

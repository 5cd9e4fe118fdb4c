/**
 * Calls from components of the same process: the whole pipeline but authentication, since the composition root says who they are.
 * Bodies are copied on the way in; what comes back is frozen and shared with the cache and everybody else. Answers come in a later
 * macrotask and several at a time, so that a caller cannot starve the server, and behaves as it would over a network.
 */

import type { KubeObject } from '../apimachinery/meta.ts';
import { genericServerResponse, type Status, StatusError } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import { deepFreeze } from '../base/deep-freeze.ts';
import type { Transport, TransportRequest } from '../client/client.ts';
import { partsOf } from './encoding/list-encoding.ts';
import { objectMediaType } from './encoding/media-types.ts';
import { copyObject } from './registry/managed-fields.ts';
import type { ApiRequest, ApiResponse, RequestBody, UserInfo, WatchSource } from './request.ts';

export interface InProcessOptions {
  handle(request: ApiRequest): Promise<ApiResponse>;
  readonly clock: Clock;
  readonly user: UserInfo;
}

export function inProcessTransport(options: InProcessOptions): Transport {
  return new InProcessTransport(options);
}

class InProcessTransport implements Transport {
  readonly #options: InProcessOptions;
  readonly #due: (() => void)[] = [];
  readonly #streams = new Set<AbortController>();
  readonly #agent: string;
  #closed = false;

  constructor(options: InProcessOptions) {
    this.#options = options;
    this.#agent = agentOf(options.user.name);
  }

  async send(request: TransportRequest): Promise<unknown> {
    const { signal = neverAborted } = request;
    signal.throwIfAborted();
    const response = await this.#options.handle(this.#requestOf(request, signal, bodyOf(request)));
    await this.#turn();
    signal.throwIfAborted();
    if (this.#closed) throw closedError();
    return contentOf(request, response);
  }

  async *stream(
    request: TransportRequest,
  ): AsyncGenerator<{ readonly type: string; readonly object: unknown }, void, undefined> {
    const leaving = new AbortController();
    const { signal } = leaving;
    const leave = () => leaving.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', leave, { once: true });
    if (request.signal?.aborted) leave();
    this.#streams.add(leaving);
    try {
      signal.throwIfAborted();
      if (this.#closed) throw closedError();
      const response = await this.#options.handle(this.#requestOf(request, signal, { kind: 'none' }));
      await this.#turn();
      if (response.body.kind !== 'watch') {
        await contentOf(request, response);
        return;
      }
      yield* framesOf(response.body.events, signal);
      signal.throwIfAborted();
    } finally {
      this.#streams.delete(leaving);
      request.signal?.removeEventListener('abort', leave);
      leaving.abort();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#streams) stream.abort(closedError());
  }

  /** Resolves in a later macrotask, together with all others that wait for one. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#due.push(resolve);
      if (this.#due.length > 1) return;
      this.#options.clock.soon(() => {
        for (const settle of this.#due.splice(0)) settle();
      });
    });
  }

  #requestOf(request: TransportRequest, signal: AbortSignal, body: RequestBody): ApiRequest {
    const headers: Record<string, string> = { accept: request.accept ?? objectMediaType, 'user-agent': this.#agent };
    if (request.contentType !== undefined) headers['content-type'] = request.contentType;
    return {
      method: request.method,
      path: request.path.includes('%') ? decodeURIComponent(request.path) : request.path,
      query: request.query ? new URLSearchParams([...request.query]) : new URLSearchParams(),
      headers,
      body,
      remoteAddress: '',
      clientCertificates: [],
      user: this.#options.user,
      signal,
    };
  }
}

/** What the component would call itself over a network: managed fields bear this name. */
function agentOf(user: string): string {
  if (user.startsWith('system:serviceaccount:kube-system:')) return 'kube-controller-manager';
  if (user.startsWith('system:node:')) return 'kubelet';
  return user === 'system:apiserver' ? 'kube-apiserver' : user.slice(user.lastIndexOf(':') + 1);
}

/** For calls that nobody wants to end early. */
const neverAborted = new AbortController().signal;

function closedError(): Error {
  return new Error('the transport is closed');
}

async function* framesOf(events: WatchSource, signal: AbortSignal) {
  for (let batch = await events.takeBatch(); batch; batch = await events.takeBatch()) {
    for (const { type, object } of batch) {
      if (signal.aborted) return;
      yield { type, object };
    }
  }
}

function bodyOf({ body }: TransportRequest): RequestBody {
  return body === undefined ? { kind: 'none' } : { kind: 'value', value: copyObject(body as KubeObject) };
}

/** The answer as a client of HTTP would have decoded it; failures are thrown. */
async function contentOf({ method }: TransportRequest, { status, headers, body }: ApiResponse): Promise<unknown> {
  if (body.kind === 'object') {
    if (status >= 400) throw new StatusError(body.object as Status);
    return deepFreeze(body.object);
  }
  if (body.kind === 'none') return undefined;
  const chunks: Uint8Array[] = [];
  if (body.kind === 'bytes') chunks.push(...body.chunks);
  else if (body.kind === 'stream') for await (const chunk of body.chunks) chunks.push(...partsOf(chunk));
  const text = Buffer.concat(chunks).toString('utf8');
  if (status >= 400)
    throw genericServerResponse({ code: status, method, serverMessage: text.trim(), unexpected: true });
  const json = headers['content-type']?.startsWith('application/json') ?? false;
  return json ? deepFreeze(JSON.parse(text)) : text;
}

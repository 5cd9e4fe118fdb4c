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
import type { ApiRequest, ApiResponse, RequestBody, UserInfo, WatchFrame, WatchSource } from './request.ts';

export interface InProcessOptions {
  handle(request: ApiRequest): Promise<ApiResponse>;
  readonly clock: Clock;
  readonly user: UserInfo;
  /** `handle` itself answers in a later macrotask, as a simulated way does: no other is waited for. */
  readonly answersLater?: boolean | undefined;
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
    if (!this.#options.answersLater) await this.#turn();
    signal.throwIfAborted();
    if (this.#closed) throw closedError();
    return response.body.kind === 'object' ? objectOf(response.status, response.body) : contentOf(request, response);
  }

  stream(request: TransportRequest): AsyncIterable<StreamedEvent> {
    return {
      [Symbol.asyncIterator]: () =>
        new EventStream(this.#streams, { signal: request.signal, open: (signal) => this.#watch(request, signal) }),
    };
  }

  /** Undefined where the answer is no watch. */
  async #watch(request: TransportRequest, signal: AbortSignal): Promise<WatchSource | undefined> {
    if (this.#closed) throw closedError();
    const response = await this.#options.handle(this.#requestOf(request, signal, { kind: 'none' }));
    if (!this.#options.answersLater) await this.#turn();
    if (response.body.kind === 'watch') return response.body.events;
    await contentOf(request, response);
    return undefined;
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

interface StreamedEvent {
  readonly type: string;
  readonly object: unknown;
}

type NextEvent = IteratorResult<StreamedEvent, undefined>;

interface EventStreamOptions {
  /** The reader's. */
  readonly signal: AbortSignal | undefined;
  /** Begins the watch, which ends with the signal; undefined: there is nothing to tell. */
  open(signal: AbortSignal): Promise<WatchSource | undefined>;
}

/** One watch, event by event, opened with the first that is asked for. Written out, since each event would wait longer in a generator. */
class EventStream implements AsyncIterator<StreamedEvent, undefined> {
  readonly #open: EventStreamOptions['open'];
  readonly #reader: AbortSignal | undefined;
  readonly #all: Set<AbortController>;
  readonly #leaving = new AbortController();
  readonly #leave = () => this.#leaving.abort(this.#reader?.reason);
  #source: WatchSource | undefined;
  #batch: readonly WatchFrame[] = [];
  #position = 0;
  #isOver = false;
  /** Asked for and not answered yet, in order. */
  #asked = 0;
  #last: Promise<NextEvent> | undefined;

  /** `all`: of the streams that are open, what ends them. */
  constructor(all: Set<AbortController>, { signal, open }: EventStreamOptions) {
    this.#all = all;
    this.#reader = signal;
    this.#open = open;
  }

  next(): Promise<NextEvent> {
    const told = this.#asked++ > 0 ? this.#last!.then(this.#tell, this.#tell) : this.#tell();
    this.#last = told;
    return told;
  }

  async return(): Promise<NextEvent> {
    this.#end();
    return over;
  }

  readonly #tell = async (): Promise<NextEvent> => {
    try {
      while (!this.#isOver && this.#position === this.#batch.length) await this.#take();
      if (this.#isOver) return over;
      this.#leaving.signal.throwIfAborted();
      const { type, object } = this.#batch[this.#position++]!;
      return { done: false, value: { type, object } };
    } catch (error) {
      this.#end();
      throw error;
    } finally {
      this.#asked--;
    }
  };

  async #take(): Promise<void> {
    this.#source ??= await this.#begin();
    const batch = await this.#source?.takeBatch();
    if (this.#isOver) return;
    this.#batch = batch ?? [];
    this.#position = 0;
    if (batch) return;
    this.#leaving.signal.throwIfAborted();
    this.#end();
  }

  #begin(): Promise<WatchSource | undefined> {
    const { signal } = this.#leaving;
    this.#all.add(this.#leaving);
    this.#reader?.addEventListener('abort', this.#leave, { once: true });
    if (this.#reader?.aborted) this.#leave();
    signal.throwIfAborted();
    return this.#open(signal);
  }

  #end(): void {
    this.#isOver = true;
    this.#all.delete(this.#leaving);
    this.#reader?.removeEventListener('abort', this.#leave);
    this.#leaving.abort(streamOver);
  }
}

/** One for all: an abort without a reason makes an error of its own, with its stack. */
const streamOver = new Error('the watch has ended');

const over: NextEvent = { done: true, value: undefined };

function bodyOf({ body }: TransportRequest): RequestBody {
  return body === undefined ? { kind: 'none' } : { kind: 'value', value: copyObject(body as KubeObject) };
}

function objectOf(status: number, { object }: { readonly object: unknown }): unknown {
  if (status >= 400) throw new StatusError(object as Status);
  return deepFreeze(object);
}

/** The answer as a client of HTTP would have decoded it; failures are thrown. */
async function contentOf({ method }: TransportRequest, { status, headers, body }: ApiResponse): Promise<unknown> {
  if (body.kind === 'object') return objectOf(status, body);
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

/**
 * Joins policy and sinks to the pipeline: opens the trail of a request once it is known who asks, and ends it when the answer has gone
 * out. Long-running requests are told of when they are answered, too, for their end may be hours away.
 */
import type { Status } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { partsOf } from '../encoding/list-encoding.ts';
import type { ApiRequest, ApiResponse, Chunk, RequestInfo, ResponseBody, UserInfo } from '../request.ts';
import { type AuditPolicy, auditScope } from './policy.ts';
import type { AuditSink } from './sink.ts';
import { RequestTrail } from './trail.ts';

export interface AuditorOptions {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  readonly clock: Clock;
}

export interface KnownRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly auditID: string;
  readonly receivedAtMs: number;
}

export interface Trailed {
  readonly trail: RequestTrail;
  readonly request: ApiRequest;
  /** Watches, streams and proxies. */
  readonly longRunning: boolean;
}

export class Auditor {
  readonly #options: AuditorOptions;

  constructor(options: AuditorOptions) {
    this.#options = options;
  }

  /** Undefined when the policy does not ask for the request. Rejects with 500 when it cannot be told of but must be. */
  async begin(known: KnownRequest): Promise<RequestTrail | undefined> {
    const trail = this.#trail(known);
    await trail?.tell('RequestReceived');
    return trail;
  }

  /** A request from somebody unknown. */
  async refused(known: Omit<KnownRequest, 'user'>, code: number): Promise<void> {
    const trail = this.#trail({ ...known, user: { name: '', groups: [] } });
    trail?.responded(code, { metadata: {}, message: attempted(known.request) });
    await trail?.tell('ResponseStarted');
  }

  /** The response, whose body ends the trail where it is still to be sent. */
  async finish({ trail, request, longRunning }: Trailed, response: ApiResponse): Promise<ApiResponse> {
    const { body, status } = response;
    trail.responded(body.kind === 'taken' ? 101 : status, failureIn(body));
    if (longRunning) await trail.tell('ResponseStarted');
    const complete = async () => void (await trail.tell('ResponseComplete'));
    if (body.kind === 'watch') {
      body.events.onEnd(() => void complete());
      return response;
    }
    if (body.kind === 'stream') {
      const told = trail.tellsResponse && !longRunning;
      if (told && body.object) trail.responseObject(body.object());
      const chunks = told && isJson(response) ? collected(body.chunks, trail) : body.chunks;
      return { ...response, body: { ...body, chunks: thenDo(chunks, complete) } };
    }
    if (body.kind === 'taken') {
      request.upgrade?.socket.once('close', () => void complete());
      return response;
    }
    if (trail.tellsResponse) tellObject(trail, response);
    await complete();
    return response;
  }

  async close(): Promise<void> {
    await this.#options.sink.close();
  }

  #trail(known: KnownRequest): RequestTrail | undefined {
    const { policy, sink, clock } = this.#options;
    const { info, user } = known;
    const scope = auditScope(policy, user, info);
    return scope.level === 'None' ? undefined : new RequestTrail({ ...known, scope, sink, clock });
  }
}

function failureIn(body: ResponseBody): Status | undefined {
  if (body.kind !== 'object') return undefined;
  const status = body.object as Partial<Status> | undefined;
  return status?.kind === 'Status' && status.status !== 'Success' ? (status as Status) : undefined;
}

function tellObject(trail: RequestTrail, response: ApiResponse): void {
  const { body } = response;
  if (body.kind === 'object') trail.responseObject(body.object);
  else if (body.kind === 'bytes') {
    if (isJson(response)) trail.responseText(Buffer.concat(body.chunks).toString());
    else if (body.object) trail.responseObject(body.object());
  }
}

function isJson({ headers }: ApiResponse): boolean {
  return (headers['content-type'] ?? '').startsWith('application/json');
}

async function* collected(chunks: AsyncIterable<Chunk>, trail: RequestTrail): AsyncGenerator<Chunk> {
  const seen: Uint8Array[] = [];
  for await (const chunk of chunks) {
    seen.push(...partsOf(chunk));
    yield chunk;
  }
  trail.responseText(Buffer.concat(seen).toString());
}

/** Also when whoever reads goes away in the middle. */
async function* thenDo(items: AsyncIterable<Chunk>, step: () => Promise<void>): AsyncGenerator<Chunk> {
  try {
    yield* items;
  } finally {
    await step();
  }
}

/** How somebody unknown tried to prove who they are. */
function attempted({ headers, query, clientCertificates }: ApiRequest): string {
  const [scheme = '', credentials] = (headers.authorization ?? '').trim().split(' ');
  const ways = [
    ...(scheme.toLowerCase() === 'basic' ? ['basic'] : []),
    ...(scheme.toLowerCase() === 'bearer' && credentials !== undefined ? ['bearer'] : []),
    ...(query.get('access_token')?.trim() ? ['access_token'] : []),
    ...(clientCertificates.length > 0 ? ['x509'] : []),
  ];
  return ways.length > 0
    ? `Authentication failed, attempted: ${ways.join(', ')}`
    : 'Authentication failed, no credentials provided';
}

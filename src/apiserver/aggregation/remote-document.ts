/** One JSON document of a remote server, asked for by this server itself: bounded in time and size, never followed elsewhere. */
import type { Clock } from '../../base/clock.ts';
import { chunksOf } from '../node-proxy/backend-response.ts';
import type { UserInfo } from '../request.ts';
import type { RemoteServer } from './remote-server.ts';
import { userHeaders } from './user-headers.ts';

export interface Asking {
  readonly server: RemoteServer;
  /** As whom. */
  readonly user: UserInfo;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Default 5 s. */
  readonly timeoutMs?: number | undefined;
}

export interface JsonAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Empty without one. */
  readonly etag: string;
  /** Of a 200. */
  readonly value: unknown;
}

const defaultTimeoutMs = 5000;
const largestDocumentBytes = 64 << 20;

/** Rejects when there is no answer, or one that is no JSON. */
export async function askJson(
  { server, user, clock, signal: outer, timeoutMs = defaultTimeoutMs }: Asking,
  { path, accept, etag }: { readonly path: string; readonly accept: string; readonly etag?: string | undefined },
): Promise<JsonAnswer> {
  const limit = new AbortController();
  const timer = clock.after(timeoutMs, () => limit.abort(new Error('request timed out')));
  const onAbort = () => limit.abort(outer.reason);
  outer.addEventListener('abort', onAbort, { once: true });
  try {
    const headers = { ...userHeaders(user), accept, ...(etag ? { 'if-none-match': etag } : {}) };
    const answer = await server.send(server.locate(), { method: 'GET', path, headers, signal: limit.signal });
    if (answer.upgraded) {
      answer.socket.destroy();
      throw new Error('unexpected upgrade');
    }
    const { statusCode: status = 0, headers: told } = answer.response;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of chunksOf(answer.response, limit.signal)) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > largestDocumentBytes) throw new Error(`the document is longer than ${largestDocumentBytes} bytes`);
    }
    limit.signal.throwIfAborted();
    const value: unknown = status === 200 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    return { status, contentType: told['content-type'] ?? '', etag: told.etag ?? '', value };
  } finally {
    timer.cancel();
    outer.removeEventListener('abort', onAbort);
  }
}

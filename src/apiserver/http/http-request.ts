/** An `ApiRequest` of a socket, whichever version of HTTP it speaks. What costs something is made on first use. */
import type { Readable } from 'node:stream';
import { badRequest, requestEntityTooLarge, timeout } from '../../apimachinery/status.ts';
import type { Deadlines } from '../deadlines.ts';
import type { ApiRequest, RequestBody, UpgradeConnection, UserInfo } from '../request.ts';
import { type BodyTurns, longBodyBytes } from './body-turns.ts';

export interface HttpRequestParts {
  readonly method: string;
  /** As the client sent it, with query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly remoteAddress: string;
  readonly clientCertificates: readonly Buffer[];
  readonly upgrade?: UpgradeConnection | undefined;
}

export class HttpRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: RequestBody;
  readonly remoteAddress: string;
  readonly clientCertificates: readonly Buffer[];
  readonly upgrade: UpgradeConnection | undefined;
  user: UserInfo | undefined;
  #query: URLSearchParams | undefined;
  #controller: AbortController | undefined;
  #gone = false;

  /** Throws 400 for a path that is not properly encoded. */
  constructor(parts: HttpRequestParts) {
    const question = parts.target.indexOf('?');
    const path = question < 0 ? parts.target : parts.target.slice(0, question);
    this.method = parts.method;
    this.path = decodePath(path);
    this.search = question < 0 ? '' : parts.target.slice(question + 1);
    this.headers = parts.headers;
    this.body = parts.body;
    this.remoteAddress = parts.remoteAddress;
    this.clientCertificates = parts.clientCertificates;
    this.upgrade = parts.upgrade;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.search);
    return this.#query;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort(new Error('the client has gone away'));
    }
    return this.#controller.signal;
  }

  /** The client has gone, or the answer is complete. */
  abort(): void {
    this.#gone = true;
    this.#controller?.abort(new Error('the client has gone away'));
  }

  expire(): void {
    this.abort();
  }
}

function decodePath(path: string): string {
  if (!path.startsWith('/')) throw badRequest('the path of the request must begin with a slash');
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path of the request is not properly encoded');
  }
}

export const noBody: RequestBody = { kind: 'none' };

export interface BodyReading {
  /** For whole bodies to arrive. */
  readonly deadlines: Deadlines;
  readonly turns: BodyTurns;
}

/** A body that is read when somebody asks, once. */
export function streamedBody(stream: Readable, { deadlines, turns }: BodyReading): RequestBody {
  return {
    kind: 'bytes',
    // Whoever takes no more has an answer to give: the connection stays.
    pieces: () => stream.iterator({ destroyOnReturn: false }),
    read: (limitBytes) =>
      new Promise<Buffer>((resolve, reject) => {
        const chunks: Buffer[] = [];
        let size = 0;
        let settled = false;
        // The listeners stay: taking four off costs each request more than their being there.
        const finish = (settle: () => void) => {
          if (settled) return;
          settled = true;
          met();
          settle();
        };
        const onData = (chunk: Buffer) => {
          if (settled) return;
          size += chunk.length;
          if (size <= limitBytes) {
            chunks.push(chunk);
            return;
          }
          stream.pause();
          finish(() => reject(requestEntityTooLarge(`limit is ${limitBytes}`)));
        };
        const onEnd = () =>
          finish(() => {
            const arrived = () => {
              // Nobody is there any more to read the answer.
              if (stream.destroyed) reject(badRequest('unexpected EOF'));
              else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
            };
            if (size < longBodyBytes) arrived();
            else turns.take(arrived);
          });
        const onClose = () => finish(() => reject(badRequest('unexpected EOF')));
        const met = deadlines.add(() =>
          finish(() => reject(timeout('request did not complete within the allotted timeout'))),
        );
        if (stream.destroyed && !stream.readableEnded) onClose();
        else stream.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
      }),
  };
}

/**
 * Requests straight into the server's pipeline, bytes in and bytes out, as if a socket had brought them: what the server costs without HTTP
 * and TLS. Costs are processor time of the main thread, so that waiting for a disk or for other processes does not count.
 */
import { X509Certificate } from 'node:crypto';
import { partsOf } from '../../src/apiserver/encoding/list-encoding.ts';
import { HttpRequest, noBody } from '../../src/apiserver/http/http-request.ts';
import { encodeResponse, FrameJoiner } from '../../src/apiserver/http/response-encoding.ts';
import type { WatchSource } from '../../src/apiserver/request.ts';
import type { ApiServer } from '../../src/apiserver/server.ts';

export interface WriteRequest {
  readonly method: string;
  readonly target: string;
  readonly contentType?: string;
  readonly body?: string;
}

export interface Sent {
  /** Of the main thread, all requests together. */
  readonly microseconds: number;
  /** When asked for. */
  readonly bodies: readonly string[];
}

export interface SendOptions {
  /** Requests under way at a time. */
  readonly concurrency: number;
  readonly keepBodies?: boolean | undefined;
}

/** Processor time of this thread so far. */
export function threadMicroseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

export class DirectClient {
  readonly #server: ApiServer;
  readonly #chain: readonly Buffer[];
  readonly #watches: WatchSource[] = [];

  /** `certificatePem` says who asks. */
  constructor(server: ApiServer, certificatePem: string) {
    this.#server = server;
    this.#chain = [new X509Certificate(certificatePem).raw];
  }

  /** Throws at the first answer that is no success. */
  async send(requests: readonly WriteRequest[], { concurrency, keepBodies = false }: SendOptions): Promise<Sent> {
    const bodies: string[] = [];
    const encoded = requests.map(({ body }) => (body === undefined ? undefined : Buffer.from(body)));
    let next = 0;
    const began = threadMicroseconds();
    const work = async () => {
      while (next < requests.length) {
        const index = next++;
        const bytes = await this.#answer(requests[index]!, encoded[index]);
        if (keepBodies) bodies[index] = bytes.toString();
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return { microseconds: threadMicroseconds() - began, bodies };
  }

  /** Watches that throw away what they are told; `told` counts its events. */
  async watch(target: string, watchers: number): Promise<void> {
    const joiner = new FrameJoiner();
    for (let i = 0; i < watchers; i++) {
      const request = this.#request({ method: 'GET', target });
      const { body } = await encodeResponse(request, await this.#server.handle(request));
      if (body.kind !== 'watch') throw new Error(`${target} was not answered with a watch`);
      body.frames.pumpTo({ write: (batch) => void joiner.join(batch), end() {} });
      this.#watches.push(body.frames);
    }
  }

  unwatch(): void {
    for (const frames of this.#watches.splice(0)) frames.cancel();
  }

  async #answer(asked: WriteRequest, bytes: Buffer | undefined): Promise<Buffer> {
    const request = this.#request(asked, bytes);
    const { status, body } = await encodeResponse(request, await this.#server.handle(request));
    if (status >= 300) {
      const told = body.kind === 'bytes' ? body.bytes.toString() : '';
      throw new Error(`${asked.method} ${asked.target} was answered with ${status} ${told}`);
    }
    if (body.kind === 'bytes') return body.bytes;
    if (body.kind !== 'stream') throw new Error(`${asked.method} ${asked.target} was answered without bytes`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body.chunks) chunks.push(...partsOf(chunk));
    return Buffer.concat(chunks);
  }

  #request({ method, target, contentType }: WriteRequest, body?: Buffer): HttpRequest {
    return new HttpRequest({
      method,
      target,
      headers: contentType === undefined ? {} : { 'content-type': contentType, 'user-agent': 'bench/1' },
      body: body === undefined ? noBody : { kind: 'bytes', read: () => Promise.resolve(body) },
      remoteAddress: '127.0.0.1',
      clientCertificates: this.#chain,
    });
  }
}

/** The kernel counts in ticks of some milliseconds, so that little work is done often enough to be seen. */
const leastRepetitions = 5000;

/**
 * What requests are held against: the parse of each one's text, where it has one, and the encoding of each object as it is stored; in
 * microseconds for one request.
 */
export function baseline(requests: readonly WriteRequest[], stored: readonly string[]): number {
  const objects = stored.map((text) => JSON.parse(text) as unknown);
  const repetitions = Math.ceil(leastRepetitions / objects.length);
  let checksum = 0;
  const began = threadMicroseconds();
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (let i = 0; i < objects.length; i++) {
      const body = requests[i]?.body;
      if (body !== undefined) checksum += Object.keys(JSON.parse(body) as object).length;
      checksum += JSON.stringify(objects[i]).length;
    }
  }
  const took = threadMicroseconds() - began;
  if (checksum === 0) throw new Error('nothing was encoded');
  return took / repetitions / objects.length;
}

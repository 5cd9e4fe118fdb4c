/**
 * An `ApiResponse` as bytes: objects encoded as the client asked, big answers compressed for who is far away and takes it. Watches and
 * long lists stay streams; the two versions of HTTP write them as they can.
 */

import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { encodeAny } from '../encoding/json.ts';
import { joinedChunks, partsOf } from '../encoding/list-encoding.ts';
import { encodeIn } from '../encoding/media-types.ts';
import { negotiate } from '../encoding/negotiation.ts';
import type { ApiRequest, ApiResponse, Chunk, WatchFrame, WatchSource } from '../request.ts';

export type EncodedBody =
  | { readonly kind: 'taken' }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Chunk> }
  | { readonly kind: 'watch'; readonly frames: WatchSource };

export interface EncodedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: EncodedBody;
}

/** Smaller answers are not worth the work. */
const compressedFromBytes = 128 * 1024;
const gzipLevel = 1;
const compress = promisify(gzip);

export async function encodeResponse(request: ApiRequest, response: ApiResponse): Promise<EncodedResponse> {
  const { body, weighed } = response;
  const headers: Record<string, string> = { 'cache-control': 'no-cache, private', ...response.headers };
  switch (body.kind) {
    case 'none':
      return withLength(response.status, headers, empty);
    case 'taken':
      return { status: response.status, headers, body: { kind: 'taken' } };
    case 'object': {
      const { contentType, bytes } = encodeObjectBody(request, body.object);
      headers['content-type'] ??= contentType;
      weighed?.(bytes.length);
      return withLength(response.status, headers, bytes);
    }
    case 'bytes': {
      const bytes = joined(body.chunks);
      weighed?.(bytes.length);
      if (bytes.length < compressedFromBytes || !wantsGzip(request)) return withLength(response.status, headers, bytes);
      const compressed = await compress(bytes, { level: gzipLevel });
      return withLength(response.status, { ...headers, ...gzipHeaders }, compressed);
    }
    case 'stream': {
      const pieces = weighed ? weighing(body.chunks, weighed) : body.chunks;
      if (body.live || !wantsGzip(request)) {
        return { status: response.status, headers, body: { kind: 'stream', chunks: pieces } };
      }
      const chunks = Readable.from(joinedChunks(pieces)).pipe(createGzip({ level: gzipLevel }));
      return { status: response.status, headers: { ...headers, ...gzipHeaders }, body: { kind: 'stream', chunks } };
    }
    case 'watch':
      return { status: response.status, headers, body: { kind: 'watch', frames: body.events } };
  }
}

/** Tells the size when all has been taken. */
async function* weighing(chunks: AsyncIterable<Chunk>, weighed: (bytes: number) => void): AsyncGenerator<Chunk, void> {
  let size = 0;
  for await (const chunk of chunks) {
    for (const part of partsOf(chunk)) size += part.length;
    yield chunk;
  }
  weighed(size);
}

/** Makes bytes of batches. Watchers of the same things get equal batches, which are joined once. */
export class FrameJoiner {
  readonly #joined = new WeakMap<WatchFrame, { readonly frames: readonly WatchFrame[]; readonly bytes: Buffer }>();

  join(frames: readonly WatchFrame[]): Buffer {
    const first = frames[0]!;
    if (frames.length === 1) return first.encoded();
    const known = this.#joined.get(first);
    if (known && sameFrames(known.frames, frames)) return known.bytes;
    const bytes = Buffer.concat(frames.map((frame) => frame.encoded()));
    this.#joined.set(first, { frames, bytes });
    return bytes;
  }
}

function sameFrames(a: readonly WatchFrame[], b: readonly WatchFrame[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

const empty = Buffer.alloc(0);
const gzipHeaders = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } as const;

/** A client that accepts nothing we write still gets to read why its request failed. */
function encodeObjectBody(request: ApiRequest, object: unknown): { contentType: string; bytes: Buffer } {
  try {
    const { format, pretty } = negotiate(request);
    if (format.name !== 'object') return { contentType: format.mediaType, bytes: encodeIn(format, object, pretty) };
  } catch {
    // Falls through to JSON.
  }
  return { contentType: 'application/json', bytes: encodeAny(object) };
}

function withLength(status: number, headers: Record<string, string>, bytes: Buffer): EncodedResponse {
  if (status !== 304) headers['content-length'] = String(bytes.length);
  return { status, headers, body: { kind: 'bytes', bytes } };
}

function joined(chunks: readonly Uint8Array[]): Buffer {
  const [first] = chunks;
  if (chunks.length === 1 && Buffer.isBuffer(first)) return first;
  return Buffer.concat(chunks);
}

function wantsGzip({ headers, remoteAddress }: ApiRequest): boolean {
  return !isLoopback(remoteAddress) && /\bgzip\b(?!;q=0(\.0*)?\b)/.test(headers['accept-encoding'] ?? '');
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

/**
 * SPDY/3.1 frames, as far as the streaming protocols of Kubernetes use them. A frame is a control frame (type, flags, payload) or a
 * data frame (stream, flags, bytes); header blocks are compressed with one zlib context per direction.
 *
 *     control: 1 | version 15 bits | type 16 bits | flags 8 | length 24 | payload
 *     data:    0 | stream  31 bits                | flags 8 | length 24 | bytes
 */
import { constants, createDeflate, createInflate } from 'node:zlib';
import { headerDictionary } from './header-dictionary.ts';

export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
export const finFlag = 1;
const version = 3;
const headLength = 8;
/** Kubernetes' peers send at most 32 KiB a frame; this stops a peer that announces gigabytes. */
const largestFrame = 4 << 20;

export type Frame =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  | { readonly kind: 'data'; readonly streamId: number; readonly flags: number; readonly payload: Buffer };

export type Headers = Readonly<Record<string, string>>;

class SpdyError extends Error {
  override readonly name = 'SpdyError';
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #pending: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const frames: Frame[] = [];
    while (this.#pending.length >= headLength) {
      const first = this.#pending.readUInt32BE(0);
      const flags = this.#pending[4]!;
      const length = this.#pending.readUIntBE(5, 3);
      if (length > largestFrame) throw new SpdyError(`frame of ${length} bytes`);
      if (this.#pending.length < headLength + length) break;
      const payload = this.#pending.subarray(headLength, headLength + length);
      this.#pending = this.#pending.subarray(headLength + length);
      if (first >>> 31 === 0) frames.push({ kind: 'data', streamId: first, flags, payload });
      else frames.push({ kind: 'control', type: first & 0xffff, flags, payload });
    }
    return frames;
  }
}

export function dataFrame(streamId: number, payload: Uint8Array, fin: boolean): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt32BE(streamId, 0);
  head[4] = fin ? finFlag : 0;
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

export function controlFrame(type: number, flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head[4] = flags;
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

/** A payload of 32-bit numbers. */
export function numbers(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => {
    buffer.writeUInt32BE(value >>> 0, 4 * index);
  });
  return buffer;
}

/** Compresses header blocks; every block depends on all before it, so calls must be made in the order the frames are sent. */
export class HeaderEncoder {
  readonly #deflate = createDeflate({ dictionary: headerDictionary(), flush: constants.Z_SYNC_FLUSH });

  encode(headers: Headers): Promise<Buffer> {
    const entries = Object.entries(headers);
    const parts: Buffer[] = [numbers(entries.length)];
    for (const [name, value] of entries)
      for (const text of [Buffer.from(name.toLowerCase()), Buffer.from(value)]) parts.push(numbers(text.length), text);
    return through(this.#deflate, Buffer.concat(parts));
  }

  close(): void {
    this.#deflate.close();
  }
}

export class HeaderDecoder {
  readonly #inflate = createInflate({ dictionary: headerDictionary(), flush: constants.Z_SYNC_FLUSH });

  async decode(block: Buffer): Promise<Headers> {
    const text = await through(this.#inflate, block);
    const headers: Record<string, string> = Object.create(null);
    let at = 0;
    const word = () => {
      const length = text.readUInt32BE(at);
      at += 4 + length;
      if (at > text.length) throw new SpdyError('header block cut short');
      return text.toString('utf8', at - length, at);
    };
    if (text.length < 4) throw new SpdyError('empty header block');
    const count = text.readUInt32BE(0);
    at = 4;
    for (let i = 0; i < count; i++) {
      const name = word();
      headers[name] = word();
    }
    return headers;
  }

  close(): void {
    this.#inflate.close();
  }
}

/** What a zlib stream makes of one chunk, flushed. */
function through(
  stream: ReturnType<typeof createDeflate> | ReturnType<typeof createInflate>,
  chunk: Buffer,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(new SpdyError(`header compression: ${error.message}`));
    stream.once('error', onError);
    stream.write(chunk, () => {
      stream.removeListener('error', onError);
      const parts: Buffer[] = [];
      for (let part = stream.read() as Buffer | null; part; part = stream.read() as Buffer | null) parts.push(part);
      resolve(Buffer.concat(parts));
    });
  });
}

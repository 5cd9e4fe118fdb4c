/**
 * A client of watches that costs next to nothing, so that the server is measured and not its clients: it speaks as much HTTP/2 as a watch
 * needs, opens its windows as wide as they go, and looks into what arrives for ends of lines alone.
 */
import { connect, type TLSSocket } from 'node:tls';
import type { Access } from './https-client.ts';

export interface Counted {
  /** Lines, of each watch. */
  readonly events: number[];
  bytes: number;
  /** Why the first of the watches that ended did so; none is meant to. */
  failure?: Error;
}

const frames = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const headLength = 9;
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const largestWindow = 2 ** 31 - 1;
const firstWindow = 65_535;
const renewedWindow = 2 ** 29;
const maxFrameBytes = 2 ** 20;
const newline = 10;
/** `:status: 200` by the static table of HPACK, which comes first. */
const status200 = 0x88;

/**
 * Opens one connection with a watch of `path` for each of `watches`, by their place in `counted`; resolves when all have begun, each with status
 * 200. Whatever ends one afterwards is `counted.failure`.
 */
export async function countOn(
  access: Access,
  { path, watches, counted }: { readonly path: string; readonly watches: readonly number[]; readonly counted: Counted },
): Promise<void> {
  const { hostname, port, host } = new URL(access.url);
  const { ca, certificate: cert, key } = access;
  const socket = connect({ host: hostname, port: Number(port), ca, cert, key, ALPNProtocols: ['h2'] });
  const begun = Promise.withResolvers<void>();
  const onFailed = (error: Error) => {
    counted.failure ??= error;
    begun.reject(error);
  };
  socket.on('error', onFailed);
  socket.once('close', () => onFailed(new Error('the connection of a watch was closed')));
  const counter = new FrameCounter(socket, { watches, counted, onBegun: begun.resolve, onFailed });
  socket.on('data', (chunk: Buffer) => counter.take(chunk));
  const settings = Buffer.alloc(18);
  for (const [i, [id, value]] of [
    [2, 0],
    [4, largestWindow],
    [5, maxFrameBytes],
  ].entries()) {
    settings.writeUInt16BE(id!, i * 6);
    settings.writeUInt32BE(value!, i * 6 + 2);
  }
  socket.write(Buffer.concat([Buffer.from(preface), frame(frames.settings, 0, 0, settings)]));
  socket.write(windowUpdate(0, largestWindow - firstWindow));
  const head = requestHead(path, host);
  for (const i of watches.keys()) {
    counted.events[watches[i]!] = 0;
    socket.write(frame(frames.headers, flags.endStream | flags.endHeaders, streamOf(i), head));
  }
  await begun.promise;
}

const streamOf = (i: number) => 2 * i + 1;
const watchOf = (stream: number) => (stream - 1) / 2;

interface CounterOptions {
  readonly watches: readonly number[];
  readonly counted: Counted;
  onBegun(): void;
  onFailed(error: Error): void;
}

/** Cuts what arrives into frames; of a frame that has not come whole, what is there is counted. */
class FrameCounter {
  readonly #socket: TLSSocket;
  readonly #options: CounterOptions;
  readonly #unread: number[];
  #connectionUnread = 0;
  #begun = 0;
  /** Of a frame's head, or of a short frame that is not data. */
  #pending = Buffer.alloc(0);
  #stream = 0;
  #dataLeft = 0;

  constructor(socket: TLSSocket, options: CounterOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#unread = options.watches.map(() => 0);
  }

  take(chunk: Buffer): void {
    let at = 0;
    if (this.#pending.length > 0) {
      chunk = Buffer.concat([this.#pending, chunk]);
      this.#pending = Buffer.alloc(0);
    }
    while (at < chunk.length) {
      if (this.#dataLeft > 0) {
        const end = Math.min(chunk.length, at + this.#dataLeft);
        this.#count(chunk, at, end);
        this.#dataLeft -= end - at;
        at = end;
        continue;
      }
      const length = chunk.length - at < headLength ? Number.NaN : chunk.readUIntBE(at, 3);
      const type = chunk[at + 3];
      if (type === frames.data && !Number.isNaN(length)) {
        this.#stream = chunk.readUInt32BE(at + 5);
        this.#dataLeft = length;
        this.#checkEnd(chunk[at + 4]!);
        at += headLength;
      } else if (at + headLength + length <= chunk.length) {
        this.#control(chunk.subarray(at, at + headLength + length));
        at += headLength + length;
      } else {
        this.#pending = Buffer.from(chunk.subarray(at));
        return;
      }
    }
  }

  #count(chunk: Buffer, from: number, to: number): void {
    const { watches, counted } = this.#options;
    const watch = watchOf(this.#stream);
    let lines = 0;
    for (let at = chunk.indexOf(newline, from); at >= 0 && at < to; at = chunk.indexOf(newline, at + 1)) lines++;
    counted.events[watches[watch]!]! += lines;
    counted.bytes += to - from;
    this.#connectionUnread += to - from;
    this.#unread[watch]! += to - from;
    if (this.#unread[watch]! >= renewedWindow) {
      this.#socket.write(windowUpdate(this.#stream, this.#unread[watch]!));
      this.#unread[watch] = 0;
    }
    if (this.#connectionUnread < renewedWindow) return;
    this.#socket.write(windowUpdate(0, this.#connectionUnread));
    this.#connectionUnread = 0;
  }

  #control(bytes: Buffer): void {
    const { onFailed } = this.#options;
    const type = bytes[3];
    const isAck = (bytes[4]! & flags.ack) !== 0;
    if (type === frames.headers) this.#begin(bytes);
    if (type === frames.rstStream)
      onFailed(new Error(`the server reset a watch with code ${bytes.readUInt32BE(headLength)}`));
    if (type === frames.settings && !isAck) this.#socket.write(frame(frames.settings, flags.ack, 0, Buffer.alloc(0)));
    if (type === frames.ping && !isAck)
      this.#socket.write(frame(frames.ping, flags.ack, 0, bytes.subarray(headLength)));
    if (type === frames.goaway) onFailed(new Error('the server ended the connection'));
  }

  #begin(bytes: Buffer): void {
    const { watches, onBegun, onFailed } = this.#options;
    this.#checkEnd(bytes[4]!);
    if (bytes[headLength] !== status200)
      onFailed(new Error('the server answered a watch with another status than 200'));
    else if (++this.#begun === watches.length) onBegun();
  }

  #checkEnd(flag: number): void {
    if ((flag & flags.endStream) !== 0) this.#options.onFailed(new Error('the server ended a watch'));
  }
}

function frame(type: number, flag: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(frames.windowUpdate, 0, stream, payload);
}

/** GET over https, by the static table of HPACK; the rest is literal and not to be remembered. */
function requestHead(path: string, authority: string): Buffer {
  const literal = (index: number, text: string) =>
    Buffer.concat([Buffer.from([index, text.length]), Buffer.from(text, 'latin1')]);
  return Buffer.concat([Buffer.from([0x82, 0x87]), literal(4, path), literal(1, authority)]);
}

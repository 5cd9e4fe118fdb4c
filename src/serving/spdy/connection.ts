/**
 * One SPDY/3.1 connection over an upgraded socket, either end: streams are opened by one side, named by headers, and carry bytes both
 * ways until each side has finished its half. Kubernetes' peers do no flow control; neither does this, but what waits for a slow reader is
 * bounded by pausing the socket.
 */
import type { Duplex } from 'node:stream';
import {
  controlFrame,
  dataFrame,
  type Frame,
  FrameReader,
  finFlag,
  frameType,
  HeaderDecoder,
  HeaderEncoder,
  type Headers,
  numbers,
} from './frames.ts';

export interface SpdyStream {
  readonly id: number;
  readonly headers: Headers;
  /** What the other side sends, until it finishes or resets. */
  readonly incoming: AsyncIterable<Uint8Array>;
  /** Resolves when the socket can take more. */
  write(chunk: Uint8Array): Promise<void>;
  /** Nothing more will be written. */
  finish(): void;
  reset(): void;
}

export interface SpdyConnectionOptions {
  readonly role: 'client' | 'server';
  /** Called for each stream that the other side opens. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** Called once, when the connection is over. */
  readonly onClose?: () => void;
}

/** Bytes that may wait for readers, all streams together, before the socket is read no further. */
const pauseAbove = 1 << 20;

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #streams = new Map<number, StreamState>();
  readonly #reader = new FrameReader();
  readonly #encoder = new HeaderEncoder();
  readonly #decoder = new HeaderDecoder();
  #nextId: number;
  #closed = false;
  #waitingBytes = 0;
  /** Frames are handled one after the other: decompressing headers takes a turn. */
  #handling: Promise<void> = Promise.resolve();
  #sending: Promise<void> = Promise.resolve();
  #draining: Promise<void> | undefined;

  constructor(socket: Duplex, head: Buffer, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.role === 'client' ? 1 : 2;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    // What came before it broke still counts.
    socket.on('error', () => this.#afterHandling());
    socket.on('end', () => this.#afterHandling());
    socket.on('close', () => this.#afterHandling());
    if (head.length > 0) this.#receive(head);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Opens a stream; resolves once it is announced. */
  async open(headers: Headers): Promise<SpdyStream> {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#create(id, headers);
    await this.#sendHeaders(frameType.synStream, numbers(id, 0), Buffer.alloc(2), headers);
    return stream;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const stream of this.#streams.values()) stream.end();
    this.#streams.clear();
    this.#socket.destroy();
    this.#encoder.close();
    this.#decoder.close();
    this.#options.onClose?.();
  }

  /** Says goodbye and closes once everything written has left. */
  async end(): Promise<void> {
    await this.#sending;
    if (this.#closed) return;
    this.#socket.write(controlFrame(frameType.goAway, 0, numbers(0, 0)));
    await new Promise<void>((resolve) => this.#socket.end(() => resolve()));
    this.close();
  }

  #afterHandling(): void {
    void this.#handling.then(() => this.close());
  }

  #receive(chunk: Buffer): void {
    this.#handling = this.#handling
      .then(async () => {
        for (const frame of this.#reader.push(chunk)) await this.#handle(frame);
      })
      .catch(() => this.close());
  }

  async #handle(frame: Frame): Promise<void> {
    if (this.#closed) return;
    if (frame.kind === 'data') {
      const stream = this.#streams.get(frame.streamId);
      if (frame.payload.length > 0) stream?.deliver(frame.payload);
      if (frame.flags & finFlag) stream?.end();
      return;
    }
    const { payload } = frame;
    switch (frame.type) {
      case frameType.synStream: {
        const id = payload.readUInt32BE(0) & 0x7fffffff;
        const headers = await this.#decoder.decode(payload.subarray(10));
        const stream = this.#create(id, headers);
        await this.#sendHeaders(frameType.synReply, numbers(id), Buffer.alloc(0), {});
        if (frame.flags & finFlag) stream.end();
        this.#options.onStream?.(stream);
        return;
      }
      case frameType.synReply:
      case frameType.headers:
        // The block must pass through the decoder even when nobody asks for it: later ones depend on it.
        await this.#decoder.decode(payload.subarray(4));
        if (frame.flags & finFlag) this.#streams.get(payload.readUInt32BE(0) & 0x7fffffff)?.end();
        return;
      case frameType.rstStream:
        this.#streams.get(payload.readUInt32BE(0) & 0x7fffffff)?.resetByPeer();
        return;
      case frameType.ping:
        // An odd id was the client's own; only the other side's are echoed.
        if ((payload.readUInt32BE(0) % 2 === 1) === (this.#options.role === 'server'))
          this.#socket.write(controlFrame(frameType.ping, 0, payload));
        return;
      case frameType.goAway:
        this.#afterHandling();
        return;
      default:
        return;
    }
  }

  #create(id: number, headers: Headers): StreamState {
    const stream = new StreamState(id, headers, {
      send: (payload, fin) => this.#sendData(id, payload, fin),
      reset: () => {
        this.#streams.delete(id);
        if (!this.#closed) this.#socket.write(controlFrame(frameType.rstStream, 0, numbers(id, 5)));
      },
      waiting: (change) => this.#account(change),
      done: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  #account(change: number): void {
    const before = this.#waitingBytes;
    this.#waitingBytes += change;
    if (before <= pauseAbove && this.#waitingBytes > pauseAbove) this.#socket.pause();
    else if (before > pauseAbove && this.#waitingBytes <= pauseAbove) this.#socket.resume();
  }

  /** Header blocks leave in the order they were compressed. */
  #sendHeaders(type: number, before: Buffer, after: Buffer, headers: Headers): Promise<void> {
    this.#sending = this.#sending.then(async () => {
      if (this.#closed) return;
      const block = await this.#encoder.encode(headers);
      this.#socket.write(controlFrame(type, 0, Buffer.concat([before, after, block])));
    });
    return this.#sending;
  }

  async #sendData(id: number, payload: Uint8Array, fin: boolean): Promise<void> {
    // Bytes of a stream must not overtake its announcement.
    await this.#sending;
    if (this.#closed) return;
    if (this.#socket.write(dataFrame(id, payload, fin))) return;
    // All streams wait for the same socket.
    this.#draining ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#draining = undefined;
        this.#socket.removeListener('drain', done);
        this.#socket.removeListener('close', done);
        resolve();
      };
      this.#socket.once('drain', done);
      this.#socket.once('close', done);
    });
    await this.#draining;
  }
}

interface StreamOutlet {
  send(payload: Uint8Array, fin: boolean): Promise<void>;
  reset(): void;
  /** So many bytes more, or less, wait for the reader. */
  waiting(change: number): void;
  /** Both sides have finished. */
  done(): void;
}

class StreamState implements SpdyStream {
  readonly id: number;
  readonly headers: Headers;
  readonly incoming: AsyncIterable<Uint8Array>;
  readonly #outlet: StreamOutlet;
  readonly #queue: Uint8Array[] = [];
  #ended = false;
  #dropped = false;
  #finished = false;
  #wake: (() => void) | undefined;

  constructor(id: number, headers: Headers, outlet: StreamOutlet) {
    this.id = id;
    this.headers = headers;
    this.#outlet = outlet;
    this.incoming = this.#read();
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.#finished ? Promise.resolve() : this.#outlet.send(chunk, false);
  }

  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    void this.#outlet.send(new Uint8Array(0), true);
    if (this.#ended) this.#outlet.done();
  }

  reset(): void {
    this.#drop();
    this.end();
    this.#finished = true;
    this.#outlet.reset();
  }

  resetByPeer(): void {
    this.#finished = true;
    this.end();
  }

  deliver(chunk: Uint8Array): void {
    if (this.#dropped || this.#ended) return;
    this.#queue.push(chunk);
    this.#outlet.waiting(chunk.length);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    if (this.#finished) this.#outlet.done();
    this.#wake?.();
  }

  /** Nobody will read any more: what waits must not hold up the other streams. */
  #drop(): void {
    this.#dropped = true;
    for (const chunk of this.#queue.splice(0)) this.#outlet.waiting(-chunk.length);
  }

  async *#read(): AsyncIterable<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#queue.shift();
        if (chunk) {
          this.#outlet.waiting(-chunk.length);
          yield chunk;
        } else if (this.#ended) return;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.#drop();
    }
  }
}

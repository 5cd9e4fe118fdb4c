/** Clients who do not read, and such as only talk; what is told to those who listen: `test/api/watches-over-web-sockets.test.ts`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../testing/eventually.ts';
import type { FrameSink, WatchFrame, WatchSource } from '../request.ts';
import { answerOverWebSocket } from './web-socket-answer.ts';

/** A connection whose other end reads only when it is told to. */
class Connection extends Duplex {
  written = 0;
  #reads = true;
  #pending: (() => void) | undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.length;
    if (this.#reads) done();
    else this.#pending = done;
  }

  stopReading(): void {
    this.#reads = false;
  }

  readAgain(): void {
    this.#reads = true;
    this.#pending?.();
  }
}

const headers = { upgrade: 'websocket', origin: 'https://page.example.com', 'sec-websocket-version': '13' };
const request = {
  method: 'GET',
  url: '/',
  headers: { ...headers, 'sec-websocket-key': Buffer.alloc(16).toString('base64') },
} as unknown as IncomingMessage;

/** Resolves with what the watch is told through, once the client has been answered. */
async function openWatch(socket: Connection): Promise<{ readonly sink: FrameSink; readonly cancelled: () => boolean }> {
  let cancelled = false;
  const sink = await new Promise<FrameSink>((resolve, reject) => {
    const frames: WatchSource = {
      pumpTo: resolve,
      takeBatch: () => Promise.resolve(undefined),
      cancel: () => {
        cancelled = true;
      },
      onEnd: () => {},
    };
    const body = { kind: 'watch', frames } as const;
    answerOverWebSocket({ request, socket, head: Buffer.alloc(0) }, { status: 101, headers: {}, body }).catch(reject);
  });
  return { sink, cancelled: () => cancelled };
}

const frame: WatchFrame = { type: 'ADDED', object: {}, encoded: () => Buffer.alloc(1 << 20, '{') };

test('a watch waits for who does not read, and goes on when they do', async () => {
  const socket = new Connection();
  const { sink } = await openWatch(socket);
  assert.equal(sink.write([{ ...frame, encoded: () => Buffer.from('{}') }]), undefined);
  socket.stopReading();
  const waiting = sink.write([frame]);
  assert.ok(waiting instanceof Promise);
  socket.readAgain();
  await waiting;
  socket.destroy();
});

test('answers to pings do not pile up before a client who reads none of them', async () => {
  const socket = new Connection();
  await openWatch(socket);
  socket.stopReading();
  // Masked with zeros, as a client's must be masked with something.
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 'x')]);
  socket.push(Buffer.concat(Array.from({ length: 10_000 }, () => ping)));
  await eventually(() => socket.readableLength === 0);
  assert.ok(socket.writableLength < 128 * 1024, `${socket.writableLength} bytes wait`);
  socket.destroy();
});

test('a client who says more than anybody would listen to is cut off, and the watch ends', async () => {
  const socket = new Connection();
  const { cancelled } = await openWatch(socket);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(1n << 40n);
  const closed = once(socket, 'close');
  socket.push(Buffer.concat([Buffer.from([0x82, 0x80 | 127]), length, Buffer.alloc(4)]));
  await closed;
  assert.ok(cancelled());
});

/** Calls from both ends, over a socket of this machine and over TCP. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { systemClock } from '../clock.ts';
import { messageCodec } from '../protobuf/message-codec.ts';
import { grpcErrorOf } from './error.ts';
import {
  connectGrpc,
  type GrpcConnection,
  GrpcError,
  type GrpcServer,
  grpcCodeName,
  grpcCodes,
  grpcServer,
} from './index.ts';

const word = messageCodec({ text: [1, 'string'] } as const);
const path = (name: string) => `/test.Words/${name}`;
const echo = { path: path('Echo'), request: word, response: word };
const spell = { path: path('Spell'), request: word, response: word };
const talk = { path: path('Talk'), request: word, response: word };

const transports: readonly {
  readonly name: string;
  address(t: TestContext): string;
  target(address: string, port: number): string;
}[] = [
  {
    name: 'a socket',
    address: (t) => `unix://${join(temporaryFolder(t), 'a.sock')}`,
    target: (address) => address,
  },
  { name: 'TCP', address: () => '127.0.0.1:0', target: (_, port) => `127.0.0.1:${port}` },
];

for (const { name, address, target } of transports) {
  describe(`gRPC over ${name}`, () => {
    /** Connected to a server that has been given its methods. */
    async function connected(
      t: TestContext,
      serve: (server: GrpcServer) => void,
      clock = new FakeClock(),
    ): Promise<GrpcConnection> {
      const server = await grpcServer();
      serve(server);
      const where = address(t);
      const port = await server.listen(where);
      const connection = await connectGrpc({ clock, target: target(where, port), requestTimeoutMs: 1000 });
      t.after(() => {
        connection.close();
        server.close();
      });
      return connection;
    }

    it('gives an answer as it was given', async (t) => {
      const connection = await connected(t, (server) => server.unary(echo, async ({ text }) => ({ text: `${text}!` })));
      assert.deepEqual(await connection.unary(echo, { text: 'a' }), { text: 'a!' });
    });

    it('tells a failure with its code and Go´s words, and any other error as of no known kind', async (t) => {
      const errors = [new GrpcError(grpcCodes.notFound, 'no such word'), new Error('oops')];
      const connection = await connected(t, (server) => server.unary(echo, () => Promise.reject(errors.shift())));
      await assert.rejects(connection.unary(echo, {}), {
        code: grpcCodes.notFound,
        details: 'no such word',
        message: 'rpc error: code = NotFound desc = no such word',
      });
      await assert.rejects(connection.unary(echo, {}), { code: grpcCodes.unknown, details: 'oops' });
    });

    it('has no method that nobody handles', async (t) => {
      const connection = await connected(t, () => {});
      await assert.rejects(connection.unary(echo, {}), { code: grpcCodes.unimplemented });
    });

    it('ends a call by its limit, and by the connection´s, and the server learns that the caller is gone', async (t) => {
      const clock = new FakeClock();
      let asked = Promise.withResolvers<void>();
      let gone = Promise.withResolvers<void>();
      const connection = await connected(
        t,
        (server) =>
          server.unary(echo, (_, signal) => {
            signal.addEventListener('abort', () => gone.resolve());
            asked.resolve();
            return new Promise<never>(() => {});
          }),
        clock,
      );
      for (const [settings, limitMs] of [
        [{ timeoutMs: 500 }, 500],
        [{}, 1000],
      ] as const) {
        const failed = assert.rejects(connection.unary(echo, {}, settings), {
          code: grpcCodes.deadlineExceeded,
          message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
        });
        await asked.promise;
        await clock.advance(limitMs);
        await failed;
        await gone.promise;
        [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      }
    });

    it('ends a call by its signal, whose reason is told', async (t) => {
      const asked = Promise.withResolvers<void>();
      const connection = await connected(t, (server) =>
        server.unary(echo, () => {
          asked.resolve();
          return new Promise<never>(() => {});
        }),
      );
      const stop = new AbortController();
      const failed = assert.rejects(connection.unary(echo, {}, { signal: stop.signal }), { message: 'enough' });
      await asked.promise;
      stop.abort(new Error('enough'));
      await failed;
      await assert.rejects(connection.unary(echo, {}, { signal: stop.signal }), { message: 'enough' });
    });

    it('streams answers until the server has no more, and tells why it broke off', async (t) => {
      const connection = await connected(t, (server) =>
        server.stream(spell, async function* ({ text }) {
          for (const letter of text) {
            if (letter === '!') throw new GrpcError(grpcCodes.outOfRange, 'no letter');
            yield { text: letter };
          }
        }),
      );
      assert.deepEqual(await all(connection.serverStream(spell, { text: 'abc' })), [
        { text: 'a' },
        { text: 'b' },
        { text: 'c' },
      ]);
      const letters = connection.serverStream(spell, { text: 'a!' })[Symbol.asyncIterator]();
      assert.deepEqual((await letters.next()).value, { text: 'a' });
      await assert.rejects(letters.next(), { code: grpcCodes.outOfRange, details: 'no letter' });
    });

    it('ends a stream for the server too when its reader stops, or its signal says so', async (t) => {
      const ends: (() => void)[] = [];
      const connection = await connected(t, (server) =>
        server.stream(spell, async function* (_, signal) {
          signal.addEventListener('abort', () => ends.shift()!());
          for (;;) {
            yield { text: 'a' };
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          }
        }),
      );
      const ended = () => new Promise<void>((resolve) => ends.push(resolve));
      const first = ended();
      for await (const _ of connection.serverStream(spell, {})) break;
      await first;
      const second = ended();
      const stop = new AbortController();
      const letters = connection.serverStream(spell, {}, stop.signal)[Symbol.asyncIterator]();
      await letters.next();
      stop.abort(new Error('enough'));
      await assert.rejects(Promise.resolve(letters.next()), { message: 'enough' });
      await second;
    });

    it('lets both sides talk until the server ends it', async (t) => {
      const connection = await connected(t, (server) =>
        server.duplex(talk, async function* (requests) {
          for await (const { text } of requests) {
            if (text === 'bye') return;
            yield { text: `${text}!` };
          }
        }),
      );
      const heard: string[] = [];
      const ended = Promise.withResolvers<GrpcError | undefined>();
      const both = connection.duplex(talk, {
        onMessage({ text }) {
          heard.push(text);
          both.send({ text: heard.length < 3 ? text : 'bye' });
        },
        onEnd: ended.resolve,
      });
      both.send({ text: 'a' });
      assert.equal(await ended.promise, undefined);
      assert.deepEqual(heard, ['a!', 'a!!', 'a!!!']);
    });

    it('ends both sides´ talk when the caller cancels it, once', async (t) => {
      const gone = Promise.withResolvers<void>();
      const connection = await connected(t, (server) =>
        server.duplex(talk, async function* (_, signal) {
          signal.addEventListener('abort', () => gone.resolve());
          yield { text: 'a' };
          await new Promise<never>(() => {});
        }),
      );
      const ends: (number | undefined)[] = [];
      const ended = Promise.withResolvers<void>();
      const both = connection.duplex(talk, {
        onMessage: () => both.cancel(),
        onEnd(error) {
          ends.push(error?.code);
          ended.resolve();
        },
      });
      await ended.promise;
      await gone.promise;
      assert.deepEqual(ends, [grpcCodes.cancelled]);
    });
  });
}

test('a server that is not there is told of as Go tells it; the call has not left this machine', async (t) => {
  const socket = join(temporaryFolder(t), 'containerd.sock');
  const connection = await connectGrpc({ clock: systemClock, target: `unix://${socket}` });
  t.after(() => connection.close());
  await assert.rejects(connection.unary(echo, {}), (error) => {
    assert.ok(error instanceof GrpcError);
    assert.equal(error.code, grpcCodes.unavailable);
    assert.equal(
      error.message,
      `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix ${socket}: connect: no such file or directory"`,
    );
    assert.ok(error.neverSent);
    return true;
  });
});

test('a call may wait, within its time, for a server that is not there yet', async (t) => {
  const target = `unix://${join(temporaryFolder(t), 'late.sock')}`;
  const redial = { firstMs: 10, longestMs: 10 };
  const connection = await connectGrpc({ clock: systemClock, target, redial });
  const waiting = connection.unary(echo, { text: 'a' }, { waitForReady: true, timeoutMs: 60_000 });
  const server = await grpcServer();
  server.unary(echo, async (request) => request);
  await server.listen(target);
  t.after(() => {
    connection.close();
    server.close();
  });
  assert.deepEqual(await waiting, { text: 'a' });
  await connection.ready(new AbortController().signal);
});

test('who waits for a connection can be told to stop', async (t) => {
  const connection = await connectGrpc({
    clock: systemClock,
    target: `unix://${join(temporaryFolder(t), 'none.sock')}`,
  });
  t.after(() => connection.close());
  const stop = new AbortController();
  const waiting = assert.rejects(connection.ready(stop.signal), { message: 'enough' });
  stop.abort(new Error('enough'));
  await waiting;
});

test('failing connections are told in Go´s words, and all else in the other side´s', () => {
  const cases = [
    { details: 'no such container', said: 'no such container' },
    { details: 'Connection dropped', said: 'error reading from server: EOF' },
    { details: 'Stream closed with error code 2', said: 'error reading from server: EOF' },
    { details: 'No connection established', said: 'connection error: desc = "error reading server preface: EOF"' },
    {
      details: 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1',
      said: 'connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"',
    },
  ];
  for (const { details, said } of cases) {
    const error = grpcErrorOf({ code: grpcCodes.unavailable, details }, '127.0.0.1:1');
    assert.equal(error.message, `rpc error: code = Unavailable desc = ${said}`);
    assert.equal(error.details, details);
    assert.equal(error.neverSent, details.startsWith('No connection'));
  }
});

test('codes have the names that Go gives them', () => {
  assert.deepEqual([0, 1, 5, 16, 99].map(grpcCodeName), ['OK', 'Canceled', 'NotFound', 'Unauthenticated', 'Unknown']);
});

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-grpc-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const message of messages) list.push(message);
  return list;
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { systemClock } from '../../base/clock.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { LinuxProber } from '../host/linux-prober.ts';
import { CriConnection } from '../runtime/cri/connection.ts';
import { grpcErrorText } from './grpc-error.ts';

test('a failure has the code´s name and the server´s words', () => {
  const error = { code: 5, details: 'no such container', message: '5 NOT_FOUND: no such container' };
  assert.equal(grpcErrorText(error, 'unix:///run/x.sock'), 'rpc error: code = NotFound desc = no such container');
});

test('a runtime that is not there is told of as Go tells it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-grpc-'));
  const socket = join(folder, 'containerd.sock');
  try {
    const connection = await CriConnection.open({
      clock: systemClock,
      endpoint: `unix://${socket}`,
      requestTimeoutMs: 5000,
    });
    await assert.rejects(connection.unary('RuntimeService', 'Version', {}), {
      code: 'unavailable',
      message: `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix ${socket}: connect: no such file or directory"`,
    });
    connection.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const signal = new AbortController().signal;

/** A gRPC server whose health answers with these bytes, or that has no health at all. */
async function serving(answer: Buffer | 'never' | undefined) {
  const server = new Server();
  const asIs = (bytes: Buffer) => bytes;
  const check: handleUnaryCall<Buffer, Buffer> = (_call, reply) => {
    if (answer !== 'never') reply(null, answer);
  };
  const method = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  if (answer) server.addService({ check: method }, { check });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { port, [Symbol.dispose]: () => server.forceShutdown() };
}

test('a gRPC probe tells what the server says', async () => {
  const prober = new LinuxProber(systemClock);
  using well = await serving(Buffer.from([8, 1]));
  assert.deepEqual(await prober.grpc('127.0.0.1', well.port, '', 5000, signal), {
    result: 'success',
    output: 'service healthy',
  });
  using ill = await serving(Buffer.from([8, 2]));
  assert.deepEqual(await prober.grpc('127.0.0.1', ill.port, '', 5000, signal), {
    result: 'failure',
    output: 'service unhealthy (responded with "NOT_SERVING")',
  });
  using other = await serving(undefined);
  const { output } = await prober.grpc('127.0.0.1', other.port, '', 5000, signal);
  assert.match(
    output,
    /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
  );
});

test('a gRPC probe that gets no connection is tried until its time is over', async () => {
  const closed = createServer();
  const port = await new Promise<number>((resolve) =>
    closed.listen(0, '127.0.0.1', () => {
      const bound = (closed.address() as { port: number }).port;
      closed.close(() => resolve(bound));
    }),
  );
  const clock = new FakeClock();
  const probing = new LinuxProber(clock).grpc('127.0.0.1', port, '', 1500, signal);
  await clock.advance(1500);
  assert.deepEqual(await probing, {
    result: 'failure',
    output: `timeout: failed to connect service "127.0.0.1:${port}" within 1.5s: context deadline exceeded`,
  });
});

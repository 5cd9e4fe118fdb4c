/** Probes over the network, against servers that listen. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { grpcServer } from '../../base/grpc/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { LinuxProber } from './linux-prober.ts';

const signal = new AbortController().signal;

/** A gRPC server whose health answers with these bytes, or that has no health at all. */
async function serving(answer: Buffer | undefined) {
  const server = await grpcServer();
  const asIs = { encode: (bytes: Buffer) => bytes, decode: (bytes: Uint8Array) => bytes };
  const check = { path: '/grpc.health.v1.Health/Check', request: asIs, response: asIs };
  if (answer) server.unary(check, async () => answer);
  const port = await server.listen('127.0.0.1:0');
  return { port, [Symbol.dispose]: () => server.close() };
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

test('a redirect is followed on its own host, and one to another host is a warning with what was answered', async (t) => {
  const server = createHttpServer((request, response) => {
    const to = request.url === '/here' ? '/well' : request.url === '/there' ? 'http://192.0.2.1/' : undefined;
    response.writeHead(to ? 302 : 200, to ? { location: to } : {}).end(to ? 'Found' : 'well');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const prober = new LinuxProber(systemClock);
  const probe = (path: string) => prober.http({ url: `${origin}${path}`, headers: [] }, 5000, signal);
  assert.deepEqual(await probe('/here'), { result: 'success', output: 'well' });
  assert.deepEqual(await probe('/there'), {
    result: 'warning',
    output: 'Probe terminated redirects, Response body: Found',
  });
});

import assert from 'node:assert/strict';
import * as net from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { configMaps } from '../api/gen/core-v1.ts';
import { isExpired, isForbidden, isTooManyRequests, StatusError } from '../apimachinery/status.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createCertificateAuthority, issueCertificate } from '../pki/authority.ts';
import { systemKeys } from '../pki/keys.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryApi } from '../testing/memory-api.ts';
import { describeClient } from './client.contract.ts';
import { isConnectionError, isConnectionRefused } from './connection-error.ts';
import { createHttpTransport, type HttpTransport, type HttpTransportOptions } from './http-transport.ts';
import { type MemoryServer, respond, serveTransport } from './memory-server.fixture.ts';
import { RequestStatistics } from './request-statistics.ts';
import { createClient } from './typed-client.ts';

describeClient('HTTP/2', async () => {
  const server = await serveTransport(new MemoryApi({ clock: new FakeClock() }));
  const transport = createHttpTransport({ server: server.url, clock: systemClock });
  return {
    client: createClient(transport),
    async close() {
      await transport.close();
      await server.close();
    },
  };
});

describe('HTTP transport', () => {
  let api: MemoryApi;
  let server: MemoryServer;
  const transports: HttpTransport[] = [];
  const connect = (options: Partial<HttpTransportOptions> = {}) => {
    const transport = createHttpTransport({ server: server.url, clock: systemClock, ...options });
    transports.push(transport);
    return { transport, client: createClient(transport) };
  };
  before(async () => {
    api = new MemoryApi();
    server = await serveTransport(api, { settings: { maxConcurrentStreams: 3 } });
  });
  after(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await server.close();
  });

  test('requests share a connection; more watches than it takes open another', async () => {
    const { transport, client } = connect();
    await Promise.all([client.list(configMaps), client.list(configMaps)]);
    assert.equal(transport.connections, 1);
    const abort = new AbortController();
    const watches = Array.from({ length: 5 }, () => {
      const options = { namespace: 'default', resourceVersion: api.resourceVersion, signal: abort.signal };
      return client.watch(configMaps, options)[Symbol.asyncIterator]().next();
    });
    await client.list(configMaps);
    assert.ok(transport.connections >= 2, `${transport.connections} connections`);
    abort.abort(new Error('done'));
    for (const result of await Promise.allSettled(watches)) assert.equal(result.status, 'rejected');
  });

  test('a server that goes away in good order is reached again over a new connection', async () => {
    const { transport, client } = connect();
    await client.list(configMaps);
    for (const session of server.sessions) session.goaway();
    await client.list(configMaps);
    for (const session of server.sessions) session.destroy();
    await client.list(configMaps);
    assert.equal(transport.connections, 1);
  });

  test('a watch whose connection breaks fails with a connection error', async () => {
    const { client } = connect();
    const iterator = client.watch(configMaps, { resourceVersion: api.resourceVersion })[Symbol.asyncIterator]();
    const next = iterator.next();
    await client.create(configMaps, { metadata: { name: 'breaks', namespace: 'default' } });
    assert.equal((await next).value?.object.metadata.name, 'breaks');
    const broken = iterator.next();
    for (const session of server.sessions) session.destroy();
    await assert.rejects(broken, isConnectionError);
  });

  test('a refused connection is said clearly', async () => {
    const { transport } = connect({ server: 'http://127.0.0.1:1' });
    await assert.rejects(transport.send({ method: 'GET', path: '/version' }), (error) => {
      assert.ok(isConnectionRefused(error));
      assert.equal(error.message, 'no answer from the API server at http://127.0.0.1:1: connection refused');
      return true;
    });
  });

  test('requests are counted by attempts, answers, time and size', async () => {
    const statistics = new RequestStatistics();
    const { client } = connect({ statistics });
    const metadata = { namespace: 'default', name: 'counted' };
    await client.create(configMaps, { metadata });
    await client.list(configMaps);
    await assert.rejects(client.get(configMaps, { namespace: 'default', name: 'nobody' }));
    const watching = new AbortController();
    const options = { resourceVersion: api.resourceVersion, signal: watching.signal };
    const next = client.watch(configMaps, options)[Symbol.asyncIterator]().next();
    await client.delete(configMaps, metadata);
    await next;
    watching.abort();
    const nobody = connect({ statistics, server: 'http://127.0.0.1:1' });
    await assert.rejects(nobody.client.list(configMaps), isConnectionError);
    const { host } = new URL(server.url);
    const lines = statistics.families().split('\n');
    for (const line of [
      `rest_client_requests_total{code="200",host="${host}",method="POST"} 1`,
      `rest_client_requests_total{code="200",host="${host}",method="GET"} 2`,
      `rest_client_requests_total{code="404",host="${host}",method="GET"} 1`,
      'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="GET"} 1',
      `rest_client_request_duration_seconds_count{host="${host}",verb="GET"} 2`,
      `rest_client_request_duration_seconds_bucket{host="${host}",verb="POST",le="60"} 1`,
      `rest_client_request_size_bytes_count{host="${host}",verb="POST"} 1`,
      `rest_client_request_size_bytes_bucket{host="${host}",verb="POST",le="1.048576e+06"} 1`,
      `rest_client_response_size_bytes_count{host="${host}",verb="GET"} 2`,
      'rest_client_exec_plugin_ttl_seconds +Inf',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  test('429 with Retry-After is obeyed, and given back when it never ends', async () => {
    const clock = new FakeClock();
    const { transport } = connect({ clock, maxRetries: 2 });
    let asked = 0;
    server.intercept = (stream) => {
      asked++;
      respond(stream, 429, 'slow down', { 'retry-after': '3', 'content-type': 'text/plain' });
      return true;
    };
    const startedMs = clock.now();
    const failing = assert.rejects(transport.send({ method: 'POST', path: '/x', body: {} }), (error) => {
      assert.ok(isTooManyRequests(error));
      assert.equal(error.retryAfterSeconds, 3);
      return true;
    });
    while (asked < 3) await clock.advance(500);
    await failing;
    server.intercept = undefined;
    assert.equal(asked, 3);
    assert.ok(clock.now() - startedMs >= 6000);
  });

  test('an answer that is no Status becomes one', async () => {
    const { transport } = connect();
    server.intercept = (stream) => {
      respond(stream, 502, 'bad gateway', { 'content-type': 'text/html' });
      return true;
    };
    await assert.rejects(transport.send({ method: 'GET', path: '/x' }), (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.code, 502);
      assert.equal(error.reason, 'InternalError');
      assert.equal(error.message, 'an error on the server ("bad gateway") has prevented the request from succeeding');
      return true;
    });
    server.intercept = undefined;
  });

  test('the last error event of a watch is thrown', async () => {
    const { client } = connect();
    await client.create(configMaps, { metadata: { name: 'old', namespace: 'default' } });
    api.compact();
    const iterator = client.watch(configMaps, { resourceVersion: '1' })[Symbol.asyncIterator]();
    await assert.rejects(iterator.next(), isExpired);
  });

  test('credentials, agent, impersonation and media types are sent', async () => {
    let token = 'first';
    const { transport, client } = connect({
      token: () => token,
      userAgent: 'test/1',
      impersonate: { user: 'jane', groups: ['a', 'b'], extra: { 'example.com/x': ['y'] } },
    });
    const headersOfNext = async (call: () => Promise<unknown>) => {
      const before = server.seen.length;
      await call().catch(() => {});
      return server.seen[before]!;
    };
    const got = await headersOfNext(() => transport.send({ method: 'GET', path: '/version' }));
    assert.equal(got.authorization, 'Bearer first');
    assert.equal(got['user-agent'], 'test/1');
    assert.equal(got['impersonate-user'], 'jane');
    assert.equal(got['impersonate-group'], 'a, b');
    assert.equal(got['impersonate-extra-example.com%2fx'], 'y');
    token = 'second';
    const ref = { namespace: 'default', name: 'x' };
    const patched = await headersOfNext(() => client.patch(configMaps, ref, { type: 'apply', body: {} }));
    assert.equal(patched.authorization, 'Bearer second');
    assert.equal(patched['content-type'], 'application/apply-patch+yaml');
  });

  test('warnings reach the caller', async () => {
    const warnings: string[] = [];
    const { transport } = connect({ onWarning: (text) => warnings.push(text) });
    server.intercept = (stream) => {
      const warning = '299 - "v1 \\"Foo\\" is deprecated", 299 - "another"';
      respond(stream, 200, { ok: true }, { warning });
      return true;
    };
    assert.deepEqual(await transport.send({ method: 'GET', path: '/x' }), { ok: true });
    server.intercept = undefined;
    assert.deepEqual(warnings, ['v1 "Foo" is deprecated', 'another']);
  });

  test('a request without an answer ends at its timeout', async () => {
    const clock = new FakeClock();
    const { transport } = connect({ clock, timeoutMs: 1000 });
    server.intercept = () => true;
    const failing = assert.rejects(transport.send({ method: 'POST', path: '/x', body: {} }), { code: 'ETIMEDOUT' });
    await clock.advance(1001);
    await failing;
    server.intercept = undefined;
  });

  test('who gives up while a connection is made waits no longer for it, and who comes next dials anew', async () => {
    const silent = net.createServer((socket) => dialed.add(socket.on('error', () => {})));
    const dialed = new Set<net.Socket>();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as net.AddressInfo;
    // On a clock that stands still no connection is ever given up for taking too long.
    const { transport } = connect({ server: `https://127.0.0.1:${port}`, clock: new FakeClock() });
    const request = { method: 'GET', path: '/version' } as const;
    const patience = new AbortController();
    const patient = assert.rejects(transport.send({ ...request, signal: patience.signal }), /enough/);
    for (let i = 1; i <= 2; i++) {
      const impatience = new AbortController();
      const impatient = assert.rejects(transport.send({ ...request, signal: impatience.signal }), /too long/);
      while (dialed.size < i) await new Promise((resolve) => setImmediate(resolve));
      impatience.abort(new Error('too long'));
      await impatient;
    }
    const untilLeft = async (connections: number) => {
      while (transport.connections > connections) await new Promise((resolve) => setImmediate(resolve));
    };
    await untilLeft(1);
    patience.abort(new Error('enough'));
    await patient;
    await untilLeft(0);
    for (const socket of dialed) socket.destroy();
    silent.close();
  });

  test('a silent connection is pinged and given up', async () => {
    const clock = new FakeClock();
    const cable = await cutableCable(Number(new URL(server.url).port));
    const { client } = connect({ server: cable.url, clock, pingAfterMs: 30_000, pingTimeoutMs: 15_000 });
    const watchesBefore = api.watches;
    const watching = assert.rejects(
      client.watch(configMaps, { resourceVersion: api.resourceVersion })[Symbol.asyncIterator]().next(),
      isConnectionError,
    );
    while (api.watches === watchesBefore) await clock.advance(1);
    cable.cut();
    await clock.advance(31_000);
    await clock.advance(16_000);
    await watching;
    cable.close();
  });

  test('a Forbidden answer keeps its Status', async () => {
    const { transport } = connect();
    server.intercept = (stream) => {
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'no',
        reason: 'Forbidden',
        code: 403,
      };
      respond(stream, 403, status);
      return true;
    };
    await assert.rejects(transport.send({ method: 'GET', path: '/x' }), isForbidden);
    server.intercept = undefined;
  });
});

/** A TCP connection that can fall silent without closing. */
async function cutableCable(port: number): Promise<{ readonly url: string; cut(): void; close(): void }> {
  const sockets: net.Socket[] = [];
  const listener = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(listener.address() as net.AddressInfo).port}`,
    cut() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test('renewed credentials are shown from the next request on, and connections with the old ones end', async () => {
  const sources = { clock: systemClock, random: systemRandom, keys: systemKeys };
  const authority = createCertificateAuthority({ commonName: 'test' }, sources);
  const pair = (commonName: string) => {
    const { certificatePem: cert, keyPem: key } = issueCertificate(authority, {
      commonName,
      ipAddresses: ['127.0.0.1'],
      usages: ['server auth', 'client auth'],
    });
    return { ca: authority.certificatePem, cert, key };
  };
  const server = await serveTransport(new MemoryApi(), {
    tls: { ...pair('server'), requestCert: true, rejectUnauthorized: true },
  });
  const users: unknown[] = [];
  server.intercept = (stream) => {
    users.push((stream.session?.socket as TLSSocket | undefined)?.getPeerCertificate().subject.CN);
    return false;
  };
  const transport = createHttpTransport({ server: server.url, clock: systemClock, tls: pair('before') });
  const client = createClient(transport);
  await client.list(configMaps);
  transport.replaceTls(pair('after'));
  await client.list(configMaps);
  assert.deepEqual(users, ['before', 'after']);
  assert.equal(transport.connections, 1);
  await transport.close();
  await server.close();
});

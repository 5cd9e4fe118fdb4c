import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, it } from 'node:test';
import { services } from '../../api/gen/core-v1.ts';
import { StatusError } from '../../apimachinery/status.ts';
import { systemClock } from '../../base/clock.ts';
import { tcpDial } from '../../serving/dial.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { WebhookCallError } from './exchange.ts';
import { serverWebhook, WebhookClients, type WebhookClientsOptions } from './webhook-clients.ts';
import { startWebhookServer } from './webhook-server.fixture.ts';

function clients(options: Partial<WebhookClientsOptions> = {}): WebhookClients {
  return new WebhookClients({ clock: systemClock, client: new MemoryApi().client, ...options });
}

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.catch((error: unknown) => error);
  assert.ok(outcome instanceof StatusError || outcome instanceof WebhookCallError, String(outcome));
  return outcome;
}

/** A port that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('Calling a webhook', () => {
  it('posts JSON and gives the reply, over one connection for calls one after another', async () => {
    await using server = await startWebhookServer((body) => ({ kind: 'Echo', heard: body.said }));
    const calling = clients();
    const config = { url: `${server.url}/a/b/`, caBundle: server.caBundle };
    assert.deepEqual(await calling.of(config).post({ said: 'ä' }), { kind: 'Echo', heard: 'ä' });
    await calling.of({ ...config }).post({ said: 2 }, { timeoutMs: 1500 });
    const [first, second] = server.received;
    assert.deepEqual([first?.path, second?.path], ['/a/b?timeout=30s', '/a/b?timeout=2s']);
    assert.equal(first?.headers['content-type'], 'application/json');
    assert.equal(first?.headers['user-agent'], 'kube-apiserver-admission');
    assert.equal(first?.headers.authorization, undefined);
    assert.equal(server.connections(), 1);
    calling.close();
  });

  it('calls over another connection when the kept one was closed meanwhile', async () => {
    await using server = await startWebhookServer(() => ({}));
    const calling = clients();
    const webhook = calling.of({ url: server.url, caBundle: server.caBundle });
    await webhook.post({});
    server.breakConnections();
    await webhook.post({});
    assert.equal(server.connections(), 2);
    calling.close();
  });

  it('reaches a Service at its ClusterIP under its name in the cluster', async () => {
    await using server = await startWebhookServer(() => ({ ok: true }), { dnsNames: ['hook.ns.svc'], ipAddresses: [] });
    const api = new MemoryApi();
    api.put(services, {
      metadata: { name: 'hook', namespace: 'ns' },
      spec: { type: 'ClusterIP', clusterIP: '10.96.0.7', ports: [{ port: 8443 }] },
    });
    const dialled: string[] = [];
    const dial = tcpDial({ clock: systemClock });
    const calling = clients({
      client: api.client,
      dial: (address, signal) => {
        dialled.push(`${address.host}:${address.port}`);
        return dial({ host: '127.0.0.1', port: server.port }, signal);
      },
    });
    const service = { namespace: 'ns', name: 'hook', path: '/check', port: 8443 };
    const reply = await calling.of({ service, caBundle: server.caBundle }).post({});
    assert.deepEqual(reply, { ok: true });
    assert.deepEqual(dialled, ['10.96.0.7:8443']);
    assert.equal(server.received[0]?.headers.host, 'hook.ns.svc:8443');
    const wrongPort = await failureOf(calling.of({ service: { ...service, port: 1 } }).post({}));
    assert.equal(
      wrongPort.message,
      'Post "https://hook.ns.svc:1/check?timeout=30s": no service port 1 found for service "hook"',
    );
    const missing = await failureOf(calling.of({ service: { namespace: 'ns', name: 'gone' } }).post({}));
    assert.equal(missing.message, 'Post "https://gone.ns.svc:443/?timeout=30s": service "gone" not found');
    calling.close();
  });

  it('shows what credentials there are for the host', async () => {
    await using server = await startWebhookServer(() => ({}));
    const asked: string[] = [];
    const calling = clients({
      credentials: (hostPort) => {
        asked.push(hostPort);
        return { token: async () => 'secret', impersonate: { user: 'jane', groups: ['a', 'b'] } };
      },
    });
    await calling.of({ url: server.url, caBundle: server.caBundle }).post({});
    const { headers } = server.received[0]!;
    assert.deepEqual(
      [headers.authorization, headers['impersonate-user'], headers['impersonate-group']],
      ['Bearer secret', 'jane', 'a, b'],
    );
    assert.deepEqual(asked, [`127.0.0.1:${server.port}`]);
    calling.close();
  });

  it('calls the server of a kubeconfig', async () => {
    await using server = await startWebhookServer(() => ({ ok: 1 }));
    const ca = Buffer.from(server.caBundle, 'base64').toString();
    const basicAuth = { username: 'u', password: 'p' };
    const target = { server: `${server.url}/authenticate`, tls: { ca }, basicAuth };
    const { webhook, close } = serverWebhook(target, { clock: systemClock });
    assert.deepEqual(await webhook.post({}), { ok: 1 });
    assert.equal(server.received[0]?.headers.authorization, `Basic ${btoa('u:p')}`);
    close();
  });
});

describe('A webhook that cannot be reached', () => {
  it('is told in the words of Go', async () => {
    const calling = clients();
    const port = await closedPort();
    const refused = await failureOf(calling.of({ url: `https://127.0.0.1:${port}/x` }).post({}));
    const where = `Post "https://127.0.0.1:${port}/x?timeout=30s": `;
    assert.equal(refused.message, `${where}dial tcp 127.0.0.1:${port}: connect: connection refused`);
    assert.throws(() => calling.of({}), { message: 'webhook configuration must have either service or URL' });
  });

  it('is not spoken to when its certificate is not trusted or for another name', async () => {
    await using server = await startWebhookServer(() => ({}), { dnsNames: ['other.svc'], ipAddresses: [] });
    const calling = clients();
    const untrusted = await failureOf(calling.of({ url: server.url }).post({}));
    assert.match(
      untrusted.message,
      /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    );
    const wrongName = await failureOf(calling.of({ url: server.url, caBundle: server.caBundle }).post({}));
    assert.match(
      wrongName.message,
      /: tls: failed to verify certificate: x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs$/,
    );
    const localhost = `https://localhost:${server.port}`;
    const otherName = await failureOf(calling.of({ url: localhost, caBundle: server.caBundle }).post({}));
    assert.match(otherName.message, /: x509: certificate is valid for other\.svc, not localhost$/);
    assert.equal(server.received.length, 0);
  });

  it('fails at its deadline, and at once when nobody waits any more', async () => {
    const heard = Promise.withResolvers<void>();
    await using server = await startWebhookServer(() => {
      heard.resolve();
      return new Promise(() => {});
    });
    const clock = new FakeClock();
    const calling = clients({ clock, dial: tcpDial({ clock: systemClock }) });
    const webhook = calling.of({ url: server.url, caBundle: server.caBundle });
    const late = failureOf(webhook.post({}, { timeoutMs: 10_000 }));
    await heard.promise;
    await clock.advance(10_000);
    assert.equal((await late).message, `Post "${server.url}/?timeout=10s": context deadline exceeded`);
    const gone = new AbortController();
    const call = failureOf(webhook.post({}, { timeoutMs: 10_000, signal: gone.signal }));
    gone.abort();
    const canceled = await call;
    assert.equal(canceled.message, `Post "${server.url}/?timeout=10s": context canceled`);
    assert.ok(canceled instanceof WebhookCallError && canceled.canceled);
    calling.close();
  });
});

describe('A hostile webhook', () => {
  const cases: readonly { readonly name: string; readonly listener: RequestListener; readonly message: RegExp }[] = [
    {
      name: 'closes without an answer',
      listener: (request: IncomingMessage) => void request.socket.destroy(),
      message: /^Post ".*": EOF$/,
    },
    {
      name: 'closes in the middle of its reply',
      listener: (_request: unknown, response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"kind":', () => response.destroy());
      },
      message: /^unexpected error when reading response body\. Please retry\. Original error: unexpected EOF$/,
    },
    {
      name: 'sends garbage instead of HTTP',
      listener: (request: IncomingMessage) => void request.socket.end('hello there\r\n\r\n'),
      message: /: net\/http: HTTP\/1\.x transport connection broken: malformed HTTP response "hello there"$/,
    },
    {
      name: 'sends garbage instead of JSON',
      listener: (_request: unknown, response: ServerResponse) => void response.end('<html>'),
      message: /^couldn't get version\/kind; json parse error: invalid character '<' looking for beginning of value$/,
    },
    {
      name: 'sends JSON that is no object',
      listener: (_request: unknown, response: ServerResponse) => void response.end('[1]'),
      message: /^couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value/,
    },
    {
      name: 'nests without end',
      listener: (_request: unknown, response: ServerResponse) =>
        void response.end(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
      message: /exceeded max depth$/,
    },
    {
      name: 'sends nothing',
      listener: (_request: unknown, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'text/plain' }).end(),
      message: /^0-length response with status code: 200 and content type: text\/plain$/,
    },
    {
      name: 'sends without end',
      listener: (_request: unknown, response: ServerResponse) => {
        const more = () => {
          while (response.write(Buffer.alloc(65536, 0x20)));
          response.once('drain', more);
        };
        more();
      },
      message: /Original error: the reply is longer than 16777216 bytes$/,
    },
    {
      name: 'leads elsewhere',
      listener: (_request: unknown, response: ServerResponse) =>
        void response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end(),
      message: /^the server responded with the status code 307 but did not return more information$/,
    },
    {
      name: 'answers an error in words',
      listener: (_request: unknown, response: ServerResponse) =>
        void response.writeHead(500, { 'content-type': 'text/plain' }).end('out of order\n'),
      message: /^an error on the server \("out of order"\) has prevented the request from succeeding$/,
    },
    {
      name: 'answers with a Status',
      listener: (_request: unknown, response: ServerResponse) =>
        void response
          .writeHead(403)
          .end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'not you', code: 403 })),
      message: /^not you$/,
    },
  ];
  for (const { name, listener, message } of cases) {
    it(`${name}: the call fails`, async () => {
      await using server = await startWebhookServer(() => ({}), { listener });
      const calling = clients();
      const failure = await failureOf(calling.of({ url: server.url, caBundle: server.caBundle }).post({ a: 1 }));
      assert.match(failure.message, message);
      calling.close();
    });
  }

  it('asks to be asked again for ever: it is, ten times', async () => {
    let calls = 0;
    await using server = await startWebhookServer(() => ({}), {
      listener: (_request, response) => {
        calls++;
        response.writeHead(429, { 'retry-after': '0' }).end();
      },
    });
    const calling = clients();
    const failure = await failureOf(calling.of({ url: server.url, caBundle: server.caBundle }).post({}));
    assert.match(failure.message, /^the server has received too many requests/);
    assert.equal(calls, 11);
    calling.close();
  });
});

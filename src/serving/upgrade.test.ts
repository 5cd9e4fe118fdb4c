import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, describe, it } from 'node:test';
import { type Clock, systemClock } from '../base/clock.ts';
import { hostPort } from '../base/host-port.ts';
import { connectionFailure, tcpDial } from './dial.ts';
import { forwardedHeaders, passUpgrade, sendRequest } from './upgrade.ts';

const open: { close(): unknown }[] = [];
after(() => {
  for (const server of open) server.close();
});
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
async function listening<S extends Server | ReturnType<typeof createTcpServer>>(server: S): Promise<S> {
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function readAll(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('dialling', () => {
  it('fails in Go´s words', async () => {
    const closed = await listening(createTcpServer());
    const port = portOf(closed);
    await new Promise((resolve) => closed.close(resolve));
    const dial = tcpDial({ clock: systemClock });
    const refused = { name: 'DialError', message: `dial tcp 127.0.0.1:${port}: connect: connection refused` };
    await assert.rejects(dial({ host: '127.0.0.1', port }), refused);
    await assert.rejects(
      dial({ host: 'no-such-host.invalid', port }),
      /^DialError: dial tcp: lookup no-such-host\.invalid: /,
    );
    await assert.rejects(
      sendRequest({ url: new URL(`http://127.0.0.1:${port}/`) }, { method: 'GET', headers: {} }),
      refused,
    );
  });

  it('gives up after its time, or when nobody wants it any more', async () => {
    const server = await listening(createTcpServer());
    const address = { host: '127.0.0.1', port: portOf(server) };
    // Time is up before the network has had a turn.
    const after: Clock['after'] = (_delayMs, callback) => {
      queueMicrotask(callback);
      return { cancel() {} };
    };
    const late = tcpDial({ clock: { ...systemClock, after } })(address);
    await assert.rejects(late, { code: 'ETIMEDOUT', message: `dial tcp ${hostPort(address)}: i/o timeout` });
    const signal = AbortSignal.abort(new Error('not wanted'));
    await assert.rejects(tcpDial({ clock: systemClock })(address, signal), /not wanted/);
  });

  it('tells a plain server from a broken certificate', () => {
    const error = (code: string, message = '') => Object.assign(new Error(message), { code });
    const untrusted = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    assert.equal(connectionFailure(error('SELF_SIGNED_CERT_IN_CHAIN'), 'a'), untrusted);
    assert.equal(
      connectionFailure(error('EPROTO', 'wrong version number'), 'a'),
      'http: server gave HTTP response to HTTPS client',
    );
    assert.equal(connectionFailure(error('ECONNRESET'), 'a'), 'EOF');
  });
});

it('credentials and what concerns one hop alone stay behind', () => {
  const headers = {
    host: 'a',
    authorization: 'Bearer secret',
    'x-remote-user': 'root',
    'impersonate-user': 'root',
    'x-own': 'kept',
    upgrade: 'websocket',
    'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io',
  };
  assert.deepEqual(forwardedHeaders(headers), {
    'x-own': 'kept',
    upgrade: 'websocket',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  });
});

/** A front server that passes upgrades on to `port`. */
async function front(port: number): Promise<Server> {
  const server = await listening(createServer());
  server.on('upgrade', (request, socket, head) => {
    passUpgrade({ request, socket, head }, { url: new URL(`http://127.0.0.1:${port}${request.url}`) }).catch(() => {
      socket.destroy();
    });
  });
  return server;
}

describe('a joined connection', () => {
  it('delivers everything that was written before one side closed', async () => {
    const large = 'x'.repeat(8 << 20);
    const backend = await listening(createServer());
    backend.on('upgrade', (_request, socket: Duplex) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
      socket.end(large);
    });
    const port = portOf(await front(portOf(backend)));
    const client = connect(port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
    // The reader begins late: most of it still lies with the one in the middle, whose backend has gone.
    await once(client, 'readable');
    const text = await readAll(client);
    assert.equal(text.length - text.indexOf('\r\n\r\n') - 4, large.length);
  });

  it('carries what the client said together with its request', async () => {
    const backend = await listening(createServer());
    backend.on('upgrade', (_request, socket: Duplex, head: Buffer) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
      if (head.length > 0) socket.write(head);
      socket.pipe(socket);
    });
    const client = connect(portOf(await front(portOf(backend))), '127.0.0.1');
    client.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nearly words');
    assert.match(await readAll(client), /\r\n\r\nearly words$/);
  });

  it('passes a refusal back as it was given', async () => {
    const backend = await listening(createServer());
    backend.on('upgrade', (_request, socket: Duplex) => {
      socket.end('HTTP/1.1 418 Teapot\r\nContent-Type: text/x-tea\r\nContent-Length: 5\r\n\r\nshort');
    });
    const client = connect(portOf(await front(portOf(backend))), '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
    const text = await readAll(client);
    assert.match(text, /^HTTP\/1\.1 418 /);
    assert.match(text, /Content-Type: text\/x-tea\r\n[\s\S]*\r\n\r\nshort$/);
  });

  it('hears the last words of a side that would not listen any more', async () => {
    const backend = await listening(createServer());
    const reached = new Promise<Socket>((resolve) => {
      backend.on('upgrade', (_request, socket: Socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
        resolve(socket);
      });
    });
    const url = new URL(`http://127.0.0.1:${portOf(backend)}/`);
    const headers = { connection: 'Upgrade', upgrade: 'test' };
    const answer = await sendRequest({ url }, { method: 'POST', headers });
    assert.ok(answer.upgraded);
    const heard: Buffer[] = [];
    answer.socket.on('data', (chunk: Buffer) => heard.push(chunk)).on('error', () => {});
    const closed = once(answer.socket, 'close');
    const far = await reached;
    // All in one turn: what it says arrives together with the news that it has gone, before anything can be read.
    far.write('exit code 3');
    far.resetAndDestroy();
    for (let i = 0; i < 3; i++) answer.socket.write('more input');
    await closed;
    assert.equal(Buffer.concat(heard).toString(), 'exit code 3');
  });

  it('ends on both sides when one breaks', async () => {
    let upstream: Duplex | undefined;
    const backend = await listening(createServer());
    const reached = new Promise<void>((resolve) => {
      backend.on('upgrade', (_request, socket: Duplex) => {
        upstream = socket;
        socket.on('error', () => {});
        socket.on('end', () => socket.end());
        socket.resume();
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
        resolve();
      });
    });
    const client = connect(portOf(await front(portOf(backend))), '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n');
    await reached;
    await once(client, 'readable');
    const closed = once(upstream!, 'close');
    client.resetAndDestroy();
    await closed;
  });
});

it('a request that is given up leaves no connection', async () => {
  const silent = await listening(createTcpServer());
  const accepted = once(silent, 'connection');
  const giveUp = new AbortController();
  const request = sendRequest(
    { url: new URL(`http://127.0.0.1:${portOf(silent)}/`) },
    { method: 'GET', headers: {}, signal: giveUp.signal },
  );
  const [socket] = (await accepted) as [Duplex];
  socket.on('error', () => {}).resume();
  const closed = once(socket, 'close');
  giveUp.abort(new Error('enough'));
  await assert.rejects(request, /enough/);
  await closed;
});

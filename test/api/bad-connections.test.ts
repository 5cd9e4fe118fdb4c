/**
 * Connections that go wrong: idle in thousands, slow, broken off in the middle, flooded, not HTTP at all. Each gets an answer or its
 * end, and the server goes on serving the others.
 */
import assert from 'node:assert/strict';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type OpenCluster, openCluster } from './cluster.ts';
import { json, mergePatch, openHttp2, openSocket, openWires, readAll, statusOf, type Wire } from './wire.ts';

const collection = '/api/v1/namespaces/default/configmaps';
/**
 * Others must be served within it while the mistake is going on. Machines that build are slow; who is held up by a mistake waits until the
 * server gives up on that, which is later.
 */
const quickEnoughMs = 30_000;
const requestTimeoutMs = 2 * quickEnoughMs;

let cluster: OpenCluster;
/** Gives up soon, for tests of what comes then. */
let impatient: OpenCluster;
let wires: readonly Wire[];
const logged: string[] = [];

before(async () => {
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (message: string) => void logged.push(message),
    child: () => log,
  };
  cluster = await openCluster({ requestTimeoutMs, log });
  impatient = await openCluster({ requestTimeoutMs: 700, log });
  wires = openWires(cluster.admin);
  await cluster.controlPlane.admin.create(configMaps, {
    metadata: { name: 'a', namespace: 'default' },
    data: { x: '1' },
  });
});
after(async () => {
  for (const wire of wires) wire.close();
  await cluster.close();
  await impatient.close();
  assert.deepEqual(logged, [], 'none of it was unexpected');
});

/** What the others meet: reads and writes are answered, quickly enough, and what is stored is whole. */
async function othersAreServed(): Promise<void> {
  for (const wire of wires) {
    const started = performance.now();
    const read = await wire.ask({ path: `${collection}/a` });
    assert.equal(read.status, 200);
    const body = JSON.stringify({ data: { y: String(started) } });
    const written = await wire.ask({ method: 'PATCH', path: `${collection}/a`, headers: mergePatch, body });
    assert.equal(written.status, 200);
    assert.equal(JSON.parse(written.text).data.y, String(started));
    const tookMs = performance.now() - started;
    assert.ok(tookMs < quickEnoughMs, `answered after ${tookMs} ms`);
  }
}

let names: readonly string[] = [];
const present = async (where = cluster) =>
  (await where.controlPlane.admin.list(configMaps, { namespace: 'default' })).items.map(
    ({ metadata }) => metadata.name!,
  );
beforeEach(async () => {
  // A controller makes one of them a moment after the start.
  names = await eventually(
    () => present(),
    (all) => all.includes('kube-root-ca.crt'),
  );
});
afterEach(othersAreServed);

const plainSocket = (words: string) => {
  const socket = connectTcp(cluster.port, '127.0.0.1');
  socket.write(words);
  return socket;
};
const asAdmin = (protocol?: string): Promise<TLSSocket> => openSocket(cluster.admin, protocol);
const head = (lines: readonly string[]) =>
  `${['POST', collection].join(' ')} HTTP/1.1\r\nhost: x\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const halfBody = `${head(['content-type: application/json', 'content-length: 100'])}{"metadata":{"name":"half"`;

/** Watches of ConfigMaps that the server counts. */
async function watchers(): Promise<number> {
  const { text } = await wires[1]!.ask({ path: '/metrics' });
  return Number(/apiserver_registered_watchers\{[^}]*kind="ConfigMap"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
}

describe('bodies that do not come as they should', () => {
  test('one that stops half-way is waited for a while and refused, over HTTP/1.1', async () => {
    const socket = await openSocket(impatient.admin);
    socket.write(halfBody);
    const text = await readAll(socket);
    assert.match(text, /^HTTP\/1\.1 504 Gateway Timeout\r\n/);
    assert.match(text, /"message":"Timeout: request did not complete within the allotted timeout"/);
    assert.match(text, /"reason":"Timeout"/);
    assert.ok(!(await present(impatient)).includes('half'));
  });

  test('and over HTTP/2, where the connection goes on', async () => {
    const { session, ask, close } = openHttp2(impatient.admin);
    const stream = session.request({ ':method': 'POST', ':path': collection, ...json });
    stream.write('{"metadata":{"name":"half"');
    const closed = new Promise((done) => stream.once('close', done));
    const status = await new Promise<unknown>((done) => stream.once('response', (headers) => done(headers[':status'])));
    assert.equal(status, 504);
    stream.resume();
    await closed;
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR, 'the rest is not waited for');
    assert.equal((await ask({ path: '/readyz' })).status, 200);
    assert.ok(!(await present(impatient)).includes('half'));
    close();
  });

  test('one that stops half-way holds up nobody, and is forgotten when its sender hangs up', async () => {
    for (const end of [(socket: TLSSocket) => void socket.end(), (socket: TLSSocket) => void socket.destroy()]) {
      const socket = await asAdmin();
      socket.write(halfBody);
      await othersAreServed();
      end(socket);
    }
    const { session, close } = openHttp2(cluster.admin);
    const stream = session.request({ ':method': 'POST', ':path': collection, ...json });
    stream.on('error', () => {});
    stream.write('{"metadata":{"name":"half"');
    stream.close(constants.NGHTTP2_CANCEL);
    await othersAreServed();
    assert.deepEqual(await present(), names);
    close();
  });

  test('one that comes letter by letter is read to its end', async () => {
    const body = '{"metadata":{"name":"slowly"}}';
    const socket = await asAdmin();
    socket.write(head(['content-type: application/json', `content-length: ${body.length}`, 'connection: close']));
    for (const letter of body) {
      await new Promise<void>((done) => socket.write(letter, () => done()));
      await new Promise((done) => setTimeout(done, 5));
    }
    assert.match(await readAll(socket), /^HTTP\/1\.1 201 Created\r\n/);
    await cluster.controlPlane.admin.delete(configMaps, { namespace: 'default', name: 'slowly' });
  });

  test('one that is far too large is refused before it is there', async () => {
    // No more than this client's own HTTP/2 will buffer.
    const huge = Buffer.alloc(9 * 1024 * 1024, ' ');
    for (const wire of openWires(cluster.admin)) {
      const answer = await wire.ask({ method: 'POST', path: collection, headers: json, body: huge });
      assert.equal(answer.status, 413, wire.protocol);
      assert.equal(statusOf(answer).message, 'Request entity too large: limit is 3145728');
      if (wire.protocol === 'HTTP/2') assert.equal((await wire.ask({ path: '/readyz' })).status, 200);
      wire.close();
    }
  });

  test('one in chunks that are none ends its connection', async () => {
    const socket = await asAdmin();
    socket.write(`${head(['content-type: application/json', 'transfer-encoding: chunked'])}zz\r\n{}\r\n`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 400 /);
    assert.deepEqual(await present(), names);
  });
});

describe('connections that nobody uses', () => {
  test('a thousand idle ones leave the server to the others', async () => {
    const sockets: TLSSocket[] = [];
    for (let made = 0; made < 1000; made += 50) {
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => asAdmin()))));
    }
    assert.equal(sockets.filter((socket) => !socket.destroyed).length, 1000);
    for (let round = 0; round < 10; round++) await othersAreServed();
    // A quarter of them had begun to say something.
    for (const socket of sockets.slice(0, 250)) socket.write('GET /readyz HTTP/1.1\r\nho');
    await othersAreServed();
    for (const socket of sockets.slice(0, 10)) {
      socket.write('st: x\r\nconnection: close\r\n\r\n');
      assert.match(await readAll(socket), /^HTTP\/1\.1 200 OK\r\n/);
    }
    for (const socket of sockets) socket.destroy();
  });

  test('nor do a thousand that never finish their handshake', async () => {
    const sockets = Array.from({ length: 1000 }, () => connectTcp(cluster.port, '127.0.0.1').on('error', () => {}));
    await othersAreServed();
    for (const socket of sockets) socket.destroy();
  });
});

describe('clients that vanish', () => {
  before(async () => {
    const data = { x: 'y'.repeat(50_000) };
    const client = cluster.controlPlane.admin;
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        client.create(configMaps, { metadata: { name: `big-${index}`, namespace: 'kube-public' }, data }),
      ),
    );
  });

  test('in the middle of a long list', async () => {
    const path = '/api/v1/configmaps';
    for (let round = 0; round < 10; round++) {
      const socket = await asAdmin();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await new Promise<void>((done) => socket.once('data', () => done()));
      socket.destroy();
      const { session } = openHttp2(cluster.admin);
      const stream = session.request({ ':path': path });
      stream.on('error', () => {});
      await new Promise<void>((done) => stream.once('data', () => done()));
      if (round % 2 === 0) stream.close(constants.NGHTTP2_CANCEL);
      session.destroy();
    }
  });

  test('in the middle of a watch, by hundreds: their watches end', async () => {
    const before = await watchers();
    const path = `${collection}?watch=1`;
    const { session } = openHttp2(cluster.admin);
    const streams = Array.from({ length: 200 }, () => session.request({ ':path': path }).on('error', () => {}));
    await Promise.all(streams.map((stream) => new Promise((done) => stream.once('response', done))));
    const sockets = await Promise.all(Array.from({ length: 50 }, () => asAdmin()));
    for (const socket of sockets) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await Promise.all(sockets.map((socket) => new Promise((done) => socket.once('data', done))));
    assert.equal(await watchers(), before + 250);
    for (const stream of streams.slice(0, 100)) stream.close(constants.NGHTTP2_CANCEL);
    await eventually(watchers, (open) => open === before + 150);
    session.destroy();
    for (const socket of sockets) socket.destroy();
    await eventually(watchers, (open) => open === before);
  });

  test('a watcher who reads nothing holds up nobody', async () => {
    const { session } = openHttp2(cluster.admin);
    const stream = session.request({ ':path': '/api/v1/configmaps?watch=1' }).on('error', () => {});
    await new Promise((done) => stream.once('response', done));
    for (let turn = 0; turn < 50; turn++) await othersAreServed();
    session.destroy();
  });

  test('who cancels thousands of requests keeps his connection', async () => {
    const { session, ask, close } = openHttp2(cluster.admin);
    for (let round = 0; round < 20; round++) {
      for (let index = 0; index < 200; index++) {
        const stream = session.request({ ':path': `${collection}/a` }).on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      assert.equal((await ask({ path: '/readyz' })).status, 200);
    }
    close();
  });
});

describe('headers without end', () => {
  test('over HTTP/1.1 they are refused as too large', async () => {
    for (const flood of [
      `x-flood: ${'y'.repeat(2 * 1024 * 1024)}\r\n`,
      Array.from({ length: 100_000 }, (_, index) => `x-${index}: yyyyyyyyyy\r\n`).join(''),
    ]) {
      const socket = await asAdmin();
      socket.write(`GET ${collection}/a HTTP/1.1\r\nhost: x\r\n${flood}`);
      assert.match(await readAll(socket), /^(HTTP\/1\.1 431 Request Header Fields Too Large\r\n|$)/);
    }
  });

  test('a path of many kilobytes is read', async () => {
    const path = `${collection}/a?x=${'y'.repeat(50_000)}`;
    for (const wire of wires) assert.equal((await wire.ask({ path })).status, 200, wire.protocol);
  });

  test('over HTTP/2 they end their stream or connection', async () => {
    const flood = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x-${index}`, 'y']));
    const session = connectHttp2(cluster.url, { ...cluster.admin, maxSendHeaderBlockLength: 1 << 24 });
    session.on('error', () => {});
    const outcome = await new Promise<string>((done) => {
      const stream = session.request({ ':path': `${collection}/a`, ...flood });
      stream.on('response', (headers) => done(String(headers[':status'])));
      stream.on('error', () => done('error'));
      stream.on('close', () => done('closed'));
    });
    assert.match(outcome, /^(error|closed|4\d\d)$/);
    session.destroy();
  });
});

describe('what is not HTTP', () => {
  const refused =
    'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request';
  const requests: Readonly<Record<string, string>> = {
    'mere noise': '\x16\x03\x01nonsense\r\n\r\n',
    'a request line without sense': 'nonsense\r\n\r\n',
    'an unknown method': 'FROB / HTTP/1.1\r\nhost: x\r\n\r\n',
    'an unknown version': 'GET / HTTP/7.5\r\nhost: x\r\n\r\n',
    'a header without a name': `GET ${collection} HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n`,
    'a header with a null in it': `GET ${collection} HTTP/1.1\r\nhost: x\r\nx: a\0b\r\n\r\n`,
    'a negative length': head(['content-length: -5']),
    'two lengths': head(['content-length: 5', 'content-length: 6']),
    'a length and chunks': head(['content-length: 5', 'transfer-encoding: chunked']),
  };
  for (const [name, request] of Object.entries(requests)) {
    test(`${name} is a plain 400 and the end of the connection`, async () => {
      const socket = await asAdmin();
      socket.write(request);
      assert.equal(await readAll(socket), refused);
    });
  }

  test('a request without a host is refused', async () => {
    const socket = await asAdmin();
    socket.write(`GET ${collection} HTTP/1.1\r\nconnection: close\r\n\r\n`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('noise where HTTP/2 was agreed on ends the connection', async () => {
    const socket = await asAdmin('h2');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await readAll(socket);
    const frames = await asAdmin('h2');
    frames.write(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(1000)}`);
    await readAll(frames);
  });

  test('plain HTTP where TLS is spoken is told so, and noise ends its connection', async () => {
    const told = await readAll(plainSocket('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    assert.equal(told, 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
    await readAll(plainSocket('\0\0\0\0\0\0\0\0'));
  });

  test('an upgrade to what nobody speaks is answered like any request', async () => {
    const socket = await asAdmin();
    socket.write(`GET ${collection}/a HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: nonsense\r\n\r\n`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 (200|400) /);
  });
});

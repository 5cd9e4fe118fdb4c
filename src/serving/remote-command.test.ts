import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { acceptCommand, bridge, type CommandOptions, exitCodeStatus } from './remote-command.ts';
import { headerDictionary } from './spdy/header-dictionary.ts';

const both: CommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
let runtime: Server;
let front: Server;
const portOf = (server: Server) => (server.address() as AddressInfo).port;
const listen = (server: Server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

/** `runtime` echoes stdin in capitals until it ends, then fails with exit code 3; `front` translates for its clients. */
before(async () => {
  runtime = createServer();
  runtime.on('upgrade', async (request, socket, head) => {
    const streams = await acceptCommand({ request, socket, head }, both);
    if (!streams) return;
    let bytes = 0;
    for await (const chunk of streams.stdin) {
      bytes += chunk.length;
      await streams.stdout(Buffer.from(Buffer.from(chunk).toString().toUpperCase()));
    }
    await streams.stderr(Buffer.from(`${bytes} bytes`));
    await streams.finish(exitCodeStatus(3));
  });
  front = createServer();
  front.on('upgrade', async (request, socket, head) => {
    const streams = await acceptCommand({ request, socket, head }, both);
    if (streams) await bridge(streams, { url: new URL(`http://127.0.0.1:${portOf(runtime)}/exec`) }, both);
  });
  await Promise.all([listen(runtime), listen(front)]);
});
after(() => {
  for (const server of [runtime, front]) {
    server.closeAllConnections();
    server.close();
  }
});

function talk(port: number, protocol: string, say: (socket: WebSocket) => void): Promise<Record<number, string>> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, [protocol]);
    const heard: Record<number, string> = {};
    socket.on('open', () => say(socket));
    socket.on('message', (data: Buffer) => {
      heard[data[0]!] = (heard[data[0]!] ?? '') + data.subarray(1).toString();
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', reject);
  });
}

const stdin = (text: string) => Buffer.concat([Buffer.from([0]), Buffer.from(text)]);
const closeStdin = Buffer.from([255, 0]);

test('a client with the newest WebSocket protocol can end stdin and learns the exit code', async () => {
  const heard = await talk(portOf(runtime), 'v5.channel.k8s.io', (socket) => {
    socket.send(stdin('hello '));
    socket.send(stdin('you'));
    socket.send(closeStdin);
  });
  assert.equal(heard[1], 'HELLO YOU');
  assert.equal(heard[2], '9 bytes');
  const status = JSON.parse(heard[3] ?? '');
  assert.equal(status.reason, 'NonZeroExitCode');
  assert.deepEqual(status.details.causes, [{ reason: 'ExitCode', message: '3' }]);
});

test('the same through a translation to SPDY, half-close and a megabyte included', async () => {
  const large = 'x'.repeat(1 << 20);
  const heard = await talk(portOf(front), 'v5.channel.k8s.io', (socket) => {
    for (let i = 0; i < large.length; i += 16_384) socket.send(stdin(large.slice(i, i + 16_384)));
    socket.send(closeStdin);
  });
  assert.equal(
    createHash('md5')
      .update(heard[1] ?? '')
      .digest('hex'),
    createHash('md5').update(large.toUpperCase()).digest('hex'),
  );
  assert.equal(heard[2], `${1 << 20} bytes`);
  assert.equal(JSON.parse(heard[3] ?? '').details.causes[0].message, '3');
});

test('a protocol that nobody knows is refused', async () => {
  await assert.rejects(
    talk(portOf(runtime), 'v9.channel.k8s.io', () => {}),
    /403/,
  );
});

test('a runtime that cannot be reached is told to the client as a Status', async () => {
  const gone = createServer();
  await listen(gone);
  const freePort = portOf(gone);
  await new Promise((done) => gone.close(done));
  const lost = createServer();
  lost.on('upgrade', async (request, socket, head) => {
    const streams = await acceptCommand({ request, socket, head }, both);
    if (streams) await bridge(streams, { url: new URL(`http://127.0.0.1:${freePort}/exec`) }, both);
  });
  await listen(lost);
  const heard = await talk(portOf(lost), 'v4.channel.k8s.io', () => {});
  const status = JSON.parse(heard[3] ?? '');
  assert.equal(status.reason, 'InternalError');
  assert.match(
    status.message,
    /^Internal error occurred: error dialing backend: dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/,
  );
  lost.close();
});

test('a runtime that is lost before it tells how the command ended is no success', async (t) => {
  const fragile = createServer();
  fragile.on('upgrade', async (request, socket, head) => {
    const streams = await acceptCommand({ request, socket, head }, both);
    await streams?.stdout(Buffer.from('half a'));
    socket.end();
  });
  const passing = createServer();
  passing.on('upgrade', async (request, socket, head) => {
    const streams = await acceptCommand({ request, socket, head }, both);
    if (streams) await bridge(streams, { url: new URL(`http://127.0.0.1:${portOf(fragile)}/exec`) }, both);
  });
  await Promise.all([listen(fragile), listen(passing)]);
  t.after(() => {
    fragile.close();
    passing.close();
  });
  const heard = await talk(portOf(passing), 'v5.channel.k8s.io', () => {});
  assert.equal(heard[1], 'half a');
  const status = JSON.parse(heard[3] ?? '');
  assert.equal(status.reason, 'InternalError');
  assert.equal(status.message, 'Internal error occurred: error reading from error stream: unexpected EOF');
});

test('the SPDY header dictionary is the specification´s, byte for byte', () => {
  const digest = createHash('sha256').update(headerDictionary()).digest('hex');
  assert.equal(digest, '51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02');
});

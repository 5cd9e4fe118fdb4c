import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, it } from 'node:test';
import { SpdyConnection, type SpdyStream } from './connection.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Two ends of one connection; `next` gives the streams that the server is offered, in order. */
async function pair() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Socket];
  server.close();
  near.setNoDelay(true);
  far.setNoDelay(true);
  const offered: SpdyStream[] = [];
  const waiting: ((stream: SpdyStream) => void)[] = [];
  let closed = 0;
  const client = new SpdyConnection(near, Buffer.alloc(0), { role: 'client' });
  const other = new SpdyConnection(far, Buffer.alloc(0), {
    role: 'server',
    onStream: (stream) => {
      const take = waiting.shift();
      if (take) take(stream);
      else offered.push(stream);
    },
    onClose: () => closed++,
  });
  ends.push(
    () => client.close(),
    () => other.close(),
  );
  const next = () =>
    new Promise<SpdyStream>((resolve) => {
      const stream = offered.shift();
      if (stream) resolve(stream);
      else waiting.push(resolve);
    });
  return { client, server: other, next, near, far, closed: () => closed };
}

async function textOf(stream: SpdyStream): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

it('streams are named by headers and carry bytes both ways until each side has finished', async () => {
  const { client, next } = await pair();
  const asked = await client.open({ streamtype: 'data', port: '80' });
  await asked.write(Buffer.from('question'));
  asked.finish();
  const served = await next();
  assert.deepEqual({ ...served.headers }, { streamtype: 'data', port: '80' });
  assert.equal(await textOf(served), 'question');
  await served.write(Buffer.from('answer'));
  served.finish();
  assert.equal(await textOf(asked), 'answer');
});

it('many streams share one connection, and headers compressed later depend on those before', async () => {
  const { client, next } = await pair();
  for (let i = 0; i < 50; i++) {
    const stream = await client.open({ streamtype: 'data', requestid: String(i) });
    stream.finish();
    assert.equal((await next()).headers.requestid, String(i));
  }
});

it('a stream that nobody reads holds the sender back, and lets go when it is given up', async () => {
  const { client, next, far } = await pair();
  const stuck = await client.open({ streamtype: 'stuck' });
  const idle = await next();
  const flood = (async () => {
    for (let i = 0; i < 64; i++) await stuck.write(Buffer.alloc(1 << 18));
    stuck.finish();
  })();
  while (!far.isPaused()) await once(far, 'pause');
  idle.reset();
  await flood;
  const live = await client.open({ streamtype: 'live' });
  live.finish();
  assert.equal((await next()).headers.streamtype, 'live');
});

it('a lost connection ends every stream', async () => {
  const { client, next, near, closed } = await pair();
  await client.open({ streamtype: 'data' });
  const served = await next();
  near.resetAndDestroy();
  assert.equal(await textOf(served), '');
  assert.equal(closed(), 1);
});

it('bytes that are no SPDY end the connection', async () => {
  const { server, near, far } = await pair();
  const gone = once(far, 'close');
  near.write(Buffer.from('ffffffffffffffffffffffff', 'hex'));
  await gone;
  assert.equal(server.closed, true);
});

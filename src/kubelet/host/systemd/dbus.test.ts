/** The message bus: values and messages as bytes, and a conversation with a bus of plain sockets. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../../testing/properties.fixture.ts';
import { DbusConnection, DbusError } from './dbus-connection.ts';
import { type DbusMessage, decodeMessage, encodeMessage } from './dbus-messages.ts';
import { decodeValues, encodeValues, typesIn } from './dbus-values.ts';

describe('D-Bus values', () => {
  it('are laid out as the specification says', () => {
    assert.equal(encodeValues('yu', [1, 2]).toString('hex'), '0100000002000000');
    assert.equal(encodeValues('su', ['ab', 7]).toString('hex'), '020000006162000007000000');
    assert.equal(
      encodeValues('at', [[1n]]).toString('hex'),
      '08000000000000000100000000000000',
      'an empty place before eight bytes',
    );
    assert.equal(encodeValues('v', [{ signature: 'b', value: true }]).toString('hex'), '0162000001000000');
  });

  it('are found again whatever they are', () => {
    const values = fc.record({
      s: fc.string(),
      u: fc.nat(),
      x: fc.maxSafeInteger(),
      b: fc.boolean(),
      d: fc.double({ noNaN: true }),
      list: fc.array(fc.tuple(fc.string(), fc.nat())),
    });
    fc.assert(
      fc.property(values, ({ s, u, x, b, d, list }) => {
        const signature = 'suxbda(su)a{sv}';
        const dictionary = list.map(([key, value]) => [key, { signature: 'u', value }] as const);
        const bytes = encodeValues(signature, [s, u, x, b, d, list, dictionary]);
        assert.deepEqual(decodeValues(signature, bytes, true), [s, u, x, b, d, list, list]);
      }),
    );
  });

  it('that are cut off are refused, as is what is no signature', () => {
    assert.throws(() => decodeValues('s', Buffer.from([9, 0, 0, 0, 65]), true), RangeError);
    assert.throws(() => decodeValues('au', Buffer.from([9, 0, 0, 0, 65]), true), RangeError);
    assert.throws(() => typesIn('a(s'));
    assert.deepEqual(typesIn('sa(sv)a{sas}u'), ['s', 'a(sv)', 'a{sas}', 'u']);
  });
});

it('a message is complete when its last byte is there', () => {
  const message: DbusMessage = {
    type: 'call',
    serial: 7,
    path: '/a',
    member: 'M',
    destination: 'x.y',
    signature: 's',
    body: ['text'],
  };
  const bytes = encodeMessage(message);
  for (let length = 0; length < bytes.length; length++)
    assert.equal(decodeMessage(bytes.subarray(0, length)), undefined);
  const decoded = decodeMessage(Buffer.concat([bytes, bytes]));
  assert.equal(decoded?.length, bytes.length);
  assert.deepEqual([decoded.message.member, decoded.message.serial, decoded.message.body], ['M', 7, ['text']]);
});

describe('a connection to a bus', () => {
  /** Answers `Hello`; the rest is the test's. */
  async function withBus(
    answer: (message: DbusMessage, reply: (message: Partial<DbusMessage>) => void) => void,
    use: (connection: DbusConnection, sockets: Socket[]) => Promise<void>,
  ) {
    const folder = mkdtempSync(join(tmpdir(), 'coracle-dbus-'));
    const path = join(folder, 'bus');
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      let received = Buffer.alloc(0);
      let isOpen = false;
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (!isOpen) {
          if (/^\0AUTH EXTERNAL \w+\r\n$/.test(received.toString('latin1'))) socket.write('OK 1234\r\n');
          const begin = received.indexOf('BEGIN\r\n');
          if (begin < 0) return;
          isOpen = true;
          received = received.subarray(begin + 7);
        }
        for (let next = decodeMessage(received); next; next = decodeMessage(received)) {
          received = received.subarray(next.length);
          const { message } = next;
          const reply = (its: Partial<DbusMessage>) =>
            socket.write(encodeMessage({ type: 'return', serial: 1, replySerial: message.serial, body: [], ...its }));
          if (message.member === 'Hello' || message.member === 'AddMatch') reply({ signature: 's', body: [':1.1'] });
          else answer(message, reply);
        }
      });
    });
    await new Promise<void>((done) => server.listen(path, done));
    let connection: DbusConnection | undefined;
    try {
      connection = await DbusConnection.open(path);
      await use(connection, sockets);
    } finally {
      connection?.close();
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    }
  }
  const manager = { destination: 'd.e', path: '/m', interface: 'd.e.Manager' };

  it('brings answers to who asked, errors as errors, and signals to who listens', async () => {
    await withBus(
      ({ member }, reply) => {
        if (member === 'Fail')
          return reply({ type: 'error', errorName: 'd.e.No', signature: 's', body: ['no such thing'] });
        reply({
          type: 'signal',
          replySerial: undefined,
          path: '/m',
          interface: 'd.e.Manager',
          member: 'Changed',
          signature: 'b',
          body: [true],
        });
        reply({ signature: 'u', body: [42] });
      },
      async (connection) => {
        const heard: unknown[] = [];
        await connection.subscribe("type='signal'", ({ member, body }) => heard.push([member, body]));
        assert.deepEqual(await connection.call({ ...manager, member: 'Ask' }), [42]);
        assert.deepEqual(heard, [['Changed', [true]]]);
        await assert.rejects(
          connection.call({ ...manager, member: 'Fail' }),
          (error) => error instanceof DbusError && error.code === 'd.e.No' && error.message === 'no such thing',
        );
      },
    );
  });

  it('fails all that is under way when it breaks', async () => {
    await withBus(
      () => {},
      async (connection, sockets) => {
        const call = connection.call({ ...manager, member: 'Never' });
        for (const socket of sockets) socket.destroy();
        await assert.rejects(call);
        await connection.closed;
      },
    );
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { messageCodec } from './message-codec.ts';
import { ProtobufError } from './wire-reader.ts';

const inner = { x: [1, 'int'], label: [2, 'string'] } as const;
const all = messageCodec({
  data: [1, 'bytes'],
  name: [2, 'string'],
  on: [3, 'bool'],
  count: [4, 'int'],
  id: [5, 'id'],
  notes: [6, 'bytesMap'],
  inner: [7, inner],
  list: [8, [inner]],
  names: [20, ['string']],
} as const);
const nothing = {
  data: new Uint8Array(),
  name: '',
  on: false,
  count: 0,
  id: 0n,
  notes: {},
  inner: undefined,
  list: [],
  names: [],
};

const bytes = fc.uint8Array({ maxLength: 20 });
const innerValue = fc.record({ x: fc.maxSafeInteger(), label: fc.string() });
const value = fc.record({
  data: bytes,
  name: fc.string(),
  on: fc.boolean(),
  count: fc.maxSafeInteger(),
  id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  notes: fc.dictionary(fc.string(), bytes, { noNullPrototype: true }),
  inner: fc.option(innerValue, { nil: undefined }),
  list: fc.array(innerValue),
  names: fc.array(fc.string()),
});

/** Bytes of whichever class, for comparison. */
const plain = (message: unknown): unknown =>
  JSON.parse(
    JSON.stringify(message, (_key, item: unknown) =>
      item instanceof Uint8Array ? [...item] : typeof item === 'bigint' ? `${item}n` : item,
    ),
  );
const unbuffered = (message: ReturnType<typeof all.decode>) => ({ ...message, data: new Uint8Array(message.data) });

test('what is encoded is decoded as it was', () => {
  fc.assert(
    fc.property(value, (message) => {
      const read = all.decode(all.encode(message));
      const notes = Object.entries(read.notes).map(([key, item]) => [key, [...item]]);
      assert.deepEqual(
        notes,
        Object.entries(message.notes).map(([key, item]) => [key, [...item]]),
      );
      assert.deepEqual(plain({ ...unbuffered(read), notes: {} }), plain({ ...message, notes: {} }));
    }),
  );
});

test('what is empty takes no bytes and is there when read; a message that is given is written though it is empty', () => {
  assert.equal(all.encode(nothing).length, 0);
  assert.deepEqual(all.decode(Buffer.alloc(0)), nothing);
  assert.equal(all.encode({ inner: {} }).toString('hex'), '3a00');
  assert.deepEqual(all.decode(Buffer.from('3a00', 'hex')).inner, { x: 0, label: '' });
});

test('the bytes are those of protocol buffers', () => {
  assert.equal(
    all.encode({ name: 'testing', count: 150, on: true }).toString('hex'),
    '120774657374696e6718012096 01'.replace(' ', ''),
  );
  assert.equal(all.encode({ count: -1 }).toString('hex'), '20ffffffffffffffffff01');
  assert.equal(all.encode({ names: ['a', ''] }).toString('hex'), 'a20101' + '61' + 'a20100');
});

test('fields of a newer version are passed over, whatever their wire type', () => {
  const newer = messageCodec({ name: [2, 'string'], other: [30, 'id'], deep: [31, inner] } as const);
  const read = all.decode(newer.encode({ name: 'n', other: 5n, deep: { x: 1 } }));
  assert.deepEqual(read, { ...nothing, name: 'n' });
});

test('bytes that end too early are refused', () => {
  const encoded = all.encode({ name: 'testing' });
  assert.throws(() => all.decode(encoded.subarray(0, encoded.length - 2)), ProtobufError);
});

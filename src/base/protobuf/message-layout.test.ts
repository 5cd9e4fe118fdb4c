/** Messages as another library writes and reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from '../../testing/properties.fixture.ts';
import { enumKind, type Field, MessageLayout, messageKind, scalarKinds, type ValueKind } from './message-layout.ts';
import { ProtobufError } from './wire-reader.ts';

interface Known {
  readonly name: string;
  readonly kind: ValueKind;
  readonly values: fc.Arbitrary<unknown>;
  write(writer: BinaryWriter, value: never): unknown;
  read(reader: BinaryReader): unknown;
}

const colours = ['RED', 'GREEN', 'BLUE'] as const;
const big = (min: bigint, max: bigint) => fc.bigInt({ min, max });

const kinds: readonly Known[] = [
  {
    name: 'string',
    kind: scalarKinds.string,
    values: fc.string({ unit: 'grapheme' }),
    write: (writer, value: string) => writer.string(value),
    read: (reader) => reader.string(),
  },
  {
    name: 'bytes',
    kind: scalarKinds.bytes,
    values: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    write: (writer, value: Buffer) => writer.bytes(value),
    read: (reader) => Buffer.from(reader.bytes()),
  },
  {
    name: 'bool',
    kind: scalarKinds.bool,
    values: fc.boolean(),
    write: (writer, value: boolean) => writer.bool(value),
    read: (reader) => reader.bool(),
  },
  {
    name: 'int',
    kind: scalarKinds.int,
    values: fc.maxSafeInteger(),
    write: (writer, value: number) => writer.int64(value),
    read: (reader) => Number(reader.int64()),
  },
  {
    name: 'int32',
    kind: scalarKinds.int32,
    values: fc.integer(),
    write: (writer, value: number) => writer.int32(value),
    read: (reader) => reader.int32(),
  },
  {
    name: 'uint32',
    kind: scalarKinds.uint32,
    values: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    write: (writer, value: number) => writer.uint32(value),
    read: (reader) => reader.uint32(),
  },
  {
    name: 'int64',
    kind: scalarKinds.int64,
    values: big(-(1n << 63n), (1n << 63n) - 1n),
    write: (writer, value: bigint) => writer.int64(value),
    read: (reader) => BigInt(reader.int64()),
  },
  {
    name: 'uint64',
    kind: scalarKinds.uint64,
    values: big(0n, (1n << 64n) - 1n),
    write: (writer, value: bigint) => writer.uint64(value),
    read: (reader) => BigInt(reader.uint64()),
  },
  {
    name: 'enum',
    kind: enumKind('Colour', colours),
    values: fc.constantFrom(...colours),
    write: (writer, value: (typeof colours)[number]) => writer.int32(colours.indexOf(value)),
    read: (reader) => colours[reader.int32()],
  },
];

const single = (kind: ValueKind, name = 'it'): Field => ({ number: 3, name, kind, shape: 'single' });
const list = (kind: ValueKind): Field => ({ number: 300, name: 'them', kind, shape: 'list' });

for (const { name, kind, values, write, read } of kinds) {
  const layout = new MessageLayout([single(kind), list(kind)]);

  test(`a value and a list of kind ${name} are written as others do, and read as they were`, () => {
    fc.assert(
      fc.property(values, fc.array(values, { maxLength: 5 }), (it, them) => {
        const bytes = layout.encode({ it, them });
        const expected = new BinaryWriter();
        if (!kind.isEmpty(it)) write(expected.tag(3, kind.wireType), it as never);
        if (kind.wireType === 2) for (const one of them) write(expected.tag(300, 2), one as never);
        else if (them.length > 0) {
          expected.tag(300, 2).fork();
          for (const one of them) write(expected, one as never);
          expected.join();
        }
        assert.equal(bytes.toString('hex'), Buffer.from(expected.finish()).toString('hex'));
        assert.deepEqual(layout.decode(bytes), { it: kind.isEmpty(it) ? kind.empty : it, them });
      }),
    );
  });

  test(`a list of kind ${name} is read from separate fields too`, () => {
    fc.assert(
      fc.property(fc.array(values, { maxLength: 5 }), (them) => {
        const writer = new BinaryWriter();
        for (const one of them) write(writer.tag(300, kind.wireType), one as never);
        assert.deepEqual(layout.decode(writer.finish()).them, them);
      }),
    );
  });

  test(`a value of kind ${name} can be read by others`, () => {
    fc.assert(
      fc.property(values, (it) => {
        const reader = new BinaryReader(new MessageLayout([{ ...single(kind), shape: 'list' }]).encode({ it: [it] }));
        assert.deepEqual(reader.tag(), [3, 2]);
        if (kind.wireType !== 2) reader.uint32();
        assert.deepEqual(read(reader), it);
        assert.equal(reader.pos, reader.len);
      }),
    );
  });
}

/** A node may have nodes. */
const tree: MessageLayout = new MessageLayout([
  { number: 1, name: 'name', kind: scalarKinds.string, shape: 'single' },
  { number: 2, name: 'first', kind: messageKind(() => tree), shape: 'single' },
  { number: 3, name: 'others', kind: messageKind(() => tree), shape: 'list' },
  { number: 4, name: 'notes', kind: scalarKinds.string, shape: 'map' },
]);
const leaf = (name: string) => ({ name, first: undefined, others: [], notes: {} });

test('messages may hold others of their type; one that was not given is not there', () => {
  const value = { ...leaf('a'), first: leaf(''), others: [leaf('b'), leaf('')] };
  assert.deepEqual(tree.decode(tree.encode(value)), value);
  assert.equal(tree.encode({ first: {} }).toString('hex'), '1200');
});

test('a map keeps any key, and its last value', () => {
  const notes = { a: '', ['__proto__']: 'x', '': 'y' };
  const read = tree.decode(tree.encode({ notes })).notes as object;
  assert.deepEqual(Object.entries(read), Object.entries(notes));
  const [one, two] = [tree.encode({ notes: { a: '1' } }), tree.encode({ notes: { a: '2' } })];
  assert.deepEqual(tree.decode(Buffer.concat([one, two])).notes, { a: '2' });
});

test('a field of another wire type is passed over, as one that is not known', () => {
  const numbers = new MessageLayout([{ number: 1, name: 'name', kind: scalarKinds.int, shape: 'single' }]);
  assert.deepEqual(tree.decode(numbers.encode({ name: 5 })), leaf(''));
});

test('a value of an enumeration that is not known is read as the first, and none such is written', () => {
  const [numbers, named] = [scalarKinds.int32, enumKind('Colour', colours)].map(
    (kind) => new MessageLayout([single(kind)]),
  );
  assert.equal(named!.decode(numbers!.encode({ it: 7 })).it, 'RED');
  assert.throws(() => named!.encode({ it: 'PINK' }), { message: 'PINK is no Colour' });
});

test('numbers that a field cannot hold are refused', () => {
  const refused: readonly (readonly [ValueKind, number | bigint])[] = [
    [scalarKinds.int, 2 ** 60],
    [scalarKinds.int, 0.5],
    [scalarKinds.int, Number.NaN],
    [scalarKinds.int32, 2 ** 31],
    [scalarKinds.uint32, -1],
    [scalarKinds.int64, 1n << 63n],
    [scalarKinds.uint64, -1n],
  ];
  for (const [kind, it] of refused) {
    const layout = new MessageLayout([single(kind)]);
    assert.throws(() => layout.encode({ it }), RangeError);
    assert.deepEqual(layout.encode({ it: kind.empty }), Buffer.alloc(0), 'nothing of it is left for the next');
  }
});

test('of bytes that are no message nothing is thrown but that they are none', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        tree.decode(bytes);
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error));
      }
    }),
  );
});

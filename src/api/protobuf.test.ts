import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEnvelope } from '../apimachinery/protobuf/envelope.ts';
import { MessageReader } from '../apimachinery/protobuf/message-reader.ts';
import { ProtobufError } from '../apimachinery/protobuf/wire-reader.ts';
import { builtinSchema } from './schema.ts';

/** A field on the wire: numbers as varints, everything else by its length. */
function field(tag: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint((tag << 3) | 0), varint(value)]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint((tag << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

const message = (...fields: Buffer[]) => Buffer.concat(fields);
const envelope = (apiVersion: string, kind: string, raw: Buffer) =>
  message(Buffer.from('k8s\0'), field(1, message(field(1, apiVersion), field(2, kind))), field(2, raw));
const read = (type: string, bytes: Buffer) => new MessageReader(builtinSchema()).read(bytes, type);

test('the envelope says what is in it', () => {
  const { apiVersion, kind, message: raw } = openEnvelope(envelope('apps/v1', 'Deployment', Buffer.from('xyz')));
  assert.deepEqual([apiVersion, kind, Buffer.from(raw).toString()], ['apps/v1', 'Deployment', 'xyz']);
});

test('an object is read by the tags of the tables', () => {
  const metadata = message(
    field(1, 'name'),
    field(8, message(field(1, 1_700_000_000), field(2, 0))),
    field(11, message(field(1, 'app'), field(2, 'web'))),
    field(14, 'example.com/a'),
    field(14, 'example.com/b'),
  );
  const data = field(2, message(field(1, 'key'), field(2, 'value')));
  const binary = field(3, message(field(1, 'blob'), field(2, Buffer.from([0, 255]))));
  assert.deepEqual(
    read('core/v1.ConfigMap', message(field(1, metadata), data, binary, field(4, 1), field(999, 'unknown'))),
    {
      metadata: {
        name: 'name',
        creationTimestamp: '2023-11-14T22:13:20Z',
        labels: { app: 'web' },
        finalizers: ['example.com/a', 'example.com/b'],
      },
      data: { key: 'value' },
      binaryData: { blob: 'AP8=' },
      immutable: true,
    },
  );
});

test('quantities, ports, negative numbers, inlined structs and durations have their JSON form', () => {
  const resources = message(field(1, message(field(1, 'cpu'), field(2, message(field(1, '100m'))))));
  const probe = message(
    field(1, message(field(2, message(field(2, message(field(1, 1), field(3, 'http'))))))),
    field(2, -1),
  );
  const container = message(field(1, 'c'), field(8, resources), field(10, probe));
  const volume = message(field(1, 'v'), field(2, message(field(2, message(field(1, ''))))));
  const spec = message(field(1, volume), field(2, container), field(4, 30));
  assert.deepEqual(read('core/v1.PodSpec', spec), {
    volumes: [{ name: 'v', emptyDir: { medium: '' } }],
    containers: [
      {
        name: 'c',
        resources: { limits: { cpu: '100m' } },
        livenessProbe: { httpGet: { port: 'http' }, initialDelaySeconds: -1 },
      },
    ],
    terminationGracePeriodSeconds: 30,
  });
});

test('a time that is not set is none', () => {
  assert.deepEqual(read('core/v1.ConfigMap', field(1, message(field(8, Buffer.alloc(0))))), {
    metadata: { creationTimestamp: null },
  });
});

const broken = [
  { name: 'no magic', bytes: Buffer.from('{}') },
  { name: 'a length beyond the end', bytes: message(Buffer.from('k8s\0'), Buffer.from([0x0a, 0x7f])) },
  { name: 'an unknown wire type', bytes: message(Buffer.from('k8s\0'), Buffer.from([0x0b])) },
  { name: 'an endless number', bytes: message(Buffer.from('k8s\0'), Buffer.alloc(20, 0xff)) },
];
for (const { name, bytes } of broken) {
  test(`${name} is refused`, () => assert.throws(() => openEnvelope(bytes), ProtobufError));
}

test('nesting has an end', () => {
  let schema: Buffer = Buffer.alloc(0);
  for (let depth = 0; depth < 5000; depth++) schema = field(29, message(field(1, 'a'), field(2, schema)));
  assert.throws(() => read('apiextensions/v1.JSONSchemaProps', schema), ProtobufError);
});

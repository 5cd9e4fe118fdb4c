/** Protobuf by the kind tables; the bytes written out here are those of upstream's own encoder for the same objects. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { envelopeEnd, envelopeHead, openEnvelope } from '../apimachinery/protobuf/envelope.ts';
import { MessageReader } from '../apimachinery/protobuf/message-reader.ts';
import { StatusError } from '../apimachinery/status.ts';
import { ProtobufError } from '../base/protobuf/wire-reader.ts';
import fc from '../testing/properties.fixture.ts';
import { anyObject } from './any-object.fixture.ts';
import { builtinCodec, builtinResources, builtinSchema } from './schema.ts';

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

const vectors: readonly { readonly name: string; readonly object: TypedObject; readonly hex: string }[] = [
  {
    name: 'an empty object',
    object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: {} },
    hex: '6b3873000a0f0a0276311209436f6e6669674d617012120a100a0012001a0022002a003200380042001a002200',
  },
  {
    name: 'text of every width, bytes, sorted keys',
    object: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'ä€😀', annotations: { '9': 'a', '10': 'b' }, creationTimestamp: '2024-02-29T23:59:59Z' },
      data: { a: '', b: 'x' },
      binaryData: { z: 'AP8=' },
      immutable: false,
    },
    hex:
      '6b3873000a0f0a0276311209436f6e6669674d6170124e0a320a09c3a4e282acf09f988012001a0022002a0032003800' +
      '420808ffb484af06100062070a02313012016262060a013912016112050a0161120012060a01621201781a070a017a12' +
      '0200ff20001a002200',
  },
  {
    name: 'microseconds and numbers of many digits',
    object: {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { name: 'l', generation: 1099511627776 },
      spec: { renewTime: '1969-12-31T23:59:58.250001Z', leaseDurationSeconds: -1 },
    },
    hex:
      '6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c6561736512370a160a016c12001a00' +
      '22002a003200388080808080204200121d10ffffffffffffffffff01221008feffffffffffffffff0110e8ec9a771a00' +
      '2200',
  },
  {
    name: 'quantities, ports, inlined structs',
    object: {
      kind: 'Service',
      apiVersion: 'v1',
      metadata: { name: 's' },
      spec: {
        ports: [
          { port: 80, targetPort: 'http' },
          { port: 443, targetPort: 8443 },
        ],
      },
      status: {},
    },
    hex:
      '6b3873000a0d0a02763112075365727669636512530a110a017312001a0022002a00320038004200123a0a140a001200' +
      '1850220a080110001a046874747028000a120a00120018bb032207080010fb411a0028001a0022003a00420052005a00' +
      '600068001a020a001a002200',
  },
  {
    name: 'an inlined source of a volume',
    object: {
      kind: 'PersistentVolume',
      apiVersion: 'v1',
      metadata: { name: 'v' },
      spec: { capacity: { storage: '1Gi' }, hostPath: { path: '/x', type: '' } },
      status: {},
    },
    hex:
      '6b3873000a160a027631121050657273697374656e74566f6c756d65123d0a110a017612001a0022002a003200380042' +
      '0012200a100a0773746f7261676512050a0331476912081a060a022f7812002a0032001a060a0012001a001a002200',
  },
  {
    name: 'free-form data',
    object: {
      kind: 'ControllerRevision',
      apiVersion: 'apps/v1',
      metadata: { name: 'r' },
      data: { a: [1, null] },
      revision: -2,
    },
    hex:
      '6b3873000a1d0a07617070732f76311212436f6e74726f6c6c65725265766973696f6e12300a110a017212001a002200' +
      '2a0032003800420012100a0e7b2261223a5b312c6e756c6c5d7d18feffffffffffffffff011a002200',
  },
  {
    name: 'a list within a map',
    object: {
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      status: { userInfo: { username: 'u', extra: { k: ['x', 'y'] } } },
    },
    hex:
      '6b3873000a2d0a1861757468656e7469636174696f6e2e6b38732e696f2f7631121153656c665375626a656374526576' +
      '69657712280a100a0012001a0022002a0032003800420012140a120a01751200220b0a016b12060a01780a01791a0022' +
      '00',
  },
];
interface TypedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly [field: string]: unknown;
}

for (const { name, object, hex } of vectors) {
  test(`${name}: byte for byte as upstream`, () => {
    assert.equal(builtinCodec().encodeProtobuf(object)?.toString('hex'), hex);
    const { apiVersion, kind, message: raw } = openEnvelope(Buffer.from(hex, 'hex'));
    assert.deepEqual([apiVersion, kind], [object.apiVersion, object.kind]);
    const { type } = builtinSchema().kind(apiVersion, kind)!;
    assert.equal(
      builtinCodec().encodeAs(builtinCodec().decodeMessage(raw, type), type),
      builtinCodec().encodeAs({ ...object, kind: undefined, apiVersion: undefined }, type),
    );
    assert.deepEqual(
      Buffer.concat([envelopeHead(apiVersion, kind, raw.length), raw, envelopeEnd]).toString('hex'),
      hex,
    );
  });
}

const members = [
  { value: true, name: 'a flag' },
  { value: false, name: 'a flag that is not set' },
  { value: { type: 'string' }, name: 'a struct beside a flag' },
];
for (const { value, name } of members) {
  test(`${name} is the member that JSON shows`, () => {
    const type = 'apiextensions/v1.JSONSchemaProps';
    const props = {
      additionalProperties: value,
      default: null,
      enum: [null, 1],
      items: [{ type: 'a' }, { type: 'b' }],
    };
    const back = builtinCodec().decodeMessage(builtinCodec().encodeMessage(props, type), type);
    assert.deepEqual(back.additionalProperties, value);
    assert.equal(JSON.stringify(back.enum), '[null,1]');
    assert.deepEqual(back.items, props.items);
  });
}
describe('every kind', () => {
  for (const row of builtinResources()) {
    const apiVersion = row.group === '' ? row.version : `${row.group}/${row.version}`;
    test(`${row.resource} of ${apiVersion} come back as they went`, () => {
      const { type } = builtinSchema().kind(apiVersion, row.kind)!;
      const { type: _type, subresources: _subresources, ...names } = row;
      const resource = { ...names, subresources: [] };
      const codec = builtinCodec();
      const property = fc.property(fc.integer(), fc.double({ min: 0.2, max: 0.9, noNaN: true }), (seed, density) => {
        const { kind: _kind, apiVersion: _apiVersion, ...object } = anyObject(resource, seed, density);
        const back = codec.decodeMessage(codec.encodeMessage(object, type), type);
        assert.equal(codec.encodeAs(back, type), codec.encodeAs(withoutInnerTypes(object), type));
      });
      fc.assert(property, { numRuns: 15 });
    });
  }
});

/** Protobuf does not say of what kind a claim within a StatefulSet is. */
function withoutInnerTypes(object: object): object {
  const { spec } = object as { readonly spec?: { readonly volumeClaimTemplates?: readonly object[] } };
  if (!spec?.volumeClaimTemplates) return object;
  const volumeClaimTemplates = spec.volumeClaimTemplates.map((claim) => ({
    ...claim,
    kind: undefined,
    apiVersion: undefined,
  }));
  return { ...object, spec: { ...spec, volumeClaimTemplates } };
}

test('any bytes are read or refused, and nothing else happens', () => {
  const types = ['core/v1.Pod', 'apiextensions/v1.CustomResourceDefinition', 'core/v1.ConfigMap', 'meta/v1.Status'];
  const property = fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...types), (bytes, type) => {
    try {
      read(type, Buffer.from(bytes));
    } catch (error) {
      assert.ok(error instanceof ProtobufError, String(error));
    }
  });
  fc.assert(property, { numRuns: 2000 });
});

describe('a body that is broken is refused in upstream\u2019s words', () => {
  const unrecognized = 'the object provided is unrecognized (must be of type Pod): ';
  const pod = 'Pod in version "v1" cannot be handled as a Pod: ';
  const cases: readonly { readonly name: string; readonly body: Buffer; readonly message: string }[] = [
    { name: 'nothing', body: Buffer.alloc(0), message: `${unrecognized}empty data (<empty>)` },
    { name: 'nothing but the magic', body: Buffer.from('k8s\0'), message: `${unrecognized}empty body (6b387300)` },
    {
      name: 'JSON',
      body: Buffer.from('[]'),
      message: `${unrecognized}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (5b5d)`,
    },
    {
      name: 'an envelope cut short',
      body: Buffer.from('k8s\0\x0a\x7f', 'latin1'),
      message: `${unrecognized}unexpected EOF (6b3873000a7f)`,
    },
    {
      name: 'a message cut short',
      body: envelope('v1', 'Pod', Buffer.from([0x0a, 0x05])),
      message: `${pod}unexpected EOF`,
    },
    {
      name: 'a field of another wire type',
      body: envelope('v1', 'Pod', field(1, 7)),
      message: `${pod}proto: wrong wireType = 0 for field ObjectMeta`,
    },
    {
      name: 'the field 0',
      body: envelope('v1', 'Pod', Buffer.from([0x00, 0x00])),
      message: `${pod}proto: Pod: illegal tag 0 (wire type 0)`,
    },
    {
      name: 'the end of a group',
      body: envelope('v1', 'Pod', Buffer.from([0x0c])),
      message: `${pod}proto: Pod: wiretype end group for non-group`,
    },
    {
      name: 'another kind',
      body: envelope('v1', 'Service', Buffer.alloc(0)),
      message:
        'Service in version "v1" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown conversion',
    },
  ];
  for (const { name, body, message } of cases) {
    test(name, () => {
      const expected = { group: '', version: 'v1', kind: 'Pod' };
      const decode = () => builtinCodec().decodeProtobuf(body, { expected, fieldValidation: 'Strict' });
      assert.throws(decode, (error) => error instanceof StatusError && error.status.message === message);
    });
  }
});

test('a body without kind is what the endpoint takes', () => {
  const expected = { group: '', version: 'v1', kind: 'ConfigMap' };
  const body = envelope('', '', field(1, field(1, 'a')));
  const { object } = builtinCodec().decodeProtobuf(body, { expected, fieldValidation: 'Strict' });
  assert.deepEqual(object, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } });
});

test('groups and whatever else nobody knows are passed over', () => {
  const group = Buffer.concat([
    Buffer.from([0xa3, 0x06, 0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06]),
    Buffer.from([0xa4, 0x06]),
  ]);
  const fixed = Buffer.from([0xa5, 0x06, 1, 2, 3, 4, 0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(read('core/v1.ConfigMap', message(group, fixed, field(4, 1))), { immutable: true });
});

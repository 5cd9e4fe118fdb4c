/** Members that are known by their bytes: whoever copies them, or leaves them out of what it reads, ends with the same as who does not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anyObject } from '../../api/any-object.fixture.ts';
import { knownBehaviours } from '../../api/behaviours.ts';
import type { FieldValidation } from '../../apimachinery/codec.ts';
import { type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { StatusError } from '../../apimachinery/status.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import { type Random, seededRandom } from '../../base/random.ts';
import { type ResourceCodec, tableCodec } from '../encoding/resource-codec.ts';
import {
  bytesOf,
  type EncodedObject,
  encodeByMembers,
  knownText,
  memberOf,
  type StandingObject,
} from './member-bytes.ts';

const types = knownBehaviours().map(({ resource }) => resource);
const seeds = [1, 2];

/** As it stands in the store after a write. */
function standingObject(type: ResourceType<KubeObject>, seed: number): StandingObject & { codec: ResourceCodec } {
  const codec = tableCodec(type);
  const object = deepFreeze(anyObject(type, seed, 0.7)) as KubeObject;
  return { object, encoded: encodeByMembers(object, { typeId: codec.type!.id }), codec };
}

const standings = types.flatMap((type) => seeds.map((seed) => ({ ...standingObject(type, seed), type, seed })));

function textOf(encoded: EncodedObject): string {
  return encoded.bytes.toString();
}

test('an object written by its members reads as one written in one piece, and each member lies where it is said to lie', () => {
  let found = 0;
  for (const { object, encoded, codec } of standings) {
    assert.equal(textOf(encoded), codec.encode(object).toString());
    for (const member of encoded.members) {
      const { [member.name]: value } = JSON.parse(`{${bytesOf(encoded, member)}}`) as Record<string, unknown>;
      const whole = JSON.parse(textOf(encoded)) as KubeObject;
      assert.deepEqual(value, memberOf(whole, member.name));
      found++;
    }
  }
  assert.ok(found > types.length);
});

test('an object that shares members with the one it takes the place of reads as one written anew', () => {
  for (const { codec, type, seed, ...standing } of standings) {
    const other = anyObject(type, seed + 100) as Draft<KubeObject> & Record<string, unknown>;
    const shared = seededRandom(seed);
    for (const name of Object.keys(standing.object)) {
      if (name !== 'metadata' && shared.next() < 0.7) other[name] = memberOf(standing.object, name);
    }
    const { managedFields } = standing.object.metadata;
    if (managedFields) other.metadata.managedFields = managedFields as NonNullable<typeof other.metadata.managedFields>;
    const typeId = codec.type!.id;
    const written = encodeByMembers(other as KubeObject, { typeId, standing });
    assert.equal(textOf(written), codec.encode(other as KubeObject).toString());
    assert.deepEqual(written, encodeByMembers(other as KubeObject, { typeId }));
  }
});

test('a value that somebody may still change is written, not copied', () => {
  const typeId = tableCodec({ group: '', version: 'v1', kind: 'ConfigMap' }).type!.id;
  const data: Record<string, string> = { key: 'x'.repeat(100) };
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data } as unknown as KubeObject;
  const standing = { object, encoded: encodeByMembers(object, { typeId }) };
  data.key = 'changed';
  assert.match(textOf(encodeByMembers(object, { typeId, standing })), /changed/);
});

type Client = (text: string, standing: StandingObject, random: Random) => string;

/** What a client makes of the text that it has read: the same, or what is meant to be taken for it. */
const clients: Readonly<Record<string, Client>> = {
  'as it was': (text) => text,
  'with a label': (text) => text.replace('"metadata":{', '"metadata":{"labels":{"turn":"next"},'),
  indented: (text) => JSON.stringify(JSON.parse(text), undefined, 2),
  'in the other order': (text) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse())),
  'each member twice': (text, { encoded }) =>
    text.replace(/\}$/, `,${encoded.members.map((member) => bytesOf(encoded, member)).join(',')}}`),
  'each member once more, as nothing': (text, { encoded }) =>
    text.replace(/\}$/, `,${encoded.members.map(({ name }) => `"${name}":null`).join(',')}}`),
  'with nothing before each member': (text, { encoded }) =>
    text.replace(/^\{/, `{${encoded.members.map(({ name }) => `"${name}":null,`).join('')}`),
  'its metadata twice': (text) => text.replace(/\}$/, ',"metadata":{"name":"other"}}'),
  'members below metadata': (text, { encoded }) => `{${headOf(text)},"metadata":{${membersText(encoded)}}}`,
  'members as annotations': (text, { encoded }) =>
    `{${headOf(text)},"metadata":{"annotations":{${membersText(encoded)}}}}`,
  'members within a member': (text, { encoded }) =>
    text.replace(/\}$/, `,"spec":{"template":{${membersText(encoded)}}}}`),
  'members within a list': (text, { encoded }) => text.replace(/\}$/, `,"items":[{${membersText(encoded)}}]}`),
  'members in the stead of metadata': (text, { encoded }) =>
    text.replace('"metadata":{', `"metadata":{${membersText(encoded)}},"other":{`),
  'members in a template alone': (text, { encoded }) =>
    `{${headOf(text)},"metadata":{},"spec":{"template":{${membersText(encoded)}}}}`,
  'members in free form': (text, { encoded }) => `{${headOf(text)},"metadata":{},"data":{${membersText(encoded)}}}`,
  'members under names that end alike': (text) => text.replace(/"(spec|data|status|managedFields)":/g, '"x\\"$1":'),
  'members in a string': (text) => `{${headOf(text)},"metadata":{"annotations":{"last":${JSON.stringify(text)}}}}`,
  'members in a string that ends before them': (text, { encoded }) =>
    text.replace(/\}$/, `,"last":"\\",${membersText(encoded)}}`),
  'something after a member': (text, { encoded }) =>
    encoded.members.reduce((changed, member) => {
      const bytes = bytesOf(encoded, member).toString();
      return changed.replace(bytes, () => `${bytes}1`);
    }, text),
  'a null for each member': (text, { encoded }) =>
    encoded.members.reduce(
      (changed, member) => changed.replace(bytesOf(encoded, member).toString(), () => `"${member.name}":null`),
      text,
    ),
  'of another kind': (text) => text.replace(/"kind":"[^"]*"/, '"kind":"Other"'),
  'of no kind': (text) => text.replace(/"kind":"[^"]*",/, ''),
  'cut short': (text, _, random) => text.slice(0, Math.floor(random.next() * text.length)),
  'with a byte changed': (text, _, random) => changedAt(text, random, { length: 1 }),
  'with bytes put in': (text, _, random) => changedAt(text, random, { length: 0 }),
};

/** `"kind":...,"apiVersion":...` */
function headOf(text: string): string {
  const { kind, apiVersion } = JSON.parse(text) as KubeObject;
  return JSON.stringify({ kind, apiVersion }).slice(1, -1);
}

function membersText(encoded: EncodedObject): string {
  return encoded.members.map((member) => bytesOf(encoded, member)).join(',');
}

function changedAt(text: string, random: Random, { length }: { readonly length: number }): string {
  const at = Math.floor(random.next() * text.length);
  const put = ['"', '\\', '{', '}', ',', ':', 'null', '[]', ' ', '\u0000', '{"a":1}', 'ä'];
  return text.slice(0, at) + put[Math.floor(random.next() * put.length)]! + text.slice(at + length);
}

describe('a text that a client makes of what it has read is read the same with and without what is known of it', () => {
  const validations: readonly FieldValidation[] = ['Ignore', 'Warn', 'Strict'];
  for (const [name, sent] of Object.entries(clients)) {
    test(name, () => {
      for (const { codec, type, seed, ...standing } of standings) {
        const body = Buffer.from(sent(textOf(standing.encoded), standing, seededRandom(seed)));
        const known = knownText(standing);
        const fieldValidation = validations[(seed + type.resource.length) % validations.length]!;
        const read = (members: typeof known | undefined) => {
          try {
            const { object, warnings } = codec.decode(body, { fieldValidation, known: members });
            // A standing part is what was written of it; where it says nothing it may say so in another way.
            return { text: codec.encode(object as unknown as KubeObject).toString(), warnings };
          } catch (error) {
            assert.ok(error instanceof StatusError, String(error));
            return error.status;
          }
        };
        assert.deepEqual(read(known), read(undefined), `${type.resource}, seed ${seed}`);
      }
    });
  }
});

test('what is sent back as it was becomes the very values that stand there', () => {
  let shared = 0;
  for (const type of types) {
    const { codec, object, encoded } = standingObject(type, 1);
    const known = knownText({ object, encoded });
    const read = codec.decode(encoded.bytes, { fieldValidation: 'Strict', known }).object as unknown as KubeObject;
    const exact = codec.decode(encoded.bytes, { fieldValidation: 'Strict' }).object as unknown as KubeObject;
    for (const { name } of encoded.members) if (memberOf(read, name) === memberOf(object, name)) shared++;
    assert.deepEqual(Object.keys(draft(read)).sort(), Object.keys(exact).sort());
  }
  assert.ok(shared > types.length);
});

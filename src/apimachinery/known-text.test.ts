import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scanJson } from './json-text.ts';
import { type KnownMember, KnownText } from './known-text.ts';

const spec: KnownMember = { name: 'spec', bytes: Buffer.from('"spec":{"a":[1,"x"]}'), value: {} };
const owners: KnownMember = {
  name: 'managedFields',
  parent: 'metadata',
  bytes: Buffer.from('"managedFields":[{"manager":"m"}]'),
  value: [],
};

function shortened(text: string) {
  return new KnownText([spec, owners]).leaveOutOf(Buffer.from(text));
}

describe('a text without what is known', () => {
  it('has a hole for each member, wherever it stands', () => {
    const text = `{ ${spec.bytes} ,"ä":"ö", "metadata" : {"n":1,${owners.bytes}}}`;
    const result = shortened(text)!;
    assert.equal(result.text, '{ "spec":null ,"ä":"ö", "metadata" : {"n":1,"managedFields":null}}');
    assert.deepEqual(
      result.holes.map(({ member, at }) => [member.name, result.text.slice(at, at + 4)]),
      [
        ['spec', 'null'],
        ['managedFields', 'null'],
      ],
    );
    assert.deepEqual(result.scan(), scanJson(result.text));
  });

  it('is none where no member is in it', () => {
    assert.equal(shortened('{"spec":{"a":[1,"y"]},"metadata":{"managedFields":[]}}'), undefined);
    assert.equal(shortened(''), undefined);
  });

  it('finds a member behind places that only begin like it', () => {
    const long: KnownMember = { name: 'spec', bytes: Buffer.from(`"spec":{"a":"${'x'.repeat(50)}"}`), value: {} };
    const body = Buffer.from(`{"metadata":{"spec":{"a":"${'x'.repeat(40)}"}},${long.bytes}}`);
    assert.ok(new KnownText([long]).leaveOutOf(body)?.scan());
  });
});

describe('a hole is not a member', () => {
  const elsewhere: Readonly<Record<string, string>> = {
    'in an object further down': `{"metadata":{${spec.bytes}}}`,
    'in an object within a list': `[{${spec.bytes}}]`,
    'under a longer name': `{"a\\${spec.bytes}}`,
    'within a string': `{"a":"\\${spec.bytes}}`,
    'owners at the top': `{${owners.bytes}}`,
    'owners in another member': `{"metadata":{},"spec":{${owners.bytes}}}`,
    'owners further down in metadata': `{"metadata":{"a":{${owners.bytes}}}}`,
    'owners in a list': `{"metadata":[{${owners.bytes}}]}`,
  };
  for (const [where, text] of Object.entries(elsewhere)) {
    it(where, () => {
      const result = shortened(text);
      assert.ok(result);
      assert.equal(result.scan(), undefined);
    });
  }
});

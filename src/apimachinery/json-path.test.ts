import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { JsonPath, JsonPathError, jsonPathText } from './json-path.ts';

const object = {
  metadata: { name: 'a', labels: { 'example.com/x': 'y', plain: 'z' }, empty: null },
  spec: { replicas: 3, on: true },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', weight: 1 },
      { type: 'Synced', status: 'False', weight: 2.5 },
      { type: 'Odd' },
    ],
  },
};

const found: readonly (readonly [path: string, ...values: unknown[]])[] = [
  ['.spec.replicas', 3],
  ['$.spec.on', true],
  ['.spec.missing.deeper'],
  ['.spec.replicas.deeper'],
  ['.metadata.empty', null],
  ['.metadata.empty.deeper'],
  ['.metadata.labels.example\\.com/x', 'y'],
  ["['metadata']['name']", 'a'],
  [".metadata.labels['example\\.com/x']", 'y'],
  ['.status.conditions[0].type', 'Ready'],
  ['.status.conditions[-1].type', 'Odd'],
  ['.status.conditions[-2].type', 'Synced'],
  ['.status.conditions[0:2].type', 'Ready', 'Synced'],
  ['.status.conditions[::2].type', 'Ready', 'Odd'],
  ['.status.conditions[1:].type', 'Synced', 'Odd'],
  ['.status.conditions[*].type', 'Ready', 'Synced', 'Odd'],
  ['.status.conditions.*.status', 'True', 'False'],
  ['.status.conditions[0,2].type', 'Ready', 'Odd'],
  [".metadata['name', 'missing']", 'a'],
  ['.status.conditions[?(@.type=="Ready")].status', 'True'],
  [".status.conditions[?(@.type=='Ready')].status", 'True'],
  ['.status.conditions[?(@.type != "Ready")].type', 'Synced', 'Odd'],
  ['.status.conditions[?(@.weight>1)].type', 'Synced'],
  ['.status.conditions[?(@.weight<=1)].type', 'Ready'],
  ['.status.conditions[?(@.status)].type', 'Ready', 'Synced'],
  ['.status.conditions[?(@.type=="a)b")].type'],
  ['..weight', 1, 2.5],
];

const refused: readonly (readonly [path: string, problem: string])[] = [
  ['.a[', 'unterminated array'],
  ['.a[x]', 'invalid array index x'],
  ['.a[?(@.b', 'unterminated filter'],
  ['.a[?(@.b)', 'unclosed array expect ]'],
  ['.a[?(@.b=1)]', 'unrecognized filter operator ='],
  ['.a "x', 'unterminated quoted string'],
  ['range .a', 'unrecognized identifier range'],
  ['.a[0]}', "unrecognized character in action: U+007D '}'"],
  ['....a', 'invalid multiple recursive descent'],
];

const misfits: readonly (readonly [path: string, problem: string])[] = [
  ['.spec[0]', 'object is not array or slice'],
  ['.status.conditions[5]', 'array index out of bounds: index 5, length 3'],
  ['.spec[?(@.a==1)]', '{"replicas":3,"on":true} is not array or slice and cannot be filtered'],
  ['.status.conditions[?(@.type==1)]', 'incompatible types for comparison'],
];

describe('JSONPath', () => {
  it('finds', () => {
    for (const [path, ...values] of found) {
      assert.deepEqual(new JsonPath(path).find(object), values, path);
    }
  });

  it('is refused where it is malformed', () => {
    for (const [path, message] of refused) assert.throws(() => new JsonPath(path), { message }, path);
  });

  it('says what it does not fit', () => {
    for (const [path, message] of misfits) assert.throws(() => new JsonPath(path).find(object), { message }, path);
  });

  it('writes what it finds', () => {
    const cases: readonly (readonly [unknown, string])[] = [
      ['a', 'a'],
      [3, '3'],
      [1.5, '1.5'],
      [true, 'true'],
      [null, '<no value>'],
      [{ a: ['<'] }, '{"a":["\\u003c"]}'],
    ];
    for (const [value, text] of cases) assert.equal(jsonPathText(value), text);
  });

  it('fails in no other way, whatever it is', () => {
    const pieces = fc.constantFrom(
      '.',
      '..',
      'a',
      '*',
      '[',
      ']',
      "'",
      '"',
      '0',
      ':',
      ',',
      '?(',
      ')',
      '@',
      '==',
      '-',
      ' ',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), fc.jsonValue(), (text, value) => {
        try {
          new JsonPath(text.join('')).find(value);
        } catch (error) {
          assert.ok(error instanceof JsonPathError, String(error));
        }
      }),
    );
  });

  it('does not grow without end', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 300; i++) deep = { a: deep };
    assert.throws(() => new JsonPath('..a..a..a..a').find(deep), { message: 'more than 100000 results' });
  });
});

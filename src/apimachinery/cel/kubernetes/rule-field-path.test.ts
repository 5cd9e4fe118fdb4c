import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStructuralSchema } from '../../structural-schema/schema.ts';
import { resolveFieldPath } from './rule-field-path.ts';

const schema = parseStructuralSchema({
  type: 'object',
  properties: {
    foo: {
      type: 'object',
      properties: { bar: { type: 'string' }, 'a.b': { type: 'string' }, "it's": { type: 'string' } },
    },
    labels: { type: 'object', additionalProperties: { type: 'object', properties: { x: { type: 'string' } } } },
    list: { type: 'array', items: { type: 'object', properties: { x: { type: 'string' } } } },
  },
});

test('a path leads through properties and maps', () => {
  const paths: readonly (readonly [string, string])[] = [
    ['.foo', 'foo'],
    ['.foo.bar', 'foo.bar'],
    ["['foo']['bar']", 'foo.bar'],
    [".foo['a.b']", 'foo.a.b'],
    [".foo['it\\'s']", "foo.it's"],
    ['.labels.one.x', 'labels[one].x'],
    [".labels['one']", 'labels[one]'],
  ];
  for (const [text, path] of paths) assert.equal(resolveFieldPath(text, schema).toString(), path);
});

test('a path that the schema does not have is refused', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['foo', 'expected [ or . but got: foo'],
    ['.foo.none', 'does not refer to a valid field'],
    ['.list.x', 'does not refer to a valid field'],
    ['.foo[0]', 'expected single quoted string but got 0'],
    ['.foo.', 'unexpected end of JSON path'],
    [".foo['bar'", 'unexpected end of JSON path'],
    [".foo['bar'x", 'expected ] but got x'],
    [".foo['\\q']", 'invalid string literal: invalid escape char \\q'],
  ];
  for (const [text, message] of refused) {
    assert.throws(() => resolveFieldPath(text, schema), { name: 'FieldPathError', message });
  }
});

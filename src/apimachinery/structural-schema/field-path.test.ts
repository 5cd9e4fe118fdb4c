import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveFieldPath } from './field-path.ts';
import { parseStructuralSchema } from './schema.ts';

const schema = parseStructuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { 'a.b': { type: 'string' }, map: { type: 'object', additionalProperties: { type: 'integer' } } },
    },
  },
});

describe('field paths', () => {
  it('lead to schemas', () => {
    const cases: readonly (readonly [text: string, path: string, type: string])[] = [
      ['.spec', 'spec', 'object'],
      ["['spec']['a.b']", 'spec.a.b', 'string'],
      ['.spec.map.x', 'spec.map[x]', 'integer'],
      [".spec.map['it\\'s']", "spec.map[it's]", 'integer'],
    ];
    for (const [text, path, type] of cases) {
      const found = resolveFieldPath(text, schema);
      assert.deepEqual([found.path.toString(), found.schema.type], [path, type], text);
    }
  });

  it('say where they go astray', () => {
    const cases: readonly (readonly [text: string, problem: string])[] = [
      ['.other', 'does not refer to a valid field'],
      ['.spec.map.x.y', 'does not refer to a valid field'],
      ['spec', 'expected [ or . but got: spec'],
      ['.spec.', 'unexpected end of JSON path'],
      ['.spec[', 'unexpected end of JSON path'],
      ['.spec[0]', 'expected single quoted string but got 0'],
      [".spec['map'", 'unexpected end of JSON path'],
      [".spec['map'.", 'expected ] but got .'],
      [".spec['\\q']", 'invalid string literal: invalid escape char \\q'],
      [".spec['map", "expected single quoted string but got 'map"],
    ];
    for (const [text, message] of cases) assert.throws(() => resolveFieldPath(text, schema), { message }, text);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SchemaDocument, SchemaRegistry } from '../../schema.ts';
import { baseEnvironment } from '../library/environment.ts';
import { BuiltInTypes } from './built-in-types.ts';

const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more });

const registry = new SchemaRegistry({
  release: 'v1.36',
  packages: {},
  kinds: {},
  everyGroupVersion: {},
  resources: [],
  groups: [],
  apiPriorities: [],
  gates: [],
  selectors: [],
  types: {
    'x/v1.Thing': {
      fields: [
        field('metadata', 'ref:x/v1.Meta'),
        field('replicas', 'int32', { pointer: true }),
        field('children', 'ref:x/v1.Thing', { list: true }),
        field('limits', 'quantity', { map: true }),
        field('port', 'intOrString'),
        field('data', 'bytes', { map: true }),
      ],
    },
    'x/v1.Meta': {
      fields: [
        field('name', 'string'),
        field('namespace', 'string'),
        field('labels', 'string', { map: true }),
        field('creationTimestamp', 'time'),
      ],
    },
  },
} as unknown as SchemaDocument);

const environment = baseEnvironment('new').extend({
  variables: { object: new BuiltInTypes().of(registry.type('x/v1.Thing')) },
});

test('expressions are checked against the types of built-in kinds', () => {
  const right = [
    'object.replicas > 3',
    "object.metadata.name == 'a' && object.metadata.namespace == object.metadata.__namespace__",
    "object.metadata.labels['a'] == 'b'",
    "object.metadata.creationTimestamp > timestamp('2026-01-01T00:00:00Z')",
    "object.children.all(c, c.children.all(d, d.metadata.name != ''))",
    "object.port == 80 || object.port == 'http'",
    "quantity(object.limits['cpu']).isLessThan(quantity('1'))",
    'object.data.exists(k, object.data[k].size() > 3)',
  ];
  for (const expression of right) {
    const compiled = environment.compile(expression);
    assert.ok(compiled.program, compiled.program ? '' : compiled.text);
    assert.equal(compiled.program.resultType.toString(), 'bool');
  }
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['object.nothing == 1', /undefined field 'nothing'/],
    ["object.replicas == 'x'", /no matching overload for '_==_' applied to '\(int, string\)'/],
    ['object.children[0].replica > 1', /undefined field 'replica'/],
  ];
  for (const [expression, message] of wrong) {
    const compiled = environment.compile(expression);
    assert.match(compiled.program ? '' : compiled.text, message);
  }
});

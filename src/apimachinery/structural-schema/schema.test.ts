import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonSchemaProps, parseStructuralSchema, UnsupportedSchemaError } from './schema.ts';

test('a schema is read with all that its parts say', () => {
  const schema = parseStructuralSchema({
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        nullable: true,
        default: { replicas: 1 },
        properties: {
          replicas: { type: 'integer', format: 'int32', minimum: 0, exclusiveMinimum: true },
          port: { 'x-kubernetes-int-or-string': true },
          labels: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
          items: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: { type: 'object', properties: { name: { type: 'string' } }, anyOf: [{ required: ['name'] }] },
          },
        },
        'x-kubernetes-validations': [{ rule: 'self.replicas > 0' }],
      },
    },
  });
  assert.deepEqual(schema.value.required, ['spec']);
  const spec = schema.properties.get('spec')!;
  assert.equal(spec.nullable, true);
  assert.deepEqual(spec.default, { replicas: 1 });
  assert.deepEqual(spec.rules, [{ rule: 'self.replicas > 0' }]);
  assert.equal(spec.properties.get('replicas')!.value.minimum, 0);
  assert.equal(spec.properties.get('port')!.intOrString, true);
  const labels = spec.properties.get('labels')!;
  assert.ok(typeof labels.additionalProperties === 'object' && labels.additionalProperties.type === 'string');
  assert.equal(labels.mapType, 'atomic');
  const items = spec.properties.get('items')!;
  assert.deepEqual([items.listType, items.listMapKeys], ['map', ['name']]);
  assert.deepEqual(items.items!.value.anyOf[0]!.value.required, ['name']);
});

test('a property may be named __proto__', () => {
  const props = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as JsonSchemaProps;
  assert.equal(parseStructuralSchema(props).properties.get('__proto__')?.type, 'string');
});

test('a default of null is no default', () => {
  assert.equal(parseStructuralSchema({ type: 'string', nullable: true, default: null }).default, undefined);
});

test('what no structural schema can express is refused, however deep', () => {
  const cases: readonly { readonly props: JsonSchemaProps; readonly message: string }[] = [
    { props: { id: 'a' }, message: "OpenAPIV3Schema 'id' is not supported" },
    { props: { $schema: 'a' }, message: "OpenAPIV3Schema 'schema' is not supported" },
    { props: { $ref: '#/a' }, message: "OpenAPIV3Schema '$ref' is not supported" },
    { props: { patternProperties: { a: {} } }, message: "OpenAPIV3Schema 'patternProperties' is not supported" },
    { props: { dependencies: { a: ['b'] } }, message: "OpenAPIV3Schema 'dependencies' is not supported" },
    { props: { additionalItems: false }, message: "OpenAPIV3Schema 'additionalItems' is not supported" },
    { props: { definitions: { a: {} } }, message: "OpenAPIV3Schema 'definitions' is not supported" },
    { props: { items: [{}] }, message: "OpenAPIV3Schema 'items' must be a schema, but is an array" },
  ];
  for (const { props, message } of cases) {
    const refused = (error: unknown) => error instanceof UnsupportedSchemaError && error.message === message;
    assert.throws(() => parseStructuralSchema(props), refused);
    assert.throws(() => parseStructuralSchema({ type: 'object', properties: { a: { anyOf: [props] } } }), refused);
  }
  assert.doesNotThrow(() => parseStructuralSchema({ id: '', definitions: {} }));
});

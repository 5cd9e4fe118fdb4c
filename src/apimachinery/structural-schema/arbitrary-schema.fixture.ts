/** Structural schemas by chance, and JSON that now and then fits them: for the laws of pruning, defaulting and validation. */
import fc from '../../testing/properties.fixture.ts';
import type { JsonSchemaProps } from './schema.ts';

const names = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'metadata', 'apiVersion');

/** Any JSON over few names, so that parts of it meet parts of a schema. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, '', 'a', 'abc', 0, 1, 7, -1, 1.5, 1e30),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(names, tie('value')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries.map(([key, value]) => [key, value]))),
  ),
})).value;

const scalars: fc.Arbitrary<JsonSchemaProps> = fc.oneof(
  fc.record(
    {
      type: fc.constant('string'),
      default: fc.constantFrom('a', 'abc'),
      maxLength: fc.nat(5),
      pattern: fc.constantFrom('^a', '[0-9]+$'),
      format: fc.constantFrom('date', 'ipv4', 'unheard-of'),
      enum: fc.constantFrom(['a', 'b'], ['']),
      nullable: fc.boolean(),
    },
    { requiredKeys: ['type'] },
  ),
  fc.record(
    {
      type: fc.constantFrom('integer', 'number'),
      default: fc.constantFrom(1, 7),
      minimum: fc.constantFrom(0, 0.5),
      multipleOf: fc.constantFrom(2, 0.5),
      nullable: fc.boolean(),
    },
    { requiredKeys: ['type'] },
  ),
  fc.constant({ type: 'boolean' }),
  fc.constant({ 'x-kubernetes-int-or-string': true }),
  fc.constant({ 'x-kubernetes-preserve-unknown-fields': true }),
);

/** Every value validation that is about parts is left out: any schema that comes out is structural. */
const anySchemaPart: fc.Arbitrary<JsonSchemaProps> = fc.letrec<{ schema: JsonSchemaProps }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalars,
    fc.record(
      {
        type: fc.constant('array'),
        items: tie('schema'),
        maxItems: fc.nat(2),
        'x-kubernetes-list-type': fc.constantFrom('atomic', 'set'),
      },
      { requiredKeys: ['type', 'items'] },
    ),
    fc.record(
      { type: fc.constant('object'), additionalProperties: tie('schema'), maxProperties: fc.nat(3) },
      { requiredKeys: ['type', 'additionalProperties'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.array(fc.tuple(names, tie('schema')), { maxLength: 3 }).map((e) => Object.fromEntries(e)),
        required: fc.array(names, { maxLength: 2 }),
        default: fc.constantFrom({}, { a: 1 }),
        nullable: fc.boolean(),
        'x-kubernetes-preserve-unknown-fields': fc.constant(true),
      },
      { requiredKeys: ['type', 'properties'] },
    ),
  ),
})).schema;

export const anySchema: fc.Arbitrary<JsonSchemaProps> = fc.record({
  type: fc.constant('object'),
  properties: fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'c', '__proto__'), anySchemaPart), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
});

/** Metadata of custom and embedded objects, by the tables of the built-in kinds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorText } from '../apimachinery/field-error.ts';
import { draft } from '../apimachinery/meta.ts';
import { type CoerceOptions, CustomObjects } from '../apimachinery/structural-schema/object-metadata.ts';
import { parseStructuralSchema } from '../apimachinery/structural-schema/schema.ts';
import { validateEmbeddedMetadata } from './metadata-validation.ts';
import { builtinSchema } from './schema.ts';

const objects = new CustomObjects(builtinSchema());
const schema = parseStructuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: { type: 'string' },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
});

function coerced(object: object, options?: CoerceOptions): { object: unknown; strictErrors: readonly string[] } {
  const copy = draft(object) as Record<string, unknown>;
  return { strictErrors: objects.coerce(copy, schema, options), object: copy };
}

describe('a custom object from outside', () => {
  it('loses what neither metadata nor its schema know, and is told so in order', () => {
    const template = { kind: 'Pod', metadata: { name: 'p', colour: 'red' }, free: 1 };
    const given = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a', colour: 'red', labels: {} },
      spec: { a: null, b: 1, template },
      status: {},
    };
    const { object, strictErrors } = coerced(given);
    assert.deepEqual(object, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { template: { kind: 'Pod', metadata: { name: 'p' }, free: 1 } },
    });
    assert.deepEqual(strictErrors, [
      'unknown field "metadata.colour"',
      'unknown field "spec.b"',
      'unknown field "status"',
      'unknown field "spec.template.metadata.colour"',
    ]);
  });

  it('is refused for malformed metadata, its own or an embedded one', () => {
    assert.throws(() => coerced({ metadata: { name: 5 } }), {
      message: 'json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
    });
    assert.throws(() => coerced({ spec: { template: { kind: 5 } } }), {
      message: 'spec.template.kind: Invalid value: 5: must be a string',
    });
    assert.throws(() => coerced({ spec: { template: { metadata: { labels: 1 } } } }), {
      message:
        'spec.template.metadata: Invalid value: {"labels":1}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string',
    });
  });

  it('that was stored loses its malformed metadata instead', () => {
    const given = { metadata: { name: 'a', labels: 1 }, spec: { template: { kind: 5, metadata: { name: [] } } } };
    assert.deepEqual(coerced(given, { dropsInvalid: true }).object, {
      metadata: { name: 'a' },
      spec: { template: { metadata: {} } },
    });
  });

  it('keeps everything else where its definition says so', () => {
    const given = { metadata: { colour: 1 }, spec: { b: null } };
    const { object, strictErrors } = coerced(given, { preservesUnknown: true });
    assert.deepEqual(object, { metadata: {}, spec: { b: null } });
    assert.deepEqual(strictErrors, ['unknown field "metadata.colour"']);
  });
});

describe('an embedded object', () => {
  const errorsOf = (template: unknown) =>
    objects
      .validateEmbedded({ spec: { template } }, schema, { validateMetadata: validateEmbeddedMetadata })
      .map(errorText);

  it('says what it is', () => {
    assert.deepEqual(errorsOf({ apiVersion: 'v1', kind: 'Pod' }), []);
    assert.deepEqual(errorsOf({}), ['spec.template.apiVersion: Required value', 'spec.template.kind: Required value']);
    assert.deepEqual(errorsOf({ apiVersion: 'a/b/c', kind: '' }), [
      'spec.template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      'spec.template.kind: Invalid value: "": must not be empty',
    ]);
    assert.deepEqual(errorsOf('no object'), []);
  });

  it('has metadata in order', () => {
    assert.deepEqual(errorsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: '..', namespace: 'A' } }).length, 2);
    assert.deepEqual(errorsOf({ apiVersion: 'v1', kind: 'Pod', metadata: 5 }), [
      'spec.template.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta',
    ]);
  });
});

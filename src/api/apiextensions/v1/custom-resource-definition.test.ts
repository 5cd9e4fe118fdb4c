import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, given, merged, updateErrorsOf } from '../../given.fixture.ts';
import { customResourceDefinitionBehaviour as behaviour } from './custom-resource-definition.ts';

const object = { type: 'object' };
const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: object } };
const definition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [version],
  },
};

const withSpec = (spec: object) => merged(definition, { spec });
const withVersion = (changes: object) => withSpec({ versions: [{ ...version, ...changes }] });
const withSchema = (schema: object) => withVersion({ schema: { openAPIV3Schema: schema } });
const withField = (schema: object) => withSchema({ type: 'object', properties: { a: schema } });
const shared = 'spec.validation.openAPIV3Schema';
const fieldAt = `${shared}.properties[a]`;
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const v2 = { ...version, name: 'v2', storage: false };

interface Case {
  readonly name: string;
  readonly definition: object;
  readonly errors: readonly string[];
}

const specs: readonly Case[] = [
  { name: 'a small definition', definition, errors: [] },
  {
    name: 'groups are domains',
    definition: merged(definition, { metadata: { name: 'widgets.example' }, spec: { group: 'example' } }),
    errors: ['spec.group: Invalid value: "example": should be a domain with at least one dot'],
  },
  {
    name: 'scopes are two',
    definition: withSpec({ scope: 'Galactic' }),
    errors: ['spec.scope: Unsupported value: "Galactic": supported values: "Cluster", "Namespaced"'],
  },
  {
    name: 'names are words, and the two kinds differ',
    definition: withSpec({
      names: {
        plural: 'widgets',
        singular: 'W',
        kind: 'Wi_dget',
        listKind: 'Wi_dget',
        shortNames: ['W'],
        categories: ['all', 'A'],
      },
    }),
    errors: [
      `spec.names.singular: Invalid value: "W": ${label}`,
      `spec.names.kind: Invalid value: "Wi_dget": may have mixed case, but should otherwise match: ${label}`,
      `spec.names.listKind: Invalid value: "Wi_dget": may have mixed case, but should otherwise match: ${label}`,
      `spec.names.shortNames[0]: Invalid value: "W": ${label}`,
      'spec.names.listKind: Invalid value: "Wi_dget": kind and listKind may not be the same',
      `spec.names.categories[1]: Invalid value: "A": ${label}`,
    ],
  },
  {
    name: 'every version has a schema',
    definition: withVersion({ schema: undefined }),
    errors: ['spec.versions[0].schema.openAPIV3Schema: Required value'],
  },
  {
    name: 'versions that agree are judged in common, others apart',
    definition: withSpec({ versions: [{ ...version, schema: { openAPIV3Schema: { type: 'string' } } }, v2] }),
    errors: ['spec.versions[0].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root'],
  },
  {
    name: 'unknown fields are kept by schemas only',
    definition: withSpec({ preserveUnknownFields: true }),
    errors: [
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  },
  {
    name: 'warnings are for deprecated versions, short and printable',
    definition: withSpec({
      versions: [
        { ...version, deprecationWarning: 'old' },
        { ...v2, deprecated: true, deprecationWarning: `é${'\u0007'}${'x'.repeat(256)}` },
      ],
    }),
    errors: [
      'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
      `spec.versions[1].deprecationWarning: Invalid value: "é\\a${'x'.repeat(256)}": must be <= 256 characters long`,
      `spec.versions[1].deprecationWarning: Invalid value: "é\\a${'x'.repeat(256)}": must only contain printable UTF-8 characters; non-printable character found at index 2`,
    ],
  },
  {
    name: 'scale knows where its numbers are',
    definition: withVersion({
      subresources: {
        scale: { specReplicasPath: '.replicas', statusReplicasPath: 'status.x', labelSelectorPath: '.x' },
      },
    }),
    errors: [
      'spec.subresources.scale.specReplicasPath: Invalid value: ".replicas": should be a json path under .spec',
      'spec.subresources.scale.statusReplicasPath: Invalid value: "status.x": must be a simple json path starting with .',
      'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status',
    ],
  },
  {
    name: 'columns have a name, a type and a path',
    definition: withVersion({
      additionalPrinterColumns: [
        { name: '', type: '', jsonPath: '' },
        { name: 'A', type: 'text', format: 'long', jsonPath: 'spec' },
      ],
    }),
    errors: [
      'spec.additionalPrinterColumns[0].name: Required value',
      'spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Required value',
      'spec.additionalPrinterColumns[1].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[1].format: Invalid value: "long": must be one of byte,date,date-time,double,float,int32,int64,password',
      'spec.additionalPrinterColumns[1].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
    ],
  },
  {
    name: 'groups of the community need an approval',
    definition: merged(definition, { metadata: { name: 'widgets.x.k8s.io' }, spec: { group: 'x.k8s.io' } }),
    errors: [
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
  {
    name: 'that is a URL or says there is none',
    definition: merged(definition, {
      metadata: { name: 'widgets.x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'yes' } },
      spec: { group: 'x.k8s.io' },
    }),
    errors: [
      'metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
  {
    name: 'an approved one',
    definition: merged(definition, {
      metadata: { name: 'widgets.x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'https://example.com/1' } },
      spec: { group: 'x.k8s.io' },
    }),
    errors: [],
  },
];

const conversions: readonly Case[] = [
  {
    name: 'without a webhook nothing is said of one',
    definition: withSpec({ conversion: { strategy: 'None', webhook: { conversionReviewVersions: ['v1'] } } }),
    errors: [
      'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
    ],
  },
  {
    name: 'strategies are two',
    definition: withSpec({ conversion: { strategy: 'Magic' } }),
    errors: ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
  },
  {
    name: 'a webhook stands somewhere and speaks a known version',
    definition: withSpec({ conversion: { strategy: 'Webhook' } }),
    errors: [
      'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
      'spec.conversion.conversionReviewVersions: Required value',
    ],
  },
  {
    name: 'at one place, each version once',
    definition: withSpec({
      conversion: { strategy: 'Webhook', webhook: { clientConfig: {}, conversionReviewVersions: ['v9', 'v9'] } },
    }),
    errors: [
      'spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required',
      'spec.conversion.conversionReviewVersions[1]: Invalid value: "v9": duplicate version',
      'spec.conversion.conversionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
    ],
  },
];

const schemas: readonly Case[] = [
  {
    name: 'types are those of the API',
    definition: withField({ type: 'text' }),
    errors: [
      `${fieldAt}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
  },
  {
    name: 'parts of JSON schema that the API has no use for',
    definition: withField({
      type: 'object',
      patternProperties: { x: object },
      $ref: '#/x',
      definitions: { y: object },
    }),
    errors: [
      `${fieldAt}.patternProperties: Forbidden: patternProperties is not supported`,
      `${fieldAt}.definitions: Forbidden: definitions is not supported`,
      `${fieldAt}.$ref: Forbidden: $ref is not supported`,
    ],
  },
  {
    name: 'unique items, properties beside additional ones, nothing null',
    definition: withSchema({
      type: 'object',
      nullable: true,
      properties: {
        a: { type: 'array', items: { type: 'string' }, uniqueItems: true },
        b: { type: 'object', properties: { c: object }, additionalProperties: object },
        c: { type: 'null' },
      },
    }),
    errors: [
      `${shared}.nullable: Forbidden: nullable cannot be true at the root`,
      `${shared}.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
      `${shared}.properties[b].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
      `${shared}.properties[c].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      `${shared}.properties[c].type: Forbidden: type cannot be set to null, use nullable as an alternative`,
    ],
  },
  {
    name: 'not structural',
    definition: withField({ properties: { b: {} } }),
    errors: [
      `${fieldAt}.properties[b].type: Required value: must not be empty for specified object fields`,
      `${fieldAt}.type: Required value: must not be empty for specified object fields`,
    ],
  },
  {
    name: 'lists and maps say how they merge in known words',
    definition: withSchema({
      type: 'object',
      properties: {
        a: { type: 'string', 'x-kubernetes-list-type': 'bag', 'x-kubernetes-map-type': 'loose' },
        b: { type: 'array', items: object, 'x-kubernetes-list-map-keys': ['x'] },
        c: { type: 'array', items: object, 'x-kubernetes-list-type': 'set' },
      },
    }),
    errors: [
      `${shared}.properties[a].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`,
      `${shared}.properties[a].x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"`,
      `${shared}.properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified`,
      `${shared}.properties[a].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"`,
      `${shared}.properties[b].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty`,
      `${shared}.properties[c].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
  },
  {
    name: 'keys of a map are there and scalars',
    definition: withField({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['x', 'y', 'z', 'x'],
      items: {
        type: 'object',
        nullable: true,
        required: ['y'],
        properties: { x: { type: 'string', nullable: true }, y: { type: 'object' } },
      },
    }),
    errors: [
      `${fieldAt}.items.properties[y].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
      `${fieldAt}.x-kubernetes-list-map-keys: Invalid value: ["x","y","z","x"]: entries must all be names of item properties`,
      `${fieldAt}.x-kubernetes-list-map-keys: Invalid value: ["x","y","z","x"]: must not contain duplicate entries`,
      `${fieldAt}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map`,
      `${fieldAt}.items.properties[x].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
      `${fieldAt}.items.properties[x].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable`,
      `${fieldAt}.items.properties[x].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
      `${fieldAt}.items.properties[x].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable`,
    ],
  },
  {
    name: 'with a status of its own little stands at the root',
    definition: withVersion({
      subresources: { status: {} },
      schema: { openAPIV3Schema: { type: 'object', maxProperties: 3 } },
    }),
    errors: [
      `${shared}: Invalid value: {"type":"object","maxProperties":3}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled`,
    ],
  },
  {
    name: 'rules have a form',
    definition: withField({
      type: 'object',
      properties: { b: object },
      'x-kubernetes-validations': [
        { rule: ' ' },
        { rule: 'a', message: ' ', messageExpression: ' ', reason: 'Because' },
        { rule: 'a\nb' },
        { rule: 'a', message: 'a\nb', fieldPath: '.c' },
        { rule: 'a', fieldPath: '.b' },
      ],
    }),
    errors: [
      `${fieldAt}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
      `${fieldAt}.x-kubernetes-validations[1].message: Invalid value: " ": must be non-empty if specified`,
      `${fieldAt}.x-kubernetes-validations[1].messageExpression: Required value: messageExpression must be non-empty if specified`,
      `${fieldAt}.x-kubernetes-validations[1].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
      `${fieldAt}.x-kubernetes-validations[2].message: Required value: message must be specified if rule contains line breaks`,
      `${fieldAt}.x-kubernetes-validations[3].message: Invalid value: "a\\nb": must not contain line breaks`,
      `${fieldAt}.x-kubernetes-validations[3].fieldPath: Invalid value: ".c": must be a valid path`,
    ],
  },
];

const defaults: readonly Case[] = [
  {
    name: 'obey the schema',
    definition: withSchema({
      type: 'object',
      properties: {
        a: { type: 'integer', minimum: 3, default: 1 },
        b: { type: 'object', properties: { c: { type: 'string' } }, default: { c: 1, d: 1 } },
        c: { type: 'array', items: { type: 'string', default: 5 } },
      },
    }),
    errors: [
      `${shared}.properties[a].default: Invalid value: 1:  in body should be greater than or equal to 3`,
      `${shared}.properties[b].default: Invalid value: {"c":1,"d":1}: must not have unknown fields`,
      `${shared}.properties[b].default.c: Invalid value: "integer": c in body must be of type string: "integer"`,
      `${shared}.properties[c].items.default: Invalid value: "integer":  in body must be of type string: "integer"`,
    ],
  },
  {
    name: 'do not stand in what every object has',
    definition: withSchema({
      type: 'object',
      properties: { kind: { type: 'string', default: 'A' }, metadata: { type: 'object', default: {} } },
    }),
    errors: [
      `${shared}.properties[kind].default: Forbidden: must not be set in top-level kind`,
      `${shared}.properties[metadata].default: Forbidden: must not be set in top-level metadata`,
    ],
  },
  {
    name: 'make sound objects of embedded ones',
    definition: withSchema({
      type: 'object',
      properties: {
        good: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
          default: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
        },
        bad: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
          default: { apiVersion: 'v1', metadata: { labels: { a: 'not good' } } },
        },
        name: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'a/b' } } } },
        },
      },
    }),
    errors: [
      `${shared}.properties[bad].default.kind: Required value`,
      `${shared}.properties[bad].default.metadata.labels: Invalid value: "not good": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      `${shared}.properties[name].properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
  },
];

const fields = {
  type: 'object',
  properties: {
    metadata: { type: 'object', properties: { name: { type: 'string' } } },
    spec: {
      type: 'object',
      properties: {
        a: { type: 'string' },
        n: { type: 'number' },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
};
const withSelectable = (...paths: readonly string[]) =>
  withVersion({ schema: { openAPIV3Schema: fields }, selectableFields: paths.map((jsonPath) => ({ jsonPath })) });

const selectable: readonly Case[] = [
  { name: 'scalars of the schema', definition: withSelectable('.spec.a', '.spec.map.x'), errors: [] },
  {
    name: 'nothing else',
    definition: withSelectable(
      '',
      '.spec.b',
      '.spec.n',
      '.metadata.name',
      '.spec.a',
      '.spec.a',
      'x',
      ".spec['a']",
      '.',
    ),
    errors: [
      'spec.selectableFields[0].jsonPath: Required value',
      'spec.selectableFields[1].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
      'spec.selectableFields[2].jsonPath: Invalid value: ".spec.n": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.selectableFields[3].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
      'spec.selectableFields[5].jsonPath: Duplicate value: ".spec.a"',
      'spec.selectableFields[6].jsonPath: Invalid value: "x": is an invalid path: expected [ or . but got: x',
      `spec.selectableFields[7].jsonPath: Invalid value: ".spec['a']": is an invalid path: array notation is not allowed`,
      'spec.selectableFields[8].jsonPath: Invalid value: ".": is an invalid path: unexpected end of JSON path',
    ],
  },
  {
    name: 'and not many',
    definition: withSelectable(...Array.from({ length: 9 }, (_, i) => `.spec.map.k${i}`)),
    errors: ['spec.selectableFields: Too many: 9: must have at most 8 items'],
  },
];

for (const [topic, cases] of Object.entries({ specs, conversions, schemas, defaults, selectable })) {
  describe(`definitions: ${topic}`, () => {
    for (const { name, definition: written, errors } of cases)
      it(name, () => assert.deepEqual(errorsOf(behaviour, written), errors));
  });
}

describe('a definition on update', () => {
  const established = merged(definition, {
    status: { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] },
  });
  const errorsOfUpdate = (changes: object, stored: object = established) =>
    updateErrorsOf(behaviour, stored, merged(stored, changes));

  it('keeps what its objects are stored by', () => {
    assert.deepEqual(errorsOfUpdate({ spec: { scope: 'Cluster', names: { plural: 'gadgets', kind: 'Gadget' } } }), [
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Gadget": field is immutable',
      'spec.names.plural: Invalid value: "gadgets": field is immutable',
    ]);
    const fresh = merged(definition, { status: { storedVersions: ['v1'] } });
    assert.deepEqual(errorsOfUpdate({ spec: { scope: 'Cluster', names: { kind: 'Gadget' } } }, fresh), []);
  });

  it('keeps versions that objects may still be stored in', () => {
    const versions = [{ ...version, name: 'v2' }];
    assert.deepEqual(errorsOfUpdate({ spec: { versions }, status: { storedVersions: ['v1', 'v2'] } }), [
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ]);
    assert.deepEqual(errorsOfUpdate({ spec: { versions }, status: { storedVersions: ['v2'] } }), []);
  });

  it('is not refused for what it was stored with', () => {
    const keys = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['x'],
      items: { type: 'object', properties: { x: { type: 'string' } } },
    };
    const old = merged(withField(keys), { status: { storedVersions: ['v1'] } });
    assert.equal(errorsOf(behaviour, old).length, 1);
    assert.deepEqual(errorsOfUpdate({ metadata: { labels: { a: 'b' } } }, old), []);
  });

  it('warns of formats that nothing checks, once', () => {
    const written = given(behaviour, withField({ type: 'string', format: 'unheard-of' }));
    const warning = 'unrecognized format "unheard-of"';
    assert.deepEqual(behaviour.warnings?.(written), [warning]);
    assert.deepEqual(behaviour.warnings?.(written, given(behaviour, definition)), [warning]);
    assert.deepEqual(behaviour.warnings?.(written, written), []);
  });

  it('takes names in its status that are words', () => {
    const status = { acceptedNames: { plural: 'W', kind: 'Widget' } };
    const errors = updateErrorsOf(behaviour, established, merged(established, { status }), 'status');
    assert.deepEqual(errors, [`status.acceptedNames.plural: Invalid value: "W": ${label}`]);
  });
});

describe('hostile definitions', () => {
  it('may be deep', () => {
    let schema: object = { type: 'string', default: 'x' };
    for (let i = 0; i < 300; i++) schema = { type: 'object', properties: { a: schema } };
    assert.deepEqual(errorsOf(behaviour, withField(schema)), []);
  });

  it('may be wide', () => {
    const values = Array.from({ length: 50_000 }, (_, i) => `v${i}`);
    const properties = Object.fromEntries(
      values.slice(0, 5000).map((name) => [name, { type: 'string', maxLength: 3 }]),
    );
    const schema = {
      type: 'object',
      properties: { ...properties, e: { type: 'string', enum: values, default: 'v1' } },
    };
    assert.deepEqual(errorsOf(behaviour, withField(schema)), []);
  });
});

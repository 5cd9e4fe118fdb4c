/** Validation rules of custom resources, as a definition states them and as objects meet them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, createHttpTransport, type StatusError } from '../../src/client/index.ts';
import { startCluster } from './cluster.ts';
import { type CustomObject, define, type Schema } from './definitions.ts';

const cluster = await startCluster({ controllers: [], scheduler: false });
const { client } = cluster;

const integers = (maxItems: number) => ({ type: 'array', maxItems, items: { type: 'integer' } });
const underSpec = (spec: object): Schema => ({ type: 'object', properties: { spec } }) as Schema;

const ruled = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      'x-kubernetes-validations': [
        { rule: 'self.x + self.y > 0' },
        {
          rule: 'self.firstArray.isSorted() && self.secondArray.isSorted() && ((self.firstArray.sum() + self.secondArray.sum()) % 2 == 0)',
        },
        { rule: 'self.largeArray.all(x, self.largeArray.all(y, y == x))' },
      ],
      properties: {
        x: { type: 'integer' },
        y: { type: 'integer' },
        firstArray: integers(1000),
        secondArray: integers(1000),
        largeArray: integers(725),
      },
    },
    status: {
      type: 'object',
      'x-kubernetes-validations': [{ rule: "self.health == 'ok' || self.health == 'unhealthy'" }],
      properties: { health: { type: 'string' } },
    },
  },
} as Schema;

async function refusalOf(call: Promise<unknown>): Promise<StatusError> {
  let refused: unknown;
  await assert.rejects(call, (error) => {
    refused = error;
    return true;
  });
  return refused as StatusError;
}

const prefix = '[sig-api-machinery] CustomResourceValidationRules [Privileged:ClusterAdmin]';

test(`${prefix} MUST NOT fail validation for create of a custom resource that satisfies the x-kubernetes-validations rules`, async () => {
  const defined = await define(client, { schema: ruled, namespaced: true });
  const spec = { x: 1, y: 0, firstArray: [3, 4], secondArray: [5, 10], largeArray: [2, 2] };
  const made = await client.create(defined.type(), { metadata: { namespace: 'default', name: 'a' }, spec });
  assert.deepEqual(made.spec, spec);
});

test(`${prefix} MUST fail validation for create of a custom resource that does not satisfy the x-kubernetes-validations rules`, async () => {
  const defined = await define(client, { schema: ruled });
  const { code, message } = await refusalOf(
    client.create(defined.type(), { metadata: { name: 'a' }, spec: { x: 0, y: 0 } }),
  );
  assert.equal(code, 422);
  assert.match(message, /spec: Invalid value: failed rule: self\.x \+ self\.y > 0/);
});

test(`${prefix} MUST fail create of a custom resource definition that contains a x-kubernetes-validations rule that refers to a property that do not exist`, async () => {
  const schema = underSpec({
    type: 'object',
    'x-kubernetes-validations': [{ rule: 'self.z == 100' }],
    properties: { x: { type: 'integer' } },
  });
  const { code, message } = await refusalOf(define(client, { schema }));
  assert.equal(code, 422);
  assert.match(message, /undefined field 'z'/);
});

test(`${prefix} MUST fail create of a custom resource definition that contains an x-kubernetes-validations rule that contains a syntax error`, async () => {
  const schema = underSpec({ type: 'object', 'x-kubernetes-validations': [{ rule: 'self = 42' }] });
  const { message } = await refusalOf(define(client, { schema }));
  assert.match(message, /Syntax error/);
});

test(`${prefix} MUST fail create of a custom resource definition that contains an x-kubernetes-validations rule that exceeds the estimated cost limit`, async () => {
  const strings = {
    type: 'array',
    items: { type: 'string' },
    'x-kubernetes-validations': [{ rule: "self.all(s, s == 'string constant')" }],
  };
  const schema = underSpec({ type: 'object', properties: { x: { type: 'array', items: strings } } });
  const { message } = await refusalOf(define(client, { schema }));
  assert.match(message, /estimated rule cost exceeds budget by factor of more than 100x/);
});

test(`${prefix} MUST fail create of a custom resource that exceeds the runtime cost limit for x-kubernetes-validations rule execution`, async () => {
  const defined = await define(client, { schema: ruled });
  const spec = { largeArray: new Array(725).fill(20) };
  const { message } = await refusalOf(client.create(defined.type(), { metadata: { name: 'a' }, spec }));
  assert.match(message, /call cost exceeds limit/);
});

const growing = (more: object = {}) =>
  underSpec({
    type: 'object',
    properties: { num: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }], ...more } },
  });

test(`${prefix} MUST fail update of a custom resource that does not satisfy a x-kubernetes-validations transition rule`, async () => {
  const defined = await define(client, { schema: growing() });
  const made = await client.create(defined.type(), { metadata: { name: 'a' }, spec: { num: 10 } });
  const { code, message } = await refusalOf(client.update(defined.type(), { ...made, spec: { num: 9 } }));
  assert.equal(code, 422);
  assert.match(message, /spec\.num: Invalid value: 9: failed rule: self > oldSelf/);
});

test('a rule about the object as a whole is broken nowhere in particular, which Go calls <nil>', async () => {
  const rules = [{ rule: "self.metadata.name.startsWith('good-')" }];
  const schema = { type: 'object', 'x-kubernetes-validations': rules } as Schema;
  const defined = await define(client, { schema });
  const { message, status } = await refusalOf(client.create(defined.type(), { metadata: { name: 'bad' } }));
  assert.match(message, /"bad" is invalid: <nil>: Invalid value: failed rule: self\.metadata\.name/);
  assert.equal(status.details?.causes?.[0]?.field, '<nil>');
});

test('rules are not judged on an object whose form is wrong, and it says so', async () => {
  const defined = await define(client, { schema: ruled });
  const { message } = await refusalOf(
    client.create(defined.type(), { metadata: { name: 'a' }, spec: { x: 'a', y: 0 } }),
  );
  assert.match(message, /spec\.x: Invalid value: "string"/);
  assert.match(message, /<nil>: Invalid value: null: some validation rules were not checked/);
  assert.doesNotMatch(message, /failed rule/);
});

test('what breaks a rule that came later may stay as it is, and clients are warned', async () => {
  const warnings: string[] = [];
  const transport = createHttpTransport({ ...cluster.connection, onWarning: (text) => warnings.push(text) });
  const watchful = createClient(transport);
  const plain: Schema = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } };
  const strict = {
    ...plain,
    properties: {
      ...plain.properties,
      name: { type: 'string', 'x-kubernetes-validations': [{ rule: "self.startsWith('a')" }] },
    },
  } as Schema;
  const versions = [
    { name: 'v1', schema: { openAPIV3Schema: plain } },
    { name: 'v2', schema: { openAPIV3Schema: strict } },
  ];
  const defined = await define(client, { versions });
  await client.create(defined.type('v1'), { metadata: { name: 'a' }, name: 'b', size: 1 });
  const v2 = defined.type('v2');
  const body = { size: 2 };
  const kept: CustomObject = await watchful.patch(v2, { name: 'a' }, { type: 'merge', body });
  assert.equal(kept.size, 2);
  assert.deepEqual(warnings, ['name: Invalid value: "b": failed rule: self.startsWith(\'a\')']);
  const { code } = await refusalOf(watchful.patch(v2, { name: 'a' }, { type: 'merge', body: { name: 'c' } }));
  assert.equal(code, 422);
  await transport.close();
});

test('a default that breaks its rule is refused with the definition', async () => {
  const colour = { type: 'string', default: 'blue', 'x-kubernetes-validations': [{ rule: "self != 'blue'" }] };
  const { message } = await refusalOf(
    define(client, { schema: underSpec({ type: 'object', properties: { colour } }) }),
  );
  assert.match(message, /properties\[colour\]\.default: Invalid value: "blue": failed rule: self != 'blue'/);
  const frozen = { type: 'string', default: 'blue', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
  await define(client, { schema: underSpec({ type: 'object', properties: { frozen } }) });
});

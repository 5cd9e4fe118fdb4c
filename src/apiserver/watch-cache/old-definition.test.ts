import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definitionOfV1beta1 } from './old-definition.ts';

const meta = { kind: 'CustomResourceDefinition', metadata: { name: 'boats.example.com' } };
const names = { plural: 'boats', kind: 'Boat' };
const schema = { openAPIV3Schema: { type: 'object' } };
const column = { name: 'Crew', type: 'integer' };

const specOf = (spec: object) =>
  JSON.parse(
    definitionOfV1beta1(
      Buffer.from(JSON.stringify({ ...meta, apiVersion: 'apiextensions.k8s.io/v1beta1', spec })),
    ).toString(),
  );

test('what all versions share is given to each of them', () => {
  const converted = specOf({
    group: 'example.com',
    version: 'v1',
    names,
    validation: schema,
    subresources: { status: {} },
    additionalPrinterColumns: [{ ...column, JSONPath: '.spec.crew' }],
    versions: [
      { name: 'v1', served: true, storage: true },
      { name: 'v2', served: true, storage: false },
    ],
    preserveUnknownFields: false,
  });
  const shared = {
    schema,
    subresources: { status: {} },
    additionalPrinterColumns: [{ ...column, jsonPath: '.spec.crew' }],
  };
  assert.deepEqual(converted, {
    ...meta,
    apiVersion: 'apiextensions.k8s.io/v1',
    spec: {
      group: 'example.com',
      names,
      versions: [
        { name: 'v1', served: true, storage: true, ...shared },
        { name: 'v2', served: true, storage: false, ...shared },
      ],
      preserveUnknownFields: false,
    },
  });
});

test('what differs stays with its version, and one that only has a name is the only one', () => {
  const own = { name: 'v1', served: true, storage: true, schema };
  const columns = [{ ...column, JSONPath: '.a' }];
  assert.deepEqual(specOf({ versions: [{ ...own, additionalPrinterColumns: columns }] }).spec.versions, [
    { ...own, additionalPrinterColumns: [{ ...column, jsonPath: '.a' }] },
  ]);
  assert.deepEqual(specOf({ version: 'v1' }).spec.versions, [{ name: 'v1', served: true, storage: true }]);
});

test('a webhook stands one level deeper, and unknown fields are kept where nothing is said', () => {
  const clientConfig = { url: 'https://example.com' };
  const conversion = { strategy: 'Webhook', webhookClientConfig: clientConfig, conversionReviewVersions: ['v1'] };
  const { spec } = specOf({ versions: [], conversion });
  assert.deepEqual(spec.conversion, {
    strategy: 'Webhook',
    webhook: { clientConfig, conversionReviewVersions: ['v1'] },
  });
  assert.equal(spec.preserveUnknownFields, true);
  assert.deepEqual(specOf({ versions: [], conversion: { strategy: 'None' } }).spec.conversion, { strategy: 'None' });
});

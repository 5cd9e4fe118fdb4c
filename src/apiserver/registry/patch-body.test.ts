import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyJsonPatch } from '../../apimachinery/patch/json-patch.ts';
import { applyMergePatch } from '../../apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../apimachinery/patch/strategic-merge-patch.ts';
import { deepFreeze } from '../../base/deep-freeze.ts';
import fc from '../../testing/properties.fixture.ts';
import { tableCodec } from '../encoding/resource-codec.ts';
import type { ApiRequest } from '../request.ts';
import { readPatch } from './patch-body.ts';

type Document = Readonly<Record<string, unknown>>;

const codec = tableCodec({ group: 'apps', version: 'v1', kind: 'Deployment' });
const decodeWhole = (document: unknown) =>
  codec.decodeValue(structuredClone(document) as object, { fieldValidation: 'Warn' });
const before = deepFreeze(
  decodeWhole({
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: {
      name: 'shop',
      labels: { app: 'shop' },
      managedFields: [{ manager: 'm', operation: 'Update', apiVersion: 'apps/v1', fieldsV1: { 'f:spec': {} } }],
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'shop' } },
      template: {
        metadata: { labels: { app: 'shop' } },
        spec: { containers: [{ name: 'main', image: 'shop:1', resources: { limits: { memory: '1Gi' } } }] },
      },
    },
    status: { replicas: 3, conditions: [{ type: 'Available', status: 'True' }] },
  }).object,
);

async function patched(format: string, patch: unknown) {
  const body = { kind: 'bytes', read: () => Promise.resolve(Buffer.from(JSON.stringify(patch))) };
  const request = { headers: { 'content-type': `application/${format}` }, body } as unknown as ApiRequest;
  const apply = await readPatch(request, { codec, fieldValidation: 'Warn' });
  return apply(before);
}

const merges = fc.record(
  {
    metadata: fc.constantFrom<unknown>({ labels: { turn: '1' } }, { labels: null }, { unknown: 1 }),
    spec: fc.constantFrom<unknown>(
      { replicas: 5 },
      { template: { spec: { containers: [{ name: 'main', image: 'shop:2' }] } } },
      { unknown: {} },
    ),
    status: fc.constantFrom<unknown>({ replicas: 0 }, { conditions: [{ type: 'Progressing', status: 'True' }] }, null),
  },
  { requiredKeys: [] },
);

const operations = fc.array(
  fc.constantFrom(
    { op: 'replace', path: '/spec/replicas', value: 7 },
    { op: 'add', path: '/metadata/labels/turn', value: '2' },
    { op: 'remove', path: '/status/conditions' },
    { op: 'copy', from: '/spec/selector/matchLabels', path: '/metadata/labels' },
    { op: 'copy', from: '/spec/template/metadata', path: '/status' },
    { op: 'move', from: '/status', path: '/spec/strategy' },
    { op: 'add', path: '/spec/unknown', value: { x: 1 } },
  ),
  { maxLength: 3 },
);

/** What the patch leaves alone is taken over and not read again, which nobody must be able to tell. */
async function assertAsDecodedWhole(format: string, patch: unknown, after: () => unknown): Promise<void> {
  let expected: { readonly object: Document; readonly warnings: readonly string[] };
  try {
    expected = decodeWhole(after());
  } catch {
    await assert.rejects(patched(format, patch));
    return;
  }
  const { object, warnings } = await patched(format, patch);
  assert.deepEqual(
    JSON.parse(codec.encode(object).toString()),
    JSON.parse(codec.encode(expected.object as never).toString()),
  );
  assert.deepEqual(warnings, expected.warnings);
  for (const [name, part] of Object.entries(object))
    if (part !== before[name]) assert.ok(!Object.isFrozen(part) || typeof part !== 'object', `${name} can be changed`);
}

test('a merge patch makes what decoding the merged document makes', async () => {
  await fc.assert(
    fc.asyncProperty(merges, (patch) =>
      assertAsDecodedWhole('merge-patch+json', patch, () => applyMergePatch(before, patch)),
    ),
  );
});

test('a strategic merge patch makes what decoding the merged document makes', async () => {
  await fc.assert(
    fc.asyncProperty(merges, (patch) =>
      assertAsDecodedWhole('strategic-merge-patch+json', patch, () =>
        applyStrategicMergePatch(before, patch as Document, codec.type!),
      ),
    ),
  );
});

test('a JSON patch makes what decoding the patched document makes, also where it moves parts to other places', async () => {
  await fc.assert(
    fc.asyncProperty(operations, (patch) =>
      assertAsDecodedWhole('json-patch+json', patch, () => applyJsonPatch(before, patch)),
    ),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../status.ts';
import { applyJsonPatch, maxJsonPatchOperations } from './json-patch.ts';

const document = { a: { b: [1, 2, 3] }, 'x/y': 1, 'm~n': 2 };

test('all operations of RFC 6902', () => {
  const result = applyJsonPatch<unknown>(document, [
    { op: 'test', path: '/a/b/1', value: 2 },
    { op: 'add', path: '/a/b/1', value: 9 },
    { op: 'add', path: '/a/b/-', value: 4 },
    { op: 'remove', path: '/a/b/0' },
    { op: 'replace', path: '/x~1y', value: 7 },
    { op: 'copy', from: '/m~0n', path: '/copied' },
    { op: 'move', from: '/m~0n', path: '/moved' },
  ]);
  assert.deepEqual(result, { a: { b: [9, 2, 3, 4] }, 'x/y': 7, copied: 2, moved: 2 });
  assert.deepEqual(document, { a: { b: [1, 2, 3] }, 'x/y': 1, 'm~n': 2 });
});

test('what no operation passes through is shared with the document, frozen or not, and nothing of that is changed', () => {
  const owners = Object.freeze([Object.freeze({ manager: 'a' })]);
  const list = Object.freeze([Object.freeze({ name: 'x', tags: Object.freeze(['t']) })]);
  const before = Object.freeze({ metadata: Object.freeze({ owners, labels: Object.freeze({ a: '1' }) }), list });
  const after = applyJsonPatch<typeof before>(before, [
    { op: 'replace', path: '/metadata/labels/a', value: '2' },
    { op: 'copy', from: '/list/0', path: '/list/-' },
    { op: 'move', from: '/list/0', path: '/list/1' },
    { op: 'add', path: '/list/1/tags/-', value: 'u' },
    { op: 'remove', path: '/list/0/name' },
  ]);
  assert.equal(after.metadata.owners, owners);
  assert.deepEqual(after, {
    metadata: { owners, labels: { a: '2' } },
    list: [{ tags: ['t'] }, { name: 'x', tags: ['t', 'u'] }],
  });
  assert.deepEqual(before.list, [{ name: 'x', tags: ['t'] }]);
});

test('a value that a patch brings along twice is not one value afterwards', () => {
  const patch = [
    { op: 'add', path: '/a', value: { b: 1 } },
    { op: 'copy', from: '/a', path: '/c' },
    { op: 'replace', path: '/c/b', value: 2 },
  ];
  assert.deepEqual(applyJsonPatch<unknown>({}, patch), { a: { b: 1 }, c: { b: 2 } });
  assert.deepEqual(patch[0], { op: 'add', path: '/a', value: { b: 1 } });
});

const refused: readonly { name: string; patch: unknown; code: number; message?: string }[] = [
  {
    name: 'no list',
    patch: { op: 'add' },
    code: 400,
    message: 'json: cannot unmarshal object into Go value of type jsonpatch.Patch',
  },
  { name: 'no operation', patch: ['add'], code: 400 },
  { name: 'unknown operation', patch: [{ op: 'frob', path: '/a' }], code: 422 },
  { name: 'failed test', patch: [{ op: 'test', path: '/x~1y', value: 2 }], code: 422 },
  { name: 'missing parent', patch: [{ op: 'add', path: '/no/where', value: 2 }], code: 422 },
  { name: 'missing target', patch: [{ op: 'remove', path: '/no' }], code: 422 },
  { name: 'missing value to replace', patch: [{ op: 'replace', path: '/no', value: 1 }], code: 422 },
  { name: 'index out of range', patch: [{ op: 'add', path: '/a/b/9', value: 1 }], code: 422 },
  { name: 'no path', patch: [{ op: 'add', value: 1 }], code: 422 },
  { name: 'the whole document added', patch: [{ op: 'add', path: '', value: {} }], code: 422 },
  { name: 'the whole document removed', patch: [{ op: 'remove', path: '' }], code: 422 },
  { name: 'nothing in place of the whole', patch: [{ op: 'replace', path: '', value: null }], code: 422 },
  { name: 'a text in place of the whole', patch: [{ op: 'replace', path: '', value: 'x' }], code: 422 },
  { name: 'prototype', patch: [{ op: 'add', path: '/__proto__/polluted', value: 1 }], code: 422 },
  {
    name: 'too many operations',
    patch: Array(maxJsonPatchOperations + 1).fill({ op: 'test', path: '/x~1y', value: 1 }),
    code: 413,
    message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  },
];

for (const { name, patch, code, message } of refused) {
  test(`refused: ${name}`, () => {
    assert.throws(
      () => applyJsonPatch(document, patch),
      (error) => {
        assert.ok(error instanceof StatusError);
        assert.equal(error.code, code);
        if (code === 422) assert.equal(error.message, 'the server rejected our request due to an error in our request');
        if (message) assert.equal(error.message, message);
        return true;
      },
    );
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });
}

test("what the log and webhooks are told of a patch that does not apply is upstream's, and shows nothing of the document", () => {
  const reasons: readonly (readonly [operation: object, reason: string])[] = [
    [
      { op: 'add', path: '/no/where', value: 1 },
      'add operation does not apply: doc is missing path: "/no/where": missing value',
    ],
    [
      { op: 'remove', path: '/no/where' },
      'remove operation does not apply: doc is missing path: "/no/where": missing value',
    ],
    [
      { op: 'remove', path: '/a/no' },
      "error in remove for path: '/a/no': Unable to remove nonexistent key: no: missing value",
    ],
    [
      { op: 'replace', path: '/a/no', value: 1 },
      'replace operation does not apply: doc is missing key: /a/no: missing value',
    ],
    [
      { op: 'copy', from: '/no/where', path: '/a/c' },
      'copy operation does not apply: doc is missing from path: /no/where: missing value',
    ],
    [{ op: 'test', path: '/m~0n', value: 3 }, 'testing value /m~0n failed: test failed'],
    [{ op: 'replace', path: '', value: null }, 'replace operation value must be object or array: %!w(<nil>)'],
  ];
  for (const [operation, reason] of reasons) {
    assert.throws(
      () => applyJsonPatch(document, [operation]),
      (error) => error instanceof StatusError && error.cause instanceof Error && error.cause.message === reason,
      reason,
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { StatusError } from '../status.ts';
import { applyJsonPatch, maxJsonPatchCopyBytes, maxJsonPatchOperations } from './json-patch.ts';
import { jsonEqual } from './merge-patch.ts';

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
  { name: 'missing element to replace', patch: [{ op: 'replace', path: '/a/b/3', value: 1 }], code: 422 },
  { name: 'index out of range', patch: [{ op: 'add', path: '/a/b/9', value: 1 }], code: 422 },
  { name: 'index before the first', patch: [{ op: 'remove', path: '/a/b/-4' }], code: 422 },
  { name: 'no index', patch: [{ op: 'test', path: '/a/b/length', value: 3 }], code: 422 },
  { name: 'a key that only its prototype has', patch: [{ op: 'remove', path: '/a/constructor' }], code: 422 },
  {
    name: 'a way through a prototype',
    patch: [{ op: 'add', path: '/a/constructor/prototype/x', value: 1 }],
    code: 422,
  },
  { name: 'no operation at all', patch: [null], code: 422 },
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
      { op: 'replace', path: '/a/b/3', value: 1 },
      'replace operation does not apply: doc is missing key: /a/b/3: missing value',
    ],
    [
      { op: 'replace', path: '/no/where', value: 1 },
      'replace operation does not apply: doc is missing path: /no/where: missing value',
    ],
    [
      { op: 'add', path: '/a/b/x', value: 1 },
      `error in add for path: '/a/b/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { op: 'remove', path: '/a/b/3' },
      "error in remove for path: '/a/b/3': Unable to access invalid index: 3: invalid index referenced",
    ],
    [
      { op: 'move', from: '/a/no', path: '/b' },
      "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
    ],
    [
      { op: 'move', from: '/a', path: '/a/b' },
      'move operation does not apply: doc is missing destination path: /a/b: missing value',
    ],
    [{ op: 'move', path: '/b' }, 'move operation failed to decode from: operation, missing from field: missing value'],
    [{ op: 'test', value: 1 }, 'test operation failed to decode path: operation missing path field: missing value'],
    [{ path: '/a' }, 'Unexpected kind: unknown'],
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

test('where upstream differs from the standard, so does this', () => {
  const patched = (...patch: object[]) => applyJsonPatch<unknown>({ list: [1, 2], map: {} }, patch);
  assert.deepEqual(patched({ op: 'add', path: '/list/-1', value: 9 }), { list: [1, 2, 9], map: {} });
  assert.deepEqual(patched({ op: 'remove', path: '/list/-2' }), { list: [2], map: {} });
  assert.deepEqual(patched({ op: 'replace', path: '/map/new', value: 9 }), { list: [1, 2], map: { new: 9 } });
  assert.deepEqual(patched({ op: 'copy', from: '/map/no', path: '/map/new' }), { list: [1, 2], map: { new: null } });
  assert.deepEqual(patched({ op: 'test', path: '/map/no' }), { list: [1, 2], map: {} });
  assert.deepEqual(patched({ op: 'add', path: '/map/new' }), { list: [1, 2], map: { new: null } });
  assert.deepEqual(applyJsonPatch<unknown>({ a: 1 }, null), { a: 1 });
});

/** Names that objects of JavaScript have, or treat in ways of their own, and one that they do not. */
const names = ['__proto__', 'constructor', 'prototype', 'toString', 'length', 'a'];
const { object, value } = fc.letrec<{ object: unknown; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(0, 1, 'x', true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), tie('value')), { maxLength: 4, selector: ([name]) => name })
    .map((members) => JSON.parse(`{${members.map(([name, of]) => `"${name}":${JSON.stringify(of)}`).join()}}`)),
}));
const pointer = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, fc.constantFrom('0', '-', '-1')), {
    minLength: 1,
    maxLength: 3,
  })
  .map((steps) => steps.map((step) => `/${step}`).join(''));
const operation = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
  path: pointer,
  from: pointer,
  value,
});

/** The same document or patch with names that mean nothing to JavaScript. */
const renamed = (json: unknown): unknown => {
  const special = /__proto__|constructor|prototype|toString|length/g;
  return JSON.parse(JSON.stringify(json).replaceAll(special, (name) => `name${names.indexOf(name)}`));
};

test('no name is special: a patch does what it does to a document with other names, and touches nothing else', () => {
  const prototype = Object.getOwnPropertyNames(Object.prototype).join();
  const outcome = (document: unknown, patch: unknown) => {
    try {
      return { after: applyJsonPatch(document, patch) };
    } catch (error) {
      assert.ok(error instanceof StatusError && error.cause instanceof Error);
      return { refused: error.cause.message };
    }
  };
  let applied = 0;
  fc.assert(
    fc.property(object, fc.array(operation, { maxLength: 8 }), (start, operations) => {
      let before = start;
      for (const operation of operations) {
        const text = JSON.stringify([before, operation]);
        const found = outcome(before, [operation]);
        assert.ok(jsonEqual(renamed(found), outcome(renamed(before), [renamed(operation)])), text);
        assert.equal(JSON.stringify([before, operation]), text);
        if (found.refused === undefined) {
          before = found.after;
          applied++;
        }
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(applied > 300);
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), prototype);
});

test('copies of copies end before they fill the memory, and boxes within boxes before they fill the stack', () => {
  const doubled = Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '/a', path: `/a/x${index}` }));
  const wrapped = Array.from({ length: 1100 }, () => [
    { op: 'add', path: '/n', value: {} },
    { op: 'move', from: '/a', path: '/n/a' },
    { op: 'move', from: '/n', path: '/a' },
  ]).flat();
  const box = ['{"x":'.repeat(900), '{}', '}'.repeat(900)].join('');
  const way = '/x'.repeat(900);
  const boxed = Array.from({ length: 300 }, () => [
    { op: 'add', path: '/n', value: JSON.parse(box) as unknown },
    { op: 'move', from: '/a', path: `/n${way}/y` },
    { op: 'move', from: '/n', path: '/a' },
  ]).flat();
  const compared = [...boxed, { op: 'test', path: '/a', value: 1 }, { op: 'copy', from: '/a', path: '/b' }];
  const reasons: readonly (readonly [patch: object[], reason: RegExp])[] = [
    [doubled, new RegExp(`accumulated size increase of copy is \\d+, exceeding the limit ${maxJsonPatchCopyBytes}$`)],
    [wrapped, /^exceeded max depth$/],
    [boxed, /^exceeded max depth$/],
    [compared, /./],
  ];
  for (const [patch, reason] of reasons) {
    assert.throws(
      () => applyJsonPatch<unknown>({ a: { text: 'some text' } }, patch),
      (error) => error instanceof StatusError && error.code === 422 && reason.test((error.cause as Error).message),
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { fieldChanges, ownersOf, writerOf, writersOf } from './field-changes.ts';
import { diffText, historyText, tableText } from './views.ts';

const object = (rest: object, managedFields: readonly ManagedFieldsEntry[] = []): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', managedFields }, ...rest }) as KubeObject;
const changed = (before: object, after: object) =>
  fieldChanges(object(before), object(after)).map(({ path, before, after }) => [path, before, after]);

const cases: readonly {
  readonly name: string;
  readonly before: object;
  readonly after: object;
  readonly told: unknown;
}[] = [
  { name: 'nothing', before: { spec: { a: [1, { b: 2 }] } }, after: { spec: { a: [1, { b: 2 }] } }, told: [] },
  {
    name: 'a value, something new and something gone',
    before: { spec: { replicas: 1, old: true } },
    after: { spec: { replicas: 2, fresh: { deep: [] } } },
    told: [
      ['spec.replicas', 1, 2],
      ['spec.fresh', undefined, { deep: [] }],
      ['spec.old', true, undefined],
    ],
  },
  {
    name: 'items by their names, wherever they stand',
    before: { containers: [{ name: 'a', image: '1' }, { name: 'b' }] },
    after: { containers: [{ name: 'new' }, { name: 'b' }, { name: 'a', image: '2' }] },
    told: [
      ['containers[name=new]', undefined, { name: 'new' }],
      ['containers[name=a].image', '1', '2'],
    ],
  },
  {
    name: 'items without names by their places',
    before: { args: ['x', 'y'], same: [{ name: 'twice' }, { name: 'twice' }] },
    after: { args: ['x', 'z'], same: [{ name: 'twice' }] },
    told: [
      ['args[1]', 'y', 'z'],
      ['same[1]', { name: 'twice' }, undefined],
    ],
  },
  {
    name: 'names that are no words in brackets',
    before: {},
    after: { data: { 'a.b/c': '1' } },
    told: [['data', undefined, { 'a.b/c': '1' }]],
  },
  {
    name: 'a list that becomes a map, as a whole',
    before: { x: [1] },
    after: { x: { a: 1 } },
    told: [['x', [1], { a: 1 }]],
  },
];
for (const { name, before, after, told } of cases)
  test(`tells ${name}`, () => assert.deepEqual(changed(before, after), told));

test('says nothing of what every write changes', () => {
  const before = {
    ...object({}),
    metadata: { name: 'a', resourceVersion: '1', generation: 1, labels: { 'x/y': '1' } },
  };
  const after = { ...object({}), metadata: { name: 'a', resourceVersion: '2', generation: 2, labels: { 'x/y': '2' } } };
  assert.deepEqual(
    fieldChanges(before, after).map(({ path }) => path),
    ['metadata.labels[x/y]'],
  );
});

const entry = (manager: string, time: string, fieldsV1: object): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time,
  fieldsType: 'FieldsV1',
  fieldsV1,
});
const image = { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {} } } } };
const spec = (image: string, replicas: number) => ({ spec: { replicas, containers: [{ name: 'web', image }] } });

test('of several writers each field has its own, through named items and wholes', () => {
  const creator = entry('creator', '12:00', { 'f:spec': { 'f:replicas': {} }, 'f:status': {} });
  const before = object(spec('1', 1), [creator]);
  const scaler = entry('scaler', '12:01', { 'f:spec': { 'f:replicas': {} } });
  const setter = entry('setter', '12:01', image);
  const after = object({ ...spec('2', 2) }, [{ ...creator, fieldsV1: { 'f:status': {} } }, scaler, setter]);
  const writers = writersOf(before, after);
  // Who only lost a field wrote nothing.
  assert.deepEqual(
    writers.map(({ manager }) => manager),
    ['scaler', 'setter'],
  );
  assert.deepEqual(
    fieldChanges(before, after).map((change) => [change.path, writerOf(writers, change)?.manager]),
    [
      ['spec.replicas', 'scaler'],
      ['spec.containers[name=web].image', 'setter'],
    ],
  );
});

test('a second write within a second is told as that of whoever has the field', () => {
  const writer = entry('controller', '12:00', image);
  const other = entry('other', '11:00', { 'f:spec': { 'f:replicas': {} } });
  const [before, after] = ['1', '2'].map((text) => object(spec(text, 1), [writer, other]));
  assert.deepEqual(writersOf(before, after!), []);
  assert.deepEqual(ownersOf(after!, fieldChanges(before!, after!)), [writer]);
});

test('a history is a line for each change and one for each field, and says what is missing', () => {
  const items = [
    { type: 'MODIFIED', revision: '7', time: '2026-01-01T12:00:00.123456Z', object: object(spec('1', 1)) },
    {
      type: 'MODIFIED',
      revision: '12',
      object: object(spec('2', 1), [entry('kubectl-set', '2026-01-01T12:00:05Z', image)]),
    },
    { type: 'DELETED', revision: '13', object: object(spec('2', 1)) },
  ] as const;
  assert.equal(
    historyText({ sinceRevision: '5', earlierForgotten: true, skipped: 3, items }),
    `REVISION  TIME                  BY                    CHANGE
7         2026-01-01T12:00:00Z  -                     0 fields
12        2026-01-01T12:00:05Z  kubectl-set (Update)  1 field
    spec.containers[name=web].image: "1" -> "2"
13        -                     -                     deleted
Changes before these are no longer remembered.
3 older changes are left out: --limit shows more.`,
  );
});

test('a difference names who is written down for each field', () => {
  const [before, after] = [object(spec('1', 1)), object(spec('2', 1), [entry('setter', '12:01', image)])];
  assert.equal(
    diffText(before, after, ['a at 1', 'a now']),
    '--- a at 1\n+++ a now\n  spec.containers[name=web].image: "1" -> "2"  # setter (Update) 12:01',
  );
  assert.equal(diffText(before, before, ['a', 'b']), '--- a\n+++ b\nNo field differs.');
  assert.equal(diffText(undefined, after, ['a', 'b']), '--- a\n+++ b\nIt was created.');
  assert.equal(diffText(before, undefined, ['a', 'b']), '--- a\n+++ b\nIt was deleted.');
});

test('a Table without rows says so', () => {
  assert.equal(tableText({ columnDefinitions: [], rows: null }, { withNamespace: false }), 'No resources found.');
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJsonPath } from './json-path.ts';

const object = {
  metadata: { labels: { 'a.b/c': 'x' } },
  spec: { replicas: 3, ports: [1, 2, 3, 4], empty: null },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', age: 5 },
      { type: 'Healthy', status: 'False', age: 50 },
    ],
  },
};

describe('a JSONPath', () => {
  const cases: readonly { readonly path: string; readonly found: readonly unknown[] }[] = [
    { path: '.spec.replicas', found: [3] },
    { path: 'spec.replicas', found: [3] },
    { path: '.spec.missing.deeper', found: [] },
    { path: '.spec.empty', found: [null] },
    { path: '.spec.ports[0]', found: [1] },
    { path: '.spec.ports[-1]', found: [4] },
    { path: '.spec.ports[1:3]', found: [2, 3] },
    { path: '.spec.ports[0:4:2]', found: [1, 3] },
    { path: '.spec.ports[*]', found: [1, 2, 3, 4] },
    { path: ".metadata.labels['a.b/c']", found: ['x'] },
    { path: '.metadata.labels.a\\.b/c', found: ['x'] },
    { path: '.status.conditions[?(@.type=="Ready")].status', found: ['True'] },
    { path: ".status.conditions[?(@.type != 'Ready')].status", found: ['False'] },
    { path: '.status.conditions[?(@.age>10)].type', found: ['Healthy'] },
    { path: '.status.conditions[?(@.status)].age', found: [5, 50] },
    { path: '..age', found: [5, 50] },
    { path: '.constructor', found: [] },
  ];
  for (const { path, found } of cases) {
    it(`${path} finds ${JSON.stringify(found)}`, () => assert.deepEqual(parseJsonPath(path).find(object), found));
  }

  it('that is none is refused', () => {
    for (const path of ['.spec[', '.spec[?(@.a==)]', '.a b', '.a[0:1:0]']) {
      assert.throws(() => parseJsonPath(path), Error, path);
    }
  });
});

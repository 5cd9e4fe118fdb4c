import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinSchema } from '../../api/schema.ts';
import { restoreProblem } from './restore.ts';

const deployment = builtinSchema().type('apps/v1.Deployment');
const problem = (spec: unknown) => restoreProblem({ metadata: { name: 'x' }, spec }, deployment);

test('what fits its type has no problem, and what is unknown is nobody’s', () => {
  assert.equal(problem({ replicas: 3, unknown: [{}], template: { spec: { containers: [{ name: 'a' }] } } }), undefined);
  assert.equal(problem({ replicas: null, paused: false }), undefined);
  assert.equal(problem({ strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } } }), undefined);
});

const misfits: readonly { readonly spec: unknown; readonly says: string }[] = [
  { spec: 'x', says: 'cannot restore struct from: string' },
  { spec: [], says: 'cannot restore struct from: slice' },
  { spec: { replicas: '3' }, says: 'unrecognized type: int32' },
  { spec: { replicas: 1.5 }, says: 'cannot convert float64 to int32' },
  { spec: { paused: 'yes' }, says: 'unrecognized type: bool' },
  { spec: { selector: { matchLabels: 'a=b' } }, says: 'cannot restore map from string' },
  { spec: { selector: { matchLabels: { a: 1 } } }, says: 'cannot convert int64 to string' },
  { spec: { template: { spec: { containers: { name: 'a' } } } }, says: 'cannot restore slice from map' },
  { spec: { template: { spec: { containers: ['a'] } } }, says: 'cannot restore struct from: string' },
];

for (const { spec, says } of misfits) {
  test(`${JSON.stringify(spec)}: ${says}`, () => assert.equal(problem(spec), says));
}

test('of several misfits the first in the order of the type is told, whatever the order of the value', () => {
  assert.equal(problem({ paused: 'yes', replicas: '3' }), 'unrecognized type: int32');
  assert.equal(problem({ replicas: '3', paused: 'yes' }), 'unrecognized type: int32');
});

test('what stood there before is not looked at again, and everything else is', () => {
  const kept = { spec: { containers: [{ name: 'a' }] } };
  const before = { spec: { replicas: 1, template: kept } };
  const after = (spec: object) => restoreProblem({ spec: { ...before.spec, ...spec } }, deployment, before);
  assert.equal(after({ replicas: 2 }), undefined);
  assert.equal(after({ replicas: '2' }), 'unrecognized type: int32');
  assert.equal(after({ template: { ...kept, spec: 'x' } }), 'cannot restore struct from: string');
});

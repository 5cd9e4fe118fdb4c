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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, RequestInfo } from '../request.ts';
import type { Entered } from './flow-control.ts';
import { inFlightControl } from './in-flight.ts';

const asked = (verb: string, groups: readonly string[] = []) =>
  [
    { user: { name: 'u', groups } } as unknown as ApiRequest,
    { verb, isResource: true, subresource: '' } as RequestInfo,
    1000,
  ] as const;

test('what exceeds the limit is refused in upstream’s words until somebody has finished', () => {
  const control = inFlightControl({ readOnly: 1, mutating: 1 });
  const first = control.enter(...asked('get')) as Entered;
  const refused = control.enter(...asked('get'));
  assert.ok('refusal' in refused);
  assert.equal(refused.refusal.status, 429);
  assert.equal(refused.refusal.headers['retry-after'], '1');
  const { body } = refused.refusal;
  assert.equal(
    body.kind === 'bytes' && Buffer.concat(body.chunks).toString(),
    'Too many requests, please try again later.\n',
  );
  first.release();
  assert.equal(control.inFlight.readOnly, 0);
  assert.ok('release' in control.enter(...asked('list')));
});

test('reads do not stand in the way of writes, watches in nobody’s, and an operator always gets in', () => {
  const control = inFlightControl({ readOnly: 1, mutating: 1 });
  control.enter(...asked('get'));
  for (const request of [asked('create'), asked('watch'), asked('get', ['system:masters'])]) {
    assert.ok('release' in control.enter(...request));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../testing/fake-clock.ts';
import { inFlightControl } from './flow-control.ts';
import type { ApiRequest, RequestInfo } from './request.ts';

const asked = (verb: string, groups: readonly string[] = []) =>
  [{ user: { name: 'u', groups } } as unknown as ApiRequest, { verb, subresource: '' } as RequestInfo] as const;

test('what exceeds the limit waits until there is room, in order', async () => {
  const control = inFlightControl({ readOnly: 1, mutating: 1 });
  const first = control.enter(...asked('get'));
  assert.equal(typeof first, 'function');
  const order: string[] = [];
  const enter = async (name: string) => {
    const release = await control.enter(...asked('get'));
    order.push(name);
    return release;
  };
  const second = enter('second');
  const third = enter('third');
  await settle();
  assert.deepEqual(order, []);
  (first as () => void)();
  (first as () => void)();
  (await second)();
  (await third)();
  assert.deepEqual(order, ['second', 'third']);
  assert.equal(control.inFlight.readOnly, 0);
});

test('reads do not stand in the way of writes, watches in nobody’s, and an operator always gets in', () => {
  const control = inFlightControl({ readOnly: 1, mutating: 1 });
  control.enter(...asked('get'));
  assert.equal(typeof control.enter(...asked('create')), 'function');
  assert.equal(typeof control.enter(...asked('watch')), 'function');
  assert.equal(typeof control.enter(...asked('get', ['system:masters'])), 'function');
});

test('when the line is full too, the client is told to come back', () => {
  const control = inFlightControl({ readOnly: 1, mutating: 1 });
  for (let i = 0; i <= 50; i++) void control.enter(...asked('get'));
  assert.throws(() => control.enter(...asked('get')), { code: 429, retryAfterSeconds: 1 });
});

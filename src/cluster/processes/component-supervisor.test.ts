import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ComponentSupervisor } from './component-supervisor.ts';

test('a component that fails is started again, later each time, and its old signal is aborted', async () => {
  const clock = new FakeClock();
  const components = new ComponentSupervisor(clock, silentLog);
  const signals: AbortSignal[] = [];
  components.run('fragile', async (signal) => {
    signals.push(signal);
    throw new Error('broken');
  });
  await clock.advance(0);
  assert.equal(signals.length, 1);
  await clock.advance(1000);
  assert.equal(signals.length, 2);
  assert.ok(signals[0]?.aborted);
  await clock.advance(1999);
  assert.equal(signals.length, 2);
  await clock.advance(1);
  assert.equal(signals.length, 3);
  await components.stop();
  assert.equal(clock.pending, 0);
});

test('one that fails ends nobody else, and stopping waits for all', async () => {
  const clock = new FakeClock();
  const components = new ComponentSupervisor(clock, silentLog);
  let ended = false;
  components.run('fragile', () => Promise.reject(new Error('broken')));
  components.run('steady', async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    ended = true;
  });
  await clock.advance(10_000);
  assert.equal(ended, false);
  await components.stop();
  assert.equal(ended, true);
});

test('what has failed is told of until it has run for a while', async () => {
  const clock = new FakeClock();
  const told: Record<string, string>[] = [];
  const components = new ComponentSupervisor(clock, silentLog, (problems) => told.push(Object.fromEntries(problems)));
  let runs = 0;
  components.run('fragile', async (signal) => {
    if (++runs === 1) throw new Error('broken');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  await clock.advance(0);
  assert.equal(components.problemOf('fragile'), 'broken');
  assert.equal(components.problemOf('other'), undefined);
  await clock.advance(5000);
  assert.equal(components.problemOf('fragile'), 'broken');
  await clock.advance(1000);
  assert.deepEqual(told, [{ fragile: 'broken' }, {}]);
  await components.stop();
  assert.equal(clock.pending, 0);
});

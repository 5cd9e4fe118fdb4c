import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { lookMs, podNetworkRules } from './pod-network-rules.ts';

function started() {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const written: string[] = [];
  let present: readonly string[] = [];
  const rules = podNetworkRules({
    write: async (podCidrs) => {
      present = podCidrs;
      written.push(podCidrs.join());
    },
    areThere: async (podCidrs) => present.join() === podCidrs.join(),
    clock,
    log: silentLog,
    signal: stopping.signal,
  });
  const running = rules.run();
  const flush = () => {
    present = [];
  };
  const stop = async () => {
    stopping.abort();
    await running;
  };
  return { clock, written, rules, flush, stop };
}

test('nothing is written before the node has a range, and a range is written once', async () => {
  const { clock, written, rules, stop } = started();
  await clock.advance(lookMs);
  assert.deepEqual(written, []);
  rules.take(['10.244.0.0/24']);
  rules.take(['10.244.0.0/24']);
  await settle();
  for (let i = 0; i < 3; i++) await clock.advance(lookMs);
  assert.deepEqual(written, ['10.244.0.0/24']);
  await stop();
  assert.equal(clock.pending, 0);
});

test('what somebody else flushes is written anew, each time', async () => {
  const { clock, written, rules, flush, stop } = started();
  rules.take(['10.244.0.0/24']);
  await settle();
  for (let i = 0; i < 2; i++) {
    flush();
    await clock.advance(lookMs);
    await settle();
  }
  assert.equal(written.length, 3);
  await stop();
});

test('another range is written at once', async () => {
  const { written, rules, stop } = started();
  rules.take(['10.244.0.0/24']);
  await settle();
  rules.take(['10.244.1.0/24']);
  await settle();
  assert.deepEqual(written, ['10.244.0.0/24', '10.244.1.0/24']);
  await stop();
});

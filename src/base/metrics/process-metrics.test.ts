import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessMetrics } from './process-metrics.ts';

function valuesOf(families: readonly string[]): ReadonlyMap<string, number> {
  const lines = families.join('').split('\n');
  return new Map(
    lines
      .filter((line) => line && !line.startsWith('#'))
      .map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
  );
}

test('totals are those of the process from the first answer on, and every figure is one', async (t) => {
  const metrics = new ProcessMetrics();
  t.after(() => metrics.close());
  const before = process.cpuUsage();
  const first = valuesOf(await metrics.families());
  assert.ok(first.get('process_cpu_user_seconds_total')! >= before.user / 1e6);
  assert.ok(first.get('process_cpu_seconds_total')! >= (before.user + before.system) / 1e6);
  assert.ok(first.get('process_resident_memory_bytes')! > 1e6);
  if (process.platform === 'linux')
    assert.ok(first.get('process_virtual_memory_bytes')! >= first.get('process_resident_memory_bytes')!);
  assert.ok(first.get('nodejs_eventloop_lag_seconds')! >= 0);
  assert.ok(!first.has('nodejs_eventloop_lag_mean_seconds'), 'nothing is known of what nobody has watched');
  for (const [name, value] of first) assert.ok(Number.isFinite(value) && value < 1e15, `${name} ${value}`);
});

test('the delays of the event loop are told once there are some, as long as nobody closes it', async () => {
  const metrics = new ProcessMetrics();
  await metrics.families();
  let later = valuesOf(await metrics.families());
  while (!later.has('nodejs_eventloop_lag_mean_seconds')) later = valuesOf(await metrics.families());
  const [least = -1, mean = -1, most = -1] = ['min', 'mean', 'max'].map((name) =>
    later.get(`nodejs_eventloop_lag_${name}_seconds`),
  );
  assert.ok(0 <= least && least <= mean && mean <= most && most < 60, `${least} ${mean} ${most}`);
  metrics.close();
  assert.ok(!valuesOf(await metrics.families()).has('nodejs_eventloop_lag_mean_seconds'));
  metrics.close();
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { SyncHealth } from './sync-health.ts';

it('a proxy is well while it starts, and unless a change waits for two periods', async () => {
  const clock = new FakeClock();
  const health = new SyncHealth(clock, 30_000);
  health.queued();
  await clock.advance(100_000);
  assert.ok(health.isHealthy);
  health.written();
  await clock.advance(100_000);
  assert.ok(health.isHealthy);
  health.queued();
  await clock.advance(59_999);
  health.queued();
  assert.ok(health.isHealthy);
  await clock.advance(1);
  assert.ok(!health.isHealthy);
  health.written();
  assert.ok(health.isHealthy);
});

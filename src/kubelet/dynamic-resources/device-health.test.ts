import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { HealthOfDevices } from './device-health.ts';

const [driver, pool, device] = ['gpu.example.com', 'node-1', 'gpu-0'] as const;
const at = '2026-01-01T00:00:00Z';
const known = {
  PoolName: pool,
  DeviceName: device,
  Health: 'Unhealthy',
  LastUpdated: at,
  HealthCheckTimeout: 30e9,
  Message: 'too hot',
};

async function restored(content: unknown) {
  const errors: string[] = [];
  const log = { ...silentLog, error: (message: string) => void errors.push(message) };
  const state = { read: async () => JSON.stringify(content), write: async () => {} };
  const health = new HealthOfDevices({ clock: new FakeClock(Date.parse(at)), log, state });
  await health.restore();
  return { errors, health };
}

it('what the kubelet before knew of devices is known again', async () => {
  const { errors, health } = await restored({ [driver]: { Devices: { [`${pool}/${device}`]: known } } });
  assert.deepEqual(errors, []);
  assert.deepEqual(health.of(driver, pool, device), { health: 'Unhealthy', message: 'too hot' });
});

it('a file of another shape is said to be no good, and nothing is known', async () => {
  const { LastUpdated: _, ...incomplete } = known;
  const devices = [undefined, null, [], { [`${pool}/${device}`]: null }, { [`${pool}/${device}`]: incomplete }];
  for (const content of [
    null,
    [],
    'text',
    { [driver]: null },
    ...devices.map((Devices) => ({ [driver]: { Devices } })),
  ]) {
    const { errors, health } = await restored(content);
    assert.deepEqual(
      errors,
      ['Failed to load health checkpoint, proceeding with empty cache'],
      JSON.stringify(content),
    );
    assert.deepEqual(health.of(driver, pool, device), { health: 'Unknown', message: '' });
  }
});

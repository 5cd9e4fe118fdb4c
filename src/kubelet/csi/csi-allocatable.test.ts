/** How often a CSI driver is asked how many volumes the node can have. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type CSIDriver, csiDrivers } from '../../api/gen/storage-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { CsiAllocatable } from './csi-allocatable.ts';

function setUp() {
  const clock = new FakeClock();
  const { api, context: contextOf, log } = kubeletHarness(clock);
  const { context, stop } = contextOf();
  const asked: string[] = [];
  let failure: Error | undefined;
  const allocatable = new CsiAllocatable({
    clock,
    log,
    signal: context.signal,
    objects: () => context.informers.of(csiDrivers),
    update: async (driver) => {
      asked.push(driver);
      if (failure) throw failure;
    },
  });
  const object = (seconds?: number): CSIDriver => ({
    metadata: { name: 'disk.test' },
    spec: seconds === undefined ? {} : { nodeAllocatableUpdatePeriodSeconds: seconds },
  });
  return {
    allocatable,
    clock,
    stop,
    says: async (seconds?: number) => {
      api.put(csiDrivers, object(seconds));
      await clock.advance(1);
    },
    fails: (error: Error | undefined) => {
      failure = error;
    },
    /** How often within that time. */
    askedIn: async (ms: number) => {
      asked.length = 0;
      for (let passed = 0; passed < ms; passed += 1000) await clock.advance(1000);
      return asked.length;
    },
  };
}

it('asks as often as the CSIDriver says, by what it says now, and only while the driver is there', async () => {
  const { allocatable, askedIn, fails, says, stop } = setUp();
  await says();
  allocatable.registered('disk.test');
  assert.equal(await askedIn(60_000), 0);
  await says(10);
  assert.equal(await askedIn(60_000), 6);
  fails(new Error('away'));
  assert.equal(await askedIn(20_000), 2, 'a driver that cannot answer is asked again');
  fails(undefined);
  await says(30);
  assert.equal(await askedIn(60_000), 2);
  allocatable.gone('disk.test');
  assert.equal(await askedIn(60_000), 0);
  allocatable.registered('disk.test');
  assert.equal(await askedIn(60_000), 2);
  await says();
  assert.equal(await askedIn(60_000), 0);
  stop.abort();
});

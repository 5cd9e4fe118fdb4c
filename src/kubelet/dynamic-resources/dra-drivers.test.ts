/** Which drivers of claimed devices are there, and what goes with one that leaves. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Client } from '../../client/client.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { DraDrivers, type DraDriversOptions } from './dra-drivers.ts';
import { DraMetrics } from './dra-metrics.ts';

const name = 'gpu.example.com';
const plugin = (endpoint = '/nowhere/gpu.sock') => ({ name, endpoint, supportedVersions: ['v1.DRAPlugin'] });

function setUp(test: TestContext, onHealth?: DraDriversOptions['onHealth']) {
  const clock = new FakeClock();
  const { context } = kubeletHarness(clock);
  const { context: own, stop } = context();
  test.after(() => stop.abort());
  const server = { isAway: false, tries: 0 };
  const client = {
    deleteCollection: async () => {
      server.tries++;
      if (server.isAway) throw new Error('connection refused');
    },
  } as unknown as Client;
  const drivers = new DraDrivers({
    ...own,
    client,
    metrics: new DraMetrics(),
    nodeName: 'node-1',
    isRegistered: () => true,
    onHealth,
    onRegistered: () => {},
  });
  return { clock, drivers, server, stop };
}

it('what a driver publishes that comes back stays, also when taking away what it had published is being tried again', async (test) => {
  const { clock, drivers, server } = setUp(test);
  await drivers.register(plugin());
  server.isAway = true;
  await drivers.deregister(plugin());
  await clock.advance(40_000);
  const { tries } = server;
  assert.ok(tries > 1, `${tries}`);
  server.isAway = false;
  await drivers.register(plugin());
  await clock.advance(600_000);
  assert.equal(server.tries, tries);
  assert.equal(clock.pending, 0);
});

it('what a driver has published goes once when it stays away, and again the next time', async (test) => {
  const { clock, drivers, server } = setUp(test);
  for (const tries of [1, 2]) {
    await drivers.register(plugin());
    await drivers.deregister(plugin());
    await clock.advance(600_000);
    assert.equal(server.tries, tries);
  }
});

it('what is known of devices is forgotten with the last endpoint of their driver', async (test) => {
  const told: unknown[] = [];
  const { drivers } = setUp(test, (driver, devices) => told.push([driver, devices]));
  const [older, newer] = [plugin('/nowhere/old.sock'), plugin('/nowhere/new.sock')];
  await drivers.register(older);
  await drivers.register(newer);
  await drivers.deregister(older);
  assert.deepEqual(told, []);
  await drivers.deregister(newer);
  assert.deepEqual(told, [[name, undefined]]);
});

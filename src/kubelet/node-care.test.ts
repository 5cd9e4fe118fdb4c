/** What the kubelet does for its node, on the simulated runtime and a fake clock. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { events, pods } from '../api/gen/core-v1.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { simulatedHost } from './host/simulated-host.ts';
import { kubeletHarness, testPod } from './kubelet.fixture.ts';
import { startKubelet } from './kubelet.ts';
import { SimulatedRuntime } from './runtime/simulated/simulated-runtime.ts';

const nodeName = 'node-1';

it('sets the groups above Pods at the start, when a Pod begins or has ended, and every minute', async () => {
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const simulated = simulatedHost({});
  const shares: (number | undefined)[] = [];
  const cgroups: typeof simulated.cgroups = {
    ...simulated.cgroups,
    ensureNode: async (limits) => shares.push(limits().burstable.cpuShares) > 0,
  };
  await startKubelet(context().context, {
    nodeName,
    runtime: new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' }),
    host: { ...simulated, cgroups },
  });
  await clock.advance(500);
  assert.deepEqual(shares.splice(0), [2]);
  const told = (await client.list(events)).items.map(({ reason, message }) => `${reason}: ${message}`);
  assert.ok(told.includes('NodeAllocatableEnforced: Updated Node Allocatable limit across pods'), told.join());
  const resources = { requests: { cpu: '1' } };
  await client.create(pods, testPod('p', nodeName, { containers: [{ name: 'main', image: 'app:1', resources }] }));
  await clock.advance(100);
  assert.equal(shares.splice(0).at(-1), 1024);
  await clock.advance(60_000);
  assert.ok(shares.splice(0).includes(1024));
  await client.delete(pods, { namespace: 'default', name: 'p' }, { gracePeriodSeconds: 0 });
  await clock.advance(2000);
  assert.equal(shares.at(-1), 2);
});

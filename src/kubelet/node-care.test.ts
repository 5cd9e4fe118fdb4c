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

it('tells when the groups above Pods cannot be set, and tries again until they are not its own', async () => {
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const simulated = simulatedHost({});
  const outcomes = [new Error('device or resource busy'), true, false];
  const ensureNode = async () => {
    const outcome = outcomes.shift();
    if (typeof outcome === 'boolean') return outcome;
    throw outcome ?? new Error('asked once more');
  };
  await startKubelet(context().context, {
    nodeName,
    runtime: new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' }),
    host: { ...simulated, cgroups: { ...simulated.cgroups, ensureNode } },
  });
  const told = async () =>
    (await client.list(events)).items
      .filter(({ reason }) => reason?.includes('NodeAllocatable'))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  const failure =
    'Warning FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits ["kubepods"]: device or resource busy';
  const success = 'Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods';
  await clock.advance(500);
  assert.deepEqual(await told(), [failure]);
  await clock.advance(60_000);
  assert.deepEqual((await told()).sort(), [success, failure].sort());
  await clock.advance(300_000);
  assert.equal((await told()).length, 2);
});

it('runs a Pod also while the groups above it cannot be set', async () => {
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const simulated = simulatedHost({});
  const ensureNode = () => Promise.reject(new Error('device or resource busy'));
  await startKubelet(context().context, {
    nodeName,
    runtime: new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' }),
    host: { ...simulated, cgroups: { ...simulated.cgroups, ensureNode } },
  });
  await client.create(pods, testPod('p', nodeName, { containers: [{ name: 'main', image: 'app:1' }] }));
  await clock.advance(1000);
  assert.equal((await client.get(pods, { namespace: 'default', name: 'p' })).status?.phase, 'Running');
});

/** Pods that ask for devices, as their owners see them: let in one after the other while a plugin takes its time, refused in upstream's words. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { eventually } from '../../testing/eventually.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { socketFolder } from '../host/socket-folder.ts';
import { getNode, getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';
import { device, scriptedPlugin } from './device-plugin.fixture.ts';
import type { ContainerAllocateResponse } from './gen/device-plugin-v1beta1.ts';

const node = 'node-1';
const gpu = 'example.com/gpu';
const app = { name: 'main', image: 'app:1' };

const wanting = (name: string, count: number): Pod =>
  testPod(name, node, {
    containers: [{ ...app, resources: { requests: { [gpu]: `${count}` }, limits: { [gpu]: `${count}` } } }],
  });

/** A kubelet with two devices, whose plugin answers as it is told to. */
async function setUp(
  test: TestContext,
  allocate: (ids: readonly string[]) => Promise<Partial<ContainerAllocateResponse>> = async () => ({}),
) {
  const path = mkdtempSync(join(tmpdir(), 'coracle-devices-'));
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
  const topology = async () => ({
    processors: [{ id: 0, core: 0, socket: 0, node: 0, cache: 0 }],
    nodes: [{ id: 0, memoryBytes: 1024 ** 3, hugepages: {}, distances: [] }],
  });
  const host = { ...simulatedHost(), topology, devicePlugins: socketFolder(path) };
  const { context: own, stop } = context();
  const kubelet = await startKubelet(own, { nodeName: node, runtime, host });
  /** Sockets take what time they take; the clock goes on meanwhile. */
  const until = (isTrue: () => boolean | Promise<boolean>) =>
    eventually(isTrue, Boolean, { pause: () => clock.advance(10) });
  await until(() => kubelet.isReady);
  const plugin = await scriptedPlugin({ folder: path, allocate });
  plugin.list([device('a'), device('b')]);
  await plugin.register(gpu);
  test.after(async () => {
    stop.abort();
    plugin.close();
    let isDone = false;
    void kubelet.done.then(() => {
      isDone = true;
    });
    await until(() => isDone);
    rmSync(path, { recursive: true });
  });
  const amounts = async () => (await getNode(client, node))?.status?.allocatable?.[gpu];
  await until(async () => (await amounts()) === '2');
  const phase = async (name: string) => (await getPod(client, name))?.status?.phase;
  return { client, clock, kubelet, plugin, until, phase, pod: (name: string) => getPod(client, name) };
}

it('a Pod that gets its devices runs, and the Pods after it wait for their turn; others do not', async (test) => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Partial<ContainerAllocateResponse>>();
  const { client, kubelet, phase, plugin, pod, until } = await setUp(test, () => {
    asked.resolve();
    return answer.promise;
  });
  await client.create(pods, wanting('first', 1));
  await asked.promise;
  await client.create(pods, wanting('second', 1));
  await client.create(pods, testPod('plain', node, { containers: [app] }));
  await until(async () => (await phase('plain')) === 'Running');
  assert.deepEqual(
    ['first', 'second'].map((name) => kubelet.worker('default', name)?.isHeld),
    [true, true],
  );
  const { conditions, containerStatuses } = (await pod('first'))?.status ?? {};
  assert.deepEqual([conditions, containerStatuses], [undefined, undefined], 'nothing is known of it yet');
  answer.resolve({});
  await until(async () => (await phase('first')) === 'Running' && (await phase('second')) === 'Running');
  assert.deepEqual(plugin.calls, ['Allocate a', 'Allocate b']);
});

it('a Pod whose plugin refuses fails, and tells why', async (test) => {
  const { client, phase, pod, until } = await setUp(test, async () => {
    throw new Error('out of order');
  });
  await client.create(pods, wanting('unlucky', 1));
  await until(async () => (await phase('unlucky')) === 'Failed');
  const { message, reason } = (await pod('unlucky'))!.status!;
  assert.deepEqual(
    [reason, message],
    [
      'UnexpectedAdmissionError',
      'Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected',
    ],
  );
});

it('a Pod that is deleted while its plugin takes its time is gone, and leaves its devices to others', async (test) => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Partial<ContainerAllocateResponse>>();
  const { client, phase, plugin, pod, until } = await setUp(test, () => {
    asked.resolve();
    return answer.promise;
  });
  await client.create(pods, wanting('impatient', 2));
  await asked.promise;
  await client.delete(pods, { namespace: 'default', name: 'impatient' });
  await until(async () => (await pod('impatient')) === undefined);
  answer.resolve({});
  await client.create(pods, wanting('next', 2));
  await until(async () => (await phase('next')) === 'Running');
  assert.deepEqual(plugin.calls, ['Allocate a,b', 'Allocate a,b']);
});

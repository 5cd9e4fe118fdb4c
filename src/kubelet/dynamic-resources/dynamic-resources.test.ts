/** Claimed devices on a node: drivers on real sockets, a simulated runtime, and a kubelet that may start anew. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { events, type Pod, pods } from '../../api/gen/core-v1.ts';
import { type ResourceClaimConsumerReference, resourceClaims, resourceSlices } from '../../api/gen/resource-v1.ts';
import { eventually } from '../../testing/eventually.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import type { StateFolder } from '../host/host.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import type { PresentedPlugin } from '../plugins/plugin.fixture.ts';
import { pluginSockets } from '../plugins/plugin-sockets.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';
import { ScriptedDraDriver, type ScriptedDraOptions } from './dra-driver.fixture.ts';
import { PreparedClaims } from './prepared-claims.ts';

const node = 'node-1';
const driver = 'gpu.example.com';
const problem = 'FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources';

function filesInMemory(): StateFolder & { readonly files: Map<string, string> } {
  const files = new Map<string, string>();
  return {
    files,
    read: async (name) => files.get(name),
    write: async (name, text) => void files.set(name, text),
    names: async () => [...files.keys()],
    remove: async (name) => void files.delete(name),
  };
}

const using = (name: string, claim: string): Pod =>
  testPod(name, node, {
    containers: [{ name: 'main', image: 'app:1', resources: { claims: [{ name: 'gpu' }] } }],
    resourceClaims: [{ name: 'gpu', resourceClaimName: claim }],
  });

async function setUp(test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-claims-'));
  mkdirSync(join(folder, 'plugins'));
  const clock = new FakeClock();
  const harness = kubeletHarness(clock);
  const { api, client, context, log, random } = harness;
  const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
  const state = filesInMemory();
  const sockets = pluginSockets(join(folder, 'plugins'), log);
  const host = { ...simulatedHost(), state, pluginSockets: sockets };
  const until = (isTrue: () => boolean | Promise<boolean>) =>
    eventually(isTrue, Boolean, { pause: () => clock.advance(100) });
  let running: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  const presented: PresentedPlugin[] = [];
  const start = async () => {
    const { context: own, stop } = context();
    const kubelet = await startKubelet(own, { nodeName: node, runtime, host });
    running = { stop, done: kubelet.done };
    await until(() => kubelet.isReady);
    return kubelet;
  };
  const end = async () => {
    running?.stop.abort();
    let isDone = false;
    void running?.done.then(() => {
      isDone = true;
    });
    await until(() => isDone);
  };
  test.after(async () => {
    await end();
    for (const plugin of presented) plugin.close();
    rmSync(folder, { recursive: true });
  });
  const socket = join(folder, 'plugins', 'gpu.sock');
  const present = async (options: Partial<ScriptedDraOptions> = {}) => {
    const devices = () => [{ poolName: node, deviceName: 'gpu-0', cdiDeviceIds: ['example.com/gpu=gpu-0'] }];
    const scripted = new ScriptedDraDriver({ name: driver, devices, ...options });
    const plugin = await scripted.present(socket);
    presented.push(plugin);
    let isTold = false;
    const verdict = plugin.verdict().finally(() => {
      isTold = true;
    });
    await until(() => isTold);
    assert.deepEqual(await verdict, { pluginRegistered: true, error: '' });
    return { scripted, leave: () => rmSync(socket) };
  };
  /** Pods that use a claim, with it as the scheduler leaves it. */
  const run = async (claim: string, ...users: readonly string[]) => {
    const made = await Promise.all(users.map((name) => client.create(pods, using(name, claim))));
    return allocate(
      claim,
      made.map(({ metadata }) => ({ resource: 'pods', name: metadata.name ?? '', uid: metadata.uid ?? '' })),
    );
  };
  const allocate = async (name: string, reservedFor: readonly ResourceClaimConsumerReference[]) => {
    const claim = await client.create(resourceClaims, { metadata: { namespace: 'default', name }, spec: {} });
    const results = [{ request: 'gpu', driver, pool: node, device: 'gpu-0' }];
    const status = { allocation: { devices: { results } }, reservedFor };
    return client.updateStatus(resourceClaims, { ...claim, status });
  };
  const phase = async (name: string) => (await getPod(client, name))?.status?.phase;
  const runs = (name: string) => until(async () => (await phase(name)) === 'Running');
  const isTold = (text: string) =>
    until(() => api.all(events).some(({ message, reason }) => `${reason}: ${message}` === `${problem}: ${text}`));
  return { ...harness, clock, state, until, start, end, present, allocate, run, runs, isTold };
}

for (const version of ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const) {
  it(`drivers of ${version} make ready what a Pod claims, once for all who share it, and take it back with the last`, async (test) => {
    const { client, present, run, runs, start, state, until } = await setUp(test);
    const kubelet = await start();
    const { scripted } = await present({ version });
    const claim = await run('shared', 'one', 'two');
    for (const name of ['one', 'two']) await runs(name);
    assert.deepEqual(scripted.calls, ['prepare default/shared']);
    const pod = kubelet.pod('default', 'one')!;
    assert.deepEqual(kubelet.dynamicResources?.cdiDevices(pod, pod.spec.containers[0]!), ['example.com/gpu=gpu-0']);
    const noted = JSON.parse(JSON.parse(state.files.get('dra_manager_state')!).Data);
    assert.deepEqual(noted, {
      kind: 'DRACheckpoint',
      apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1',
      ClaimInfoStateList: [
        {
          ClaimUID: claim.metadata.uid,
          ClaimName: 'shared',
          Namespace: 'default',
          PodUIDs: Object.fromEntries((claim.status?.reservedFor ?? []).map(({ uid }) => [uid, {}])),
          DriverState: {
            [driver]: {
              Devices: [
                {
                  PoolName: node,
                  DeviceName: 'gpu-0',
                  ShareID: null,
                  RequestNames: null,
                  CDIDeviceIDs: ['example.com/gpu=gpu-0'],
                },
              ],
            },
          },
        },
      ],
    });
    await client.delete(pods, { namespace: 'default', name: 'one' });
    await until(async () => (await getPod(client, 'one')) === undefined);
    assert.equal(scripted.calls.length, 1);
    await client.delete(pods, { namespace: 'default', name: 'two' });
    await until(async () => (await getPod(client, 'two')) === undefined);
    assert.deepEqual(scripted.calls, ['prepare default/shared', 'unprepare default/shared']);
    const metrics = kubelet.dynamicResources?.families() ?? '';
    assert.match(
      metrics,
      /^dra_operations_duration_seconds_count\{is_error="false",operation_name="PrepareResources"\} 2$/m,
    );
    assert.match(metrics, /^dra_resource_claims_in_use\{driver_name="<any>"\} 0$/m);
  });
}

it('a Pod waits for its driver, and says so', async (test) => {
  const { isTold, present, run, runs, start } = await setUp(test);
  await start();
  await run('early', 'early');
  await isTold(`DRA driver ${driver} is not registered`);
  await present();
  await runs('early');
});

it('a claim that is not reserved for the Pod is not made ready', async (test) => {
  const { allocate, client, isTold, present, start } = await setUp(test);
  await start();
  const { scripted } = await present();
  const claim = await allocate('foreign', []);
  const { metadata } = await client.create(pods, using('thief', 'foreign'));
  await isTold(`pod thief (${metadata.uid}) is not allowed to use ResourceClaim foreign (${claim.metadata.uid})`);
  assert.deepEqual(scripted.calls, []);
});

it('what the driver says is wrong with a claim is told, and tried again', async (test) => {
  const { isTold, present, run, runs, start } = await setUp(test);
  await start();
  let isBroken = true;
  await present({
    devices: () => {
      if (isBroken) throw new Error('no firmware');
      return [];
    },
  });
  await run('broken', 'patient');
  await isTold('NodePrepareResources failed for ResourceClaim broken: no firmware');
  isBroken = false;
  await runs('patient');
});

it('a kubelet that starts anew gives back what was made ready for Pods that are gone', async (test) => {
  const { client, end, present, run, runs, start, until } = await setUp(test);
  await start();
  const { scripted } = await present();
  await run('left', 'leaver');
  await runs('leaver');
  await end();
  await client.delete(pods, { namespace: 'default', name: 'leaver' }, { gracePeriodSeconds: 0 });
  await start();
  await until(() => scripted.calls.at(-1) === 'unprepare default/left');
});

it('a driver tells how devices fare, and the Pod´s status says it as long as the driver is there', async (test) => {
  const { client, present, run, runs, start, until } = await setUp(test);
  await start();
  const { leave, scripted } = await present();
  await run('watched', 'watcher');
  await runs('watcher');
  const told = async () => (await getPod(client, 'watcher'))?.status?.containerStatuses?.[0]?.allocatedResourcesStatus;
  const resourceID = 'example.com/gpu=gpu-0';
  await until(async () => (await told())?.[0]?.resources?.[0]?.health === 'Unknown');
  const device = { poolName: node, deviceName: 'gpu-0' };
  scripted.tell([{ device, health: 'UNHEALTHY', message: 'too hot', healthCheckTimeoutSeconds: 3600 }]);
  await until(async () => (await told())?.[0]?.resources?.[0]?.health === 'Unhealthy');
  assert.deepEqual(await told(), [
    { name: 'claim:gpu', resources: [{ resourceID, health: 'Unhealthy', message: 'too hot' }] },
  ]);
  leave();
  await until(async () => (await told())?.[0]?.resources?.[0]?.health === 'Unknown');
});

it('a kubelet that ends leaves to the next what it knows of devices', async (test) => {
  const { end, present, start, state, until } = await setUp(test);
  await start();
  const { scripted } = await present();
  const device = { poolName: node, deviceName: 'gpu-0' };
  scripted.tell([{ device, health: 'UNHEALTHY', message: 'too hot', healthCheckTimeoutSeconds: 3600 }]);
  const isKept = () => state.files.get('dra_health_state')?.includes('too hot') ?? false;
  await until(isKept);
  await end();
  await settle();
  assert.ok(isKept());
});

it('what a driver published of the node goes when the kubelet starts, and when the driver is gone for half a minute', async (test) => {
  const { client, clock, present, start, until } = await setUp(test);
  const publish = (name: string) =>
    client.create(resourceSlices, {
      metadata: { name },
      spec: { driver, nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 }, devices: [] },
    });
  const isThere = (name: string) =>
    client.get(resourceSlices, { name }).then(
      () => true,
      () => false,
    );
  await publish('old');
  await start();
  await until(async () => !(await isThere('old')));
  const { leave } = await present();
  await publish('new');
  leave();
  await clock.advance(10_000);
  assert.ok(await isThere('new'));
  await until(async () => !(await isThere('new')));
});

it('a file of claims that was changed by others is no good', async () => {
  const state = filesInMemory();
  const claims = new PreparedClaims(state);
  const one = { uid: 'u', namespace: 'd', name: 'c', podUids: new Set(['p']), drivers: new Map(), isReady: true };
  claims.add(one);
  await claims.save();
  const again = new PreparedClaims(state);
  await again.restore();
  assert.deepEqual(again.all(), [{ ...one, isReady: false }]);
  state.files.set('dra_manager_state', state.files.get('dra_manager_state')!.replace('"Checksum":', '"Checksum":1'));
  await assert.rejects(new PreparedClaims(state).restore(), /checkpoint is corrupted$/);
});

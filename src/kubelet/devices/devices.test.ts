/** Devices that plugins have: registration over real sockets, who gets which, and what a restarted kubelet knows. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../configuration.ts';
import { socketFolder } from '../host/socket-folder.ts';
import { testPod } from '../kubelet.fixture.ts';
import { NodeResources } from '../resource-managers/node-resources.ts';
import { formatDeviceCheckpoint, parseDeviceCheckpoint } from './device-checkpoint.ts';
import { device, type ScriptedPluginOptions, scriptedPlugin } from './device-plugin.fixture.ts';
import { DevicePlugins } from './device-plugins.ts';
import { type DeviceCapacity, NodeDevices } from './node-devices.ts';

const gpu = 'example.com/gpu';
const minute = 60_000;

function container(name: string, count: number, resource = gpu): Container {
  return { name, resources: { limits: { [resource]: String(count) } } };
}

function wanting(name: string, count: number, resource = gpu): Pod {
  return testPod(name, 'n', { containers: [container('main', count, resource)] }, { uid: name });
}

/** A kubelet's devices on a machine of two memory nodes. */
async function setUp(test: TestContext, configuration: Partial<KubeletConfiguration> = {}) {
  const path = mkdtempSync(join(tmpdir(), 'coracle-devices-'));
  const clock = new FakeClock();
  const stop = new AbortController();
  test.after(() => {
    stop.abort();
    rmSync(path, { recursive: true });
  });
  const folder = socketFolder(path);
  const start = async (signal = stop.signal) => {
    const devices = new NodeDevices({ clock, log: silentLog, state: folder.state, memoryNodes: [0, 1] });
    await devices.restore();
    let changed = Promise.withResolvers<void>();
    const unhealthy: string[] = [];
    devices.listen({
      onCapacity() {
        changed.resolve();
        changed = Promise.withResolvers();
      },
      onHealth: (uids) => unhealthy.push(...uids),
    });
    const plugins = new DevicePlugins({ clock, log: silentLog, signal, folder, devices });
    await plugins.listen();
    const resources = new NodeResources({
      configuration: { ...defaultConfiguration, ...configuration },
      topology: {
        processors: [0, 1].map((id) => ({ id, core: id, socket: id, node: id, cache: id })),
        nodes: [0, 1].map((id) => ({ id, memoryBytes: 1024 ** 3, hugepages: {}, distances: [] })),
      },
      state: { read: async () => undefined, write: async () => undefined },
      log: silentLog,
      devices,
    });
    return {
      devices,
      plugins,
      resources,
      unhealthy,
      /** Resolves once there are as many. */
      async has(total: number, healthy: number, resource = gpu): Promise<DeviceCapacity> {
        for (;;) {
          const { promise } = changed;
          const now = devices.capacity();
          if (now.capacity[resource] === total && now.allocatable[resource] === healthy) return now;
          await promise;
        }
      },
      held: (pod: string, name = 'main') =>
        [...(devices.heldBy(pod, name).get(gpu)?.values() ?? [])].flat().sort().join(),
    };
  };
  const plugin = async (script: Omit<ScriptedPluginOptions, 'folder'> = {}) => {
    const made = await scriptedPlugin({ folder: path, ...script });
    test.after(() => made.close());
    return made;
  };
  return { ...(await start()), start, plugin, clock, path, stop };
}

describe('a device plugin', () => {
  it('registers, and what it lists is what the node has', async (test) => {
    const { devices, has, plugin } = await setUp(test);
    const gpus = await plugin();
    gpus.list([device('a'), device('b'), device('c', { health: 'Unhealthy' })]);
    await gpus.register(gpu);
    assert.deepEqual(await has(3, 2), { capacity: { [gpu]: 3 }, allocatable: { [gpu]: 2 } });
    gpus.list([device('a')]);
    await has(1, 1);
    assert.deepEqual(
      [...devices.allocatable()].map(([name, list]) => [name, list.map(({ ID }) => ID)]),
      [[gpu, ['a']]],
    );
  });

  const refusals = [
    {
      name: 'of another version',
      resource: gpu,
      request: { version: 'v1alpha' },
      message: 'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]',
    },
    {
      name: 'of a resource without a domain',
      resource: 'gpu',
      request: {},
      message: 'the ResourceName "gpu" is invalid',
    },
  ];
  for (const { name, resource, request, message } of refusals)
    it(`${name} is refused`, async (test) => {
      const { plugin } = await setUp(test);
      const gpus = await plugin();
      await assert.rejects(gpus.register(resource, request), {
        message: `rpc error: code = Unknown desc = ${message}`,
      });
    });

  it('has ten seconds to listen on the socket that it names', async (test) => {
    const { clock, plugin } = await setUp(test);
    const gpus = await plugin();
    const refused = assert.rejects(gpus.register(gpu, { endpoint: 'absent.sock' }), {
      message: 'rpc error: code = Unknown desc = failed to dial device plugin: context deadline exceeded',
    });
    let isOver = false;
    void refused.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(100);
    await refused;
  });

  it('registers through the plugins´ registry too', async (test) => {
    const { has, path, plugin, plugins } = await setUp(test);
    const gpus = await plugin();
    gpus.list([device('a')]);
    await gpus.listen();
    const registered = { name: gpu, endpoint: join(path, 'plugin.sock'), supportedVersions: ['v1beta1'] };
    plugins.validate(registered);
    await plugins.register(registered);
    await has(1, 1);
    await plugins.deregister(registered);
    await has(1, 0);
    assert.throws(() => plugins.validate({ ...registered, supportedVersions: ['v1', 'v2'] }), {
      message: 'manager version, v1beta1, is not among plugin supported versions [v1 v2]',
    });
    assert.throws(() => plugins.validate({ ...registered, name: 'gpu' }), {
      message: 'invalid name of device plugin socket: the ResourceName "gpu" is invalid',
    });
  });

  it('that ends leaves its devices unhealthy, and five minutes later none', async (test) => {
    const { clock, devices, has, plugin, resources } = await setUp(test);
    const gpus = await plugin();
    gpus.list([device('a'), device('b')]);
    await gpus.register(gpu);
    await has(2, 2);
    gpus.close();
    await has(2, 0);
    assert.deepEqual(await resources.admit(wanting('p', 1)), {
      reason: 'UnexpectedAdmissionError',
      message: `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
    });
    await clock.advance(5 * minute);
    await has(2, 0);
    await clock.advance(1);
    await has(0, 0);
    assert.deepEqual(devices.capacity(), { capacity: {}, allocatable: {} }, 'it is forgotten');
    assert.equal(devices.concerns(wanting('p', 1)), false);
  });

  it('that comes back in time goes on, and one that registers anew replaces the former', async (test) => {
    const { has, plugin } = await setUp(test);
    const first = await plugin();
    first.list([device('a')]);
    await first.register(gpu);
    await has(1, 1);
    const second = await plugin({ endpoint: 'second.sock' });
    second.list([device('a'), device('b')]);
    await second.register(gpu);
    await has(2, 2);
    first.close();
    second.close();
    await has(2, 0);
    const third = await plugin({ endpoint: 'third.sock' });
    third.list([device('b')]);
    await third.register(gpu);
    await has(1, 1);
  });
});

describe('a container', () => {
  it('gets as many devices as it asks for, and the next one what is left', async (test) => {
    const { has, held, plugin, resources } = await setUp(test);
    const gpus = await plugin();
    gpus.list(['a', 'b', 'c'].map((id) => device(id)));
    await gpus.register(gpu);
    await has(3, 3);
    assert.equal(await resources.admit(wanting('p', 2)), undefined);
    assert.deepEqual(gpus.calls, ['Allocate a,b']);
    assert.deepEqual(await resources.admit(wanting('q', 2)), {
      reason: 'UnexpectedAdmissionError',
      message: `Allocate failed due to requested number of devices unavailable for ${gpu}. Requested: 2, Available: 1, which is unexpected`,
    });
    assert.equal(await resources.admit(wanting('r', 1)), undefined);
    assert.equal(held('r'), 'c');
    resources.release('p');
    assert.equal(await resources.admit(wanting('q', 2)), undefined);
    assert.equal(held('q'), 'a,b');
  });

  it('is given what its plugins answer', async (test) => {
    const { devices, has, plugin, resources } = await setUp(test);
    const gpus = await plugin({
      options: { preStartRequired: true, getPreferredAllocationAvailable: false },
      allocate: (ids) => ({
        envs: { GPUS: ids.join(), SHARED: 'gpu' },
        devices: ids.map((id) => ({ hostPath: `/dev/${id}`, containerPath: `/dev/gpu-${id}`, permissions: 'rw' })),
        mounts: [{ hostPath: '/lib/gpu', containerPath: '/gpu', readOnly: true }],
        annotations: { 'example.com/gpus': ids.join() },
        cdiDevices: ids.map((id) => ({ name: `example.com/gpu=${id}` })),
      }),
    });
    const cards = await plugin({ endpoint: 'cards.sock', allocate: () => ({ envs: { SHARED: 'card', CARD: '1' } }) });
    gpus.list([device('a')]);
    cards.list([device('x')]);
    await gpus.register(gpu);
    await cards.register('example.com/card');
    await has(1, 1);
    await has(1, 1, 'example.com/card');
    const both = testPod(
      'p',
      'n',
      { containers: [{ name: 'main', resources: { limits: { [gpu]: '1', 'example.com/card': '1' } } }] },
      { uid: 'p' },
    );
    assert.equal(await resources.admit(both), undefined);
    assert.deepEqual(await devices.prepare(both, both.spec.containers[0]!), {
      environment: [
        { name: 'SHARED', value: 'card' },
        { name: 'CARD', value: '1' },
        { name: 'GPUS', value: 'a' },
      ],
      mounts: [{ containerPath: '/gpu', hostPath: '/lib/gpu', readonly: true }],
      devices: [{ hostPath: '/dev/a', containerPath: '/dev/gpu-a', permissions: 'rw' }],
      annotations: { 'example.com/gpus': 'a' },
      cdiDevices: ['example.com/gpu=a'],
    });
    assert.deepEqual(gpus.calls, ['Allocate a', 'PreStartContainer a']);
    assert.equal(await devices.prepare(both, { name: 'other' }), undefined);
  });

  it('does not start when its plugin cannot prepare for that', async (test) => {
    const { devices, has, plugin, resources } = await setUp(test);
    const gpus = await plugin({
      options: { preStartRequired: true, getPreferredAllocationAvailable: false },
      preStart: () => {
        throw new Error('too hot');
      },
    });
    gpus.list([device('a')]);
    await gpus.register(gpu);
    await has(1, 1);
    await resources.admit(wanting('p', 1));
    await assert.rejects(devices.prepare(wanting('p', 1), container('main', 1)), {
      message: 'device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = too hot',
    });
  });

  it('gets nothing when the plugin refuses, and others can have it', async (test) => {
    let isBroken = true;
    const { has, held, plugin, resources } = await setUp(test);
    const gpus = await plugin({
      allocate: () => {
        if (isBroken) throw new Error('out of order');
        return {};
      },
    });
    gpus.list([device('a')]);
    await gpus.register(gpu);
    await has(1, 1);
    assert.deepEqual(await resources.admit(wanting('p', 1)), {
      reason: 'UnexpectedAdmissionError',
      message: 'Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected',
    });
    isBroken = false;
    assert.equal(await resources.admit(wanting('q', 1)), undefined);
    assert.equal(held('q'), 'a');
  });

  it('has what init containers had before it, but not what sidecars have', async (test) => {
    const { has, held, plugin, resources } = await setUp(test);
    const gpus = await plugin();
    gpus.list(['a', 'b', 'c'].map((id) => device(id)));
    await gpus.register(gpu);
    await has(3, 3);
    const chain = testPod(
      'p',
      'n',
      {
        initContainers: [container('first', 2), { ...container('side', 1), restartPolicy: 'Always' }],
        containers: [container('main', 2)],
      },
      { uid: 'p' },
    );
    assert.equal(await resources.admit(chain), undefined);
    assert.deepEqual([held('p', 'first'), held('p', 'side'), held('p')], ['a,b', 'a', 'b,c']);
  });

  it('gets those that the plugin prefers', async (test) => {
    const { has, held, plugin, resources } = await setUp(test);
    const gpus = await plugin({
      options: { preStartRequired: false, getPreferredAllocationAvailable: true },
      preferred: () => ['d', 'b', 'unheard-of'],
    });
    gpus.list(['a', 'b', 'c', 'd'].map((id) => device(id)));
    await gpus.register(gpu);
    await has(4, 4);
    assert.equal(await resources.admit(wanting('p', 3)), undefined);
    assert.equal(held('p'), 'a,b,d');
    assert.deepEqual(gpus.calls[0], 'GetPreferredAllocation 3 of a,b,c,d with ');
  });

  it('is placed by the memory nodes of its devices', async (test) => {
    const { devices, has, held, plugin, resources } = await setUp(test, { topologyManagerPolicy: 'restricted' });
    const gpus = await plugin();
    gpus.list([device('a', { nodes: [0] }), device('b', { nodes: [1] }), device('c', { nodes: [1] }), device('d')]);
    await gpus.register(gpu);
    await has(4, 4);
    assert.deepEqual(devices.hints(wanting('p', 2), container('main', 2)), [
      [
        { nodes: 0b10, preferred: true },
        { nodes: 0b11, preferred: false },
      ],
    ]);
    assert.equal(await resources.admit(wanting('p', 2)), undefined);
    assert.equal(held('p'), 'b,c');
    assert.equal(await resources.admit(wanting('q', 1)), undefined);
    assert.equal(held('q'), 'a', 'what lies somewhere goes before what does not');
    assert.deepEqual(await resources.admit(wanting('r', 1)), {
      reason: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
  });

  it('shows the health of its devices', async (test) => {
    const { devices, has, plugin, resources, unhealthy } = await setUp(test);
    const gpus = await plugin();
    gpus.list([device('a'), device('b')]);
    await gpus.register(gpu);
    await has(2, 2);
    await resources.admit(wanting('p', 1));
    assert.deepEqual(devices.health('p', 'main'), [{ name: gpu, resources: [{ resourceID: 'a', health: 'Healthy' }] }]);
    gpus.list([device('a', { health: 'Unhealthy' }), device('b')]);
    await has(2, 1);
    assert.deepEqual(unhealthy, ['p']);
    assert.deepEqual(devices.health('p', 'main'), [
      { name: gpu, resources: [{ resourceID: 'a', health: 'Unhealthy' }] },
    ]);
  });
});

describe('a restarted kubelet', () => {
  it('knows who holds what, and gives nothing until plugins are back', async (test) => {
    const { has, path, plugin, resources, devices, start, stop } = await setUp(test);
    const gpus = await plugin({ allocate: (ids) => ({ envs: { GPUS: ids.join() } }) });
    gpus.list([device('a', { nodes: [1] }), device('b', { nodes: [0, 1] })]);
    await gpus.register(gpu);
    await has(2, 2);
    await resources.admit(wanting('p', 1));
    await devices.saved;
    assert.equal(devices.isNew, true);
    assert.ok(existsSync(join(path, 'DEPRECATION')), 'the older way of registering is told as such');
    stop.abort();
    gpus.close();

    const next = new AbortController();
    test.after(() => next.abort());
    writeFileSync(join(path, 'other-file'), '');
    const after = await start(next.signal);
    assert.equal(after.devices.isNew, false);
    assert.ok(existsSync(join(path, 'other-file')), 'only sockets are removed');
    assert.deepEqual(after.devices.capacity(), { capacity: { [gpu]: 0 }, allocatable: { [gpu]: 0 } });
    assert.deepEqual(after.devices.heldBy('p', 'main'), new Map([[gpu, new Map([[1, ['a']]])]]));
    assert.deepEqual((await after.devices.prepare(wanting('p', 1), container('main', 1)))?.environment, [
      { name: 'GPUS', value: 'a' },
    ]);
    assert.match((await after.resources.admit(wanting('q', 1)))?.message ?? '', /no healthy devices present/);
    const again = await plugin();
    again.list([device('a', { nodes: [1] }), device('b', { nodes: [0, 1] })]);
    await again.register(gpu);
    await after.has(2, 2);
    assert.equal(await after.resources.admit(wanting('q', 1)), undefined);
    assert.equal(after.held('q'), 'b,b', 'it stands under both of its nodes');
    after.resources.retain((uid) => uid === 'q');
    assert.equal(after.held('p'), '');
    await after.devices.saved;
    assert.deepEqual(
      parseDeviceCheckpoint(readFileSync(join(path, 'kubelet_internal_checkpoint'), 'utf8')).held.map(
        ({ podUid }) => podUid,
      ),
      ['q'],
    );
  });

  it('reads and writes the file as upstream´s does', () => {
    const files = [
      '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
      '{"Data":{"PodDeviceEntries":[{"PodUID":"9a15d2b5-c152-46b9-96e0-d57032629e1f","ContainerName":"app","ResourceName":"nvidia.com/gpu","DeviceIDs":{"1":["GPU-9b341c59-f96b-ba85-c137-78c3652fea65","GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841"]},"AllocResp":"CmsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSUUdQVS1jMWU5ZjI0OS1iMzdiLTgxYzItYThkOS1iYTVjYTAyOTQ4NDEsR1BVLTliMzQxYzU5LWY5NmItYmE4NS1jMTM3LTc4YzM2NTJmZWE2NRokCg4vZGV2L252aWRpYWN0bBIOL2Rldi9udmlkaWFjdGwaAnJ3GiYKDy9kZXYvbnZpZGlhLXV2bRIPL2Rldi9udmlkaWEtdXZtGgJydxoyChUvZGV2L252aWRpYS11dm0tdG9vbHMSFS9kZXYvbnZpZGlhLXV2bS10b29scxoCcncaLgoTL2Rldi9udmlkaWEtbW9kZXNldBITL2Rldi9udmlkaWEtbW9kZXNldBoCcncaIAoML2Rldi9udmlkaWExEgwvZGV2L252aWRpYTEaAnJ3GiAKDC9kZXYvbnZpZGlhMhIML2Rldi9udmlkaWEyGgJydw=="}],"RegisteredDevices":{"nvidia.com/gpu":["GPU-77a702db-e37f-3a74-d46d-c5713f66058c","GPU-9b341c59-f96b-ba85-c137-78c3652fea65","GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841"]}},"Checksum":2530956716}',
    ];
    for (const text of files) assert.equal(formatDeviceCheckpoint(parseDeviceCheckpoint(text)), text);
    const [held] = parseDeviceCheckpoint(files[0]!).held;
    assert.deepEqual(held?.response.envs, { NVIDIA_VISIBLE_DEVICES: 'tegra' });
    assert.throws(() => parseDeviceCheckpoint(files[0]!.replace('tegra', 'other')), {
      message: 'checkpoint is corrupted',
    });
    const empty = formatDeviceCheckpoint({ held: [], registered: new Map() });
    assert.deepEqual(parseDeviceCheckpoint(empty), { held: [], registered: new Map() });
  });

  it('does without a file that cannot be read', async (test) => {
    const { path, start } = await setUp(test);
    writeFileSync(join(path, 'kubelet_internal_checkpoint'), '{"Data":');
    rmSync(join(path, 'kubelet.sock'));
    const { devices } = await start();
    assert.deepEqual(devices.capacity(), { capacity: {}, allocatable: {} });
  });
});

/** What other programs of a node are told of what containers hold, asked over a real socket. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { defaultConfiguration } from '../configuration.ts';
import { device } from '../devices/device-plugin.fixture.ts';
import type { DevicePlugin } from '../devices/device-plugin.ts';
import { NodeDevices } from '../devices/node-devices.ts';
import { grpcMethod } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import { socketFolder } from '../host/socket-folder.ts';
import { testPod } from '../kubelet.fixture.ts';
import { NodeResources } from '../resource-managers/node-resources.ts';
import { podResourcesListerService } from './gen/pod-resources-v1.ts';
import { servePodResources } from './pod-resources.ts';

const gpu = 'example.com/gpu';
const gibi = 1024 ** 3;

const plugin: DevicePlugin = {
  options: { preStartRequired: false, getPreferredAllocationAvailable: false },
  async *devices() {},
  preferred: async () => [],
  allocate: async () => ({ envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] }),
  preStart: async () => {},
  close: () => {},
};

const whole = { cpu: '1', memory: '1Gi', [gpu]: '2' };
const worker: Pod = testPod(
  'worker',
  'n',
  {
    initContainers: [
      { name: 'before', resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } } },
      {
        name: 'beside',
        restartPolicy: 'Always',
        resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '500m', memory: '1Gi' } },
      },
    ],
    containers: [{ name: 'main', resources: { requests: whole, limits: whole } }],
  },
  { uid: 'worker' },
);

async function setUp(test: TestContext) {
  const path = mkdtempSync(join(tmpdir(), 'coracle-pod-resources-'));
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { read: async () => undefined, write: async () => undefined };
  const devices = new NodeDevices({ clock, log: silentLog, state, memoryNodes: [0, 1] });
  devices.connected(gpu, plugin);
  devices.listed(gpu, [
    device('a', { nodes: [0] }),
    device('b'),
    device('c', { nodes: [0, 1] }),
    device('d', { health: 'Unhealthy' }),
  ]);
  const resources = new NodeResources({
    configuration: {
      ...defaultConfiguration,
      cpuManagerPolicy: 'static',
      memoryManagerPolicy: 'Static',
      reservedSystemCpus: '0',
      reservedMemory: [{ numaNode: 0, limits: { memory: gibi } }],
    },
    topology: {
      processors: [0, 1, 2, 3].map((id) => ({ id, core: id, socket: 0, node: id >> 1, cache: 0 })),
      nodes: [0, 1].map((id) => ({ id, memoryBytes: 4 * gibi, hugepages: {}, distances: [] })),
    },
    state,
    log: silentLog,
    devices,
  });
  assert.equal(await resources.admit(worker), undefined);
  const folder = socketFolder(path);
  await servePodResources({
    clock,
    signal: stop.signal,
    folder,
    devices,
    resources,
    activePods: () => [worker],
    pod: (namespace, name) => (namespace === 'default' && name === 'worker' ? worker : undefined),
  });
  const connection = await connectSocket({ clock, path: join(path, 'kubelet.sock'), requestTimeoutMs: 0 });
  test.after(() => {
    connection.close();
    stop.abort();
    rmSync(path, { recursive: true });
  });
  return { connection, clock };
}

const list = grpcMethod(podResourcesListerService, 'List');
const get = grpcMethod(podResourcesListerService, 'Get');
const getAllocatable = grpcMethod(podResourcesListerService, 'GetAllocatableResources');
const on = (...nodes: number[]) => ({ nodes: nodes.map((id) => ({ ID: BigInt(id) })) });

const held = {
  name: 'worker',
  namespace: 'default',
  containers: [
    {
      name: 'beside',
      devices: [],
      cpuIds: [],
      memory: [{ memoryType: 'memory', size: BigInt(gibi), topology: on(0) }],
      dynamicResources: [],
    },
    {
      name: 'main',
      devices: [
        { resourceName: gpu, deviceIds: ['a'], topology: on(0) },
        { resourceName: gpu, deviceIds: ['b'], topology: undefined },
      ],
      cpuIds: [1n],
      memory: [{ memoryType: 'memory', size: BigInt(gibi), topology: on(0) }],
      dynamicResources: [],
    },
  ],
};

it('what containers hold is listed, and told of one Pod', async (test) => {
  const { connection } = await setUp(test);
  assert.deepEqual(await connection.unary(list, {}), { podResources: [held] });
  const one = await connection.unary(get, { podName: 'worker', podNamespace: 'default' });
  assert.deepEqual(one, { podResources: held });
  await assert.rejects(connection.unary(get, { podName: 'other', podNamespace: 'default' }), {
    message: 'rpc error: code = Unknown desc = pod other in namespace default not found',
  });
});

it('what could be held is told, whoever holds it', async (test) => {
  const { connection } = await setUp(test);
  assert.deepEqual(await connection.unary(getAllocatable, {}), {
    devices: [
      { resourceName: gpu, deviceIds: ['a'], topology: on(0) },
      { resourceName: gpu, deviceIds: ['b'], topology: undefined },
      { resourceName: gpu, deviceIds: ['c'], topology: on(0) },
      { resourceName: gpu, deviceIds: ['c'], topology: on(1) },
    ],
    cpuIds: [1n, 2n, 3n],
    memory: [
      { memoryType: 'memory', size: BigInt(3 * gibi), topology: on(0) },
      { memoryType: 'memory', size: BigInt(4 * gibi), topology: on(1) },
    ],
  });
});

it('the older version tells of devices alone', async (test) => {
  const { connection } = await setUp(test);
  const older = grpcMethod(podResourcesListerService, 'List', 'v1alpha1.PodResourcesLister');
  const { podResources } = await connection.unary(older, {});
  assert.deepEqual(
    podResources[0]?.containers.map(({ name, devices, cpuIds }) => [
      name,
      devices.map(({ deviceIds }) => deviceIds),
      cpuIds,
    ]),
    [['main', [['a'], ['b']], []]],
  );
});

it('who asks too often is refused, until time has passed', async (test) => {
  const { clock, connection } = await setUp(test);
  const answers = await Promise.allSettled(Array.from({ length: 12 }, () => connection.unary(list, {})));
  const refused = answers.filter(({ status }) => status === 'rejected');
  assert.deepEqual(
    refused.map((answer) => (answer as PromiseRejectedResult).reason.message),
    Array.from({ length: 2 }, () => 'rpc error: code = ResourceExhausted desc = rejected by rate limit'),
  );
  await clock.advance(10);
  await connection.unary(list, {});
});

/** Devices of a plugin in containers of a real runtime: as device files, variables and mounts, over restarts of kubelet and container. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { startContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { eventually } from '../../testing/eventually.ts';
import { needs } from '../../testing/needs.ts';
import { busyboxImageArchive } from '../../testing/oci-image.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../configuration.ts';
import { grpcMethod } from '../grpc/codec.ts';
import { connectSocket } from '../grpc/socket-connection.ts';
import { linuxHost } from '../host/linux-host.ts';
import { getNode, getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { type Kubelet, startKubelet } from '../kubelet.ts';
import { podResourcesListerService } from '../pod-resources/gen/pod-resources-v1.ts';
import { connectRuntime } from '../runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { device, type ScriptedPlugin, scriptedPlugin } from './device-plugin.fixture.ts';

const node = 'with-devices';
const image = 'local.test/busybox:1';
const fast = 'example.com/fast';
describe('devices on containerd', needs('containers'), () => {
  const { client, clock, context, log, random } = kubeletHarness(systemClock);
  let containerd: TestContainerd;
  let runtime: ContainerRuntime;
  let configuration: KubeletConfiguration;
  let kubelet: Kubelet;
  let stop: AbortController;
  let plugin: ScriptedPlugin;

  const startOne = async () => {
    const started = context();
    stop = started.stop;
    const host = linuxHost({ clock, random, log, configuration });
    kubelet = await startKubelet(started.context, { nodeName: node, runtime, host, configuration });
    await eventually(() => kubelet.isReady);
  };
  /** Devices that do nothing: two more names for /dev/null. */
  const startPlugin = async () => {
    const folder = join(configuration.rootDirectory, 'device-plugins');
    plugin = await scriptedPlugin({
      folder,
      allocate: (ids) => ({
        envs: { FAST: ids.join(), GREETING: 'from the plugin' },
        devices: ids.map((id) => ({ hostPath: '/dev/null', containerPath: `/dev/fast-${id}`, permissions: 'rw' })),
        mounts: [{ hostPath: join(containerd.directory, 'driver'), containerPath: '/driver', readOnly: true }],
        annotations: { 'example.com/fast': ids.join() },
      }),
    });
    plugin.list([device('a'), device('b')]);
    await plugin.register(fast);
  };

  before(async () => {
    containerd = await startContainerd();
    await containerd.importImage(busyboxImageArchive(image));
    await mkdir(join(containerd.directory, 'driver'));
    await writeFile(join(containerd.directory, 'driver', 'version'), '7\n');
    runtime = await connectRuntime({ clock, endpoint: containerd.endpoint });
    configuration = {
      ...defaultConfiguration,
      rootDirectory: join(containerd.directory, 'kubelet'),
      podLogsDirectory: join(containerd.directory, 'logs'),
      containerLogsDirectory: '',
      cgroupRoot: containerd.cgroupRoot,
      maxContainerRestartPeriodMs: 1000,
    };
    await startOne();
    await startPlugin();
  });
  after(async () => {
    stop?.abort(new Error('the test is over'));
    await kubelet?.done;
    plugin?.close();
    runtime?.close();
    await containerd?.stop();
  });

  const wanting = (name: string, count: number) =>
    testPod(name, node, {
      containers: [
        {
          name: 'main',
          image,
          command: ['sh', '-c', "trap 'exit 0' TERM; while true; do sleep 0.1; done"],
          env: [{ name: 'GREETING', value: 'from the Pod' }],
          resources: { requests: { [fast]: String(count) }, limits: { [fast]: String(count) } },
        },
      ],
    });
  const status = async (name: string): Promise<Pod['status']> => (await getPod(client, name))?.status;
  const reaches = (name: string, wanted: string) =>
    eventually(
      () => status(name),
      (seen) => seen?.phase === wanted,
    );
  const amounts = async () => {
    const { allocatable, capacity } = (await getNode(client, node))?.status ?? {};
    return [capacity?.[fast], allocatable?.[fast]].join('/');
  };
  const inside = async (name: string) => {
    const script =
      'echo $FAST, $GREETING; ls /dev | grep fast; test -c /dev/fast-a; cat /driver/version; touch /driver/x';
    const id = kubelet.runningContainer('default', name, 'main')!;
    const { stderr, stdout } = await runtime.execSync(id, ['sh', '-c', script]);
    return Buffer.concat([stdout, stderr]).toString();
  };
  const seen = 'a, from the Pod\nfast-a\n7\ntouch: /driver/x: Read-only file system\n';

  it('are the node´s, and a container´s that asks for them', async () => {
    await eventually(amounts, /^2\/2$/);
    await client.create(pods, wanting('first', 1));
    await reaches('first', 'Running');
    assert.equal(await inside('first'), seen);
    const { allocatedResourcesStatus } = (await status('first'))!.containerStatuses![0]!;
    assert.deepEqual(allocatedResourcesStatus, [{ name: fast, resources: [{ resourceID: 'a', health: 'Healthy' }] }]);
    const config = await runtime.containerStatus(kubelet.runningContainer('default', 'first', 'main')!);
    assert.equal(config.annotations['example.com/fast'], 'a');
  });

  it('are refused to a Pod beyond what there is, and what a Pod holds is told', async () => {
    await client.create(pods, wanting('second', 2));
    await reaches('second', 'Failed');
    const { message, reason } = (await status('second'))!;
    assert.deepEqual(
      [reason, message],
      [
        `OutOf${fast}`,
        `Pod was rejected: Node didn't have enough resource: ${fast}, requested: 2, used: 1, capacity: 2`,
      ],
    );
    const socket = join(configuration.rootDirectory, 'pod-resources', 'kubelet.sock');
    const connection = await connectSocket({ clock, path: socket, requestTimeoutMs: 5000 });
    const { podResources } = await connection.unary(grpcMethod(podResourcesListerService, 'List'), {});
    connection.close();
    assert.deepEqual(
      podResources.map(({ name, containers }) => [name, containers[0]?.devices]),
      [['first', [{ resourceName: fast, deviceIds: ['a'], topology: undefined }]]],
    );
  });

  it('show that they are not well', async () => {
    plugin.list([device('a', { health: 'Unhealthy' }), device('b')]);
    await eventually(amounts, /^2\/1$/);
    const health = async () =>
      (await status('first'))?.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources?.[0]?.health;
    await eventually(async () => (await health()) === 'Unhealthy');
    plugin.list([device('a'), device('b')]);
    await eventually(amounts, /^2\/2$/);
  });

  it('stay with their container when the kubelet starts anew, also with a container that starts before the plugin is back', async () => {
    const id = kubelet.runningContainer('default', 'first', 'main')!;
    stop.abort(new Error('the kubelet ends'));
    await kubelet.done;
    plugin.close();
    await startOne();
    await eventually(amounts, /^0\/0$/);
    await eventually(() => kubelet.runningContainer('default', 'first', 'main') === id);
    await runtime.stopContainer(id, 0);
    await eventually(() => ![undefined, id].includes(kubelet.runningContainer('default', 'first', 'main')));
    assert.equal(await inside('first'), seen);

    await startPlugin();
    await eventually(amounts, /^2\/2$/);
    await client.create(pods, wanting('third', 1));
    await reaches('third', 'Running');
    assert.deepEqual(plugin.calls, ['Allocate b']);
  });

  it('are nobody´s once their plugin is gone', async () => {
    plugin.close();
    await eventually(amounts, /^2\/0$/);
    assert.equal((await status('first'))?.phase, 'Running');
  });
});

/** A disk with not a byte left, on which both the kubelet's and containerd's folders lie: what runs goes on, and what waits comes when there is room. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { events, pods } from '../api/gen/core-v1.ts';
import { systemClock } from '../base/clock.ts';
import { startContainerd, type TestContainerd } from '../testing/containerd.ts';
import { eventually } from '../testing/eventually.ts';
import { needs } from '../testing/needs.ts';
import { busyboxImageArchive } from '../testing/oci-image.ts';
import { defaultConfiguration, type KubeletConfiguration } from './configuration.ts';
import { linuxHost } from './host/linux-host.ts';
import { getNode, getPod, kubeletHarness, testPod } from './kubelet.fixture.ts';
import { type Kubelet, startKubelet } from './kubelet.ts';
import { forever, image } from './real-kubelet.fixture.ts';
import { connectRuntime } from './runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';

const node = 'without-room';

describe('a node whose disk is full', needs('containers'), () => {
  const { client, context, log, random } = kubeletHarness(systemClock);
  const disk = mkdtempSync(join(tmpdir(), 'coracle-full-'));
  let containerd: TestContainerd;
  let runtime: ContainerRuntime;
  let configuration: KubeletConfiguration;
  let kubelet: Kubelet;
  let stop: AbortController;

  before(async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'tmpfs', disk]);
    containerd = await startContainerd(undefined, disk);
    await containerd.importImage(busyboxImageArchive(image));
    runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
    configuration = {
      ...defaultConfiguration,
      rootDirectory: join(disk, 'kubelet'),
      podLogsDirectory: join(disk, 'logs'),
      containerLogsDirectory: '',
      cgroupRoot: containerd.cgroupRoot,
      // Nobody is sent away: what is shown is what Pods that stay live through.
      evictionHard: {},
      imageGcHighThresholdPercent: 100,
    };
    await startAnew();
  });
  after(async () => {
    stop?.abort(new Error('the test is over'));
    await kubelet?.done;
    runtime?.close();
    await containerd?.stop();
    execFileSync('umount', ['-l', disk]);
    rmSync(disk, { recursive: true });
  });

  async function startAnew(): Promise<void> {
    const started = context();
    stop = started.stop;
    const host = linuxHost({ clock: systemClock, random, log, configuration });
    kubelet = await startKubelet(started.context, { nodeName: node, runtime, host, configuration });
    await eventually(() => kubelet.isReady);
  }

  const ballast = join(disk, 'ballast');
  const fill = () => execFileSync('sh', ['-c', 'cat /dev/zero >"$0" || true', ballast], { stdio: 'ignore' });
  const phase = async (name: string) => (await getPod(client, name))?.status?.phase;
  const main = async (name: string) => (await getPod(client, name))?.status?.containerStatuses?.[0];
  const isRunning = async (id: string) =>
    (await runtime.listContainers({ state: 'running' })).some((container) => id.endsWith(container.id));

  it('keeps what runs through crashes of kubelet and runtime, and starts what waits when there is room', async () => {
    await client.create(pods, testPod('steady', node, { containers: [forever()] }));
    await eventually(async () => (await phase('steady')) === 'Running');
    const { containerID = '' } = (await main('steady'))!;
    fill();
    await client.create(pods, testPod('late', node, { containers: [forever()] }));
    const warned = async () =>
      (await client.list(events)).items.some(
        ({ involvedObject, type, message }) =>
          involvedObject.name === 'late' && type === 'Warning' && /no space left on device|ENOSPC/.test(message ?? ''),
      );
    await eventually(warned);
    assert.equal(await phase('late'), 'Pending');
    assert.ok(await isRunning(containerID));

    // The kubelet begins anew without a byte to write to, and knows what runs.
    stop.abort(new Error('crash'));
    await kubelet.done;
    fill();
    await startAnew();
    await eventually(() => assert.ok(containerID.endsWith(kubelet.runningContainer('default', 'steady', 'main')!)));
    assert.ok(await isRunning(containerID));

    await containerd.kill();
    rmSync(ballast);
    await containerd.restart();
    await eventually(async () => (await phase('late')) === 'Running');
    const steady = await main('steady');
    assert.deepEqual([steady?.containerID, steady?.restartCount], [containerID, 0], 'nobody has touched it');
    assert.equal((await main('late'))?.restartCount, 0);
    const ready = (await getNode(client, node))?.status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'True');
  });
});

/** Eviction and collection on a real containerd: a full disk, dead containers, images that nothing uses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { events, pods } from '../../api/gen/core-v1.ts';
import { systemClock } from '../../base/clock.ts';
import { startContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { eventually } from '../../testing/eventually.ts';
import { needs } from '../../testing/needs.ts';
import { busyboxImageArchive } from '../../testing/oci-image.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../configuration.ts';
import { linuxHost } from '../host/linux-host.ts';
import { getNode, getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { type Kubelet, startKubelet } from '../kubelet.ts';
import { connectRuntime } from '../runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';

const node = 'short-of-all';
const image = 'local.test/busybox:1';
const unused = 'local.test/unused:1';
const shell = (script: string) => ({
  name: 'main',
  image,
  command: ['sh', '-c', `trap 'exit 0' TERM; ${script}; while true; do sleep 0.1; done`],
});
describe('a node that runs short, on containerd', needs('containers'), () => {
  const { client, clock, context, log, random } = kubeletHarness(systemClock);
  let containerd: TestContainerd;
  let runtime: ContainerRuntime;
  let configuration: KubeletConfiguration;
  let kubelet: Kubelet;
  let stop: AbortController;
  let disk: string;

  before(async () => {
    containerd = await startContainerd();
    await containerd.importImage(busyboxImageArchive(image));
    await containerd.importImage(busyboxImageArchive(unused, { entries: [{ path: 'etc/unused', content: '' }] }));
    runtime = await connectRuntime({ clock, endpoint: containerd.endpoint });
    disk = join(containerd.directory, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]);
    configuration = {
      ...defaultConfiguration,
      rootDirectory: join(disk, 'kubelet'),
      podLogsDirectory: join(disk, 'logs'),
      containerLogsDirectory: '',
      cgroupRoot: containerd.cgroupRoot,
      evictionHard: { 'nodefs.available': '20Mi' },
      evictionPressureTransitionPeriodMs: 1000,
      imageMinimumGcAgeMs: 0,
      maximumDeadContainersPerContainer: 1,
      maxContainerRestartPeriodMs: 1000,
    };
    const started = context();
    stop = started.stop;
    const host = linuxHost({ clock, random, log, configuration, imageDirectory: containerd.directory });
    kubelet = await startKubelet(started.context, { nodeName: node, runtime, host, configuration });
    await eventually(() => kubelet.isReady);
  });
  after(async () => {
    stop?.abort(new Error('the test is over'));
    await kubelet?.done;
    runtime?.close();
    if (disk) execFileSync('umount', ['-l', disk]);
    await containerd?.stop();
  });

  const status = async (name: string) => (await getPod(client, name))?.status;

  it('evicts the Pod that fills the disk, and tells why; the others stay, and new ones wait outside', async () => {
    const scratch = { volumes: [{ name: 'scratch', emptyDir: {} }] };
    const mounted = { volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] };
    await client.create(pods, testPod('modest', node, { containers: [shell(':')] }));
    await client.create(
      pods,
      testPod('greedy', node, {
        containers: [{ ...shell('dd if=/dev/zero of=/scratch/all bs=1M count=50 2>/dev/null'), ...mounted }],
        ...scratch,
      }),
    );
    await eventually(
      () => status('greedy'),
      (greedy) => greedy?.phase === 'Failed',
    );
    const { reason, message, conditions } = (await status('greedy'))!;
    assert.equal(reason, 'Evicted');
    assert.match(
      message!,
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 20Mi, available: \d+Ki\. /,
    );
    const target = conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual([target?.status, target?.reason, target?.message], ['True', 'TerminationByKubelet', message]);
    assert.equal((await status('modest'))?.phase, 'Running');
    const told = (await client.list(events)).items.map((event) => `${event.reason} ${event.involvedObject.name}`);
    assert.ok(told.includes('Evicted greedy') && told.includes(`EvictionThresholdMet ${node}`), told.join());
    assert.equal(kubelet.counts.evictions.get('nodefs.available'), 1);
  });

  it('shows its pressure while it lasts, and the transition period after it', async () => {
    const isPressed = async () =>
      (await getNode(client, node))?.status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status;
    await eventually(async () => (await isPressed()) === 'False');
    execFileSync('dd', ['if=/dev/zero', `of=${join(disk, 'full')}`, 'bs=1M', 'count=50'], { stdio: 'ignore' });
    await eventually(async () => (await isPressed()) === 'True');
    await client.create(pods, testPod('late', node, { containers: [shell(':')] }));
    await eventually(async () => (await status('late'))?.reason === 'Evicted');
    assert.equal((await status('late'))?.message, 'Pod was rejected: The node had condition: [DiskPressure]. ');
    execFileSync('rm', [join(disk, 'full')]);
    await eventually(async () => (await isPressed()) === 'False');
  });

  it('evicts a Pod whose emptyDir outgrows its limit, whatever the node has left', async () => {
    const spec = {
      containers: [
        {
          ...shell('dd if=/dev/zero of=/scratch/all bs=1M count=3 2>/dev/null'),
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
        },
      ],
      volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }],
    };
    await client.create(pods, testPod('overgrown', node, spec));
    await eventually(async () => (await status('overgrown'))?.reason === 'Evicted');
    assert.equal((await status('overgrown'))?.message, 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ');
  });

  it('keeps one dead container of each, and touches nothing that it did not make', async () => {
    // In the same runtime, but not by way of the kubelet.
    await containerd.ctr('containers', 'create', '--snapshotter', 'native', image, 'foreign');
    await client.create(pods, testPod('failing', node, { containers: [{ name: 'main', image, command: ['false'] }] }));
    const dead = async () => {
      const all = await runtime.listContainers({ state: 'exited' });
      return all.filter(({ labels }) => labels['io.kubernetes.pod.name'] === 'failing');
    };
    await eventually(async () => (await dead()).length >= 2);
    mkdirSync(join(configuration.podLogsDirectory, 'default_gone_0000-1111'), { recursive: true });
    const newest = (await dead()).reduce((a, b) => (a.createdAtMs > b.createdAtMs ? a : b));
    const { Housekeeping } = await import('../collection/housekeeping.ts');
    const housekeeping = new Housekeeping({
      clock,
      log,
      signal: stop.signal,
      configuration,
      runtime,
      host: kubelet.host,
      workers: () => kubelet.workers,
      event: () => {},
      onImages: async () => {},
    });
    await housekeeping.collectContainers();
    const left = await dead();
    assert.ok(
      left.some(({ id }) => id === newest.id) && left.every(({ createdAtMs }) => createdAtMs >= newest.createdAtMs),
      'the newest stays',
    );
    assert.equal(existsSync(join(configuration.podLogsDirectory, 'default_gone_0000-1111')), false);
    assert.ok(readdirSync(configuration.podLogsDirectory).length > 0);
    assert.match(await containerd.ctr('containers', 'ls', '-q'), /^foreign$/m);
    await housekeeping.removeUnusedImages();
    const images = (await runtime.listImages()).flatMap(({ repoTags }) => repoTags);
    assert.ok(images.includes(image) && !images.includes(unused), images.join());
  });
});

/**
 * CSI on a real node: a driver that binds folders, as the host-path driver does, containers that write and read, a kubelet that ends and
 * starts anew in between, and the attach-detach controller with an attacher that is the test.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  nodes,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Volume,
} from '../../src/api/gen/core-v1.ts';
import { csiDrivers, csiNodes, volumeAttachments } from '../../src/api/gen/storage-v1.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { runAttachDetachController } from '../../src/controllers/persistentvolume-attach-detach/persistentvolume-attach-detach-controller.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../../src/kubelet/configuration.ts';
import { ScriptedCsiDriver } from '../../src/kubelet/csi/csi-driver.fixture.ts';
import { linuxHost } from '../../src/kubelet/host/linux-host.ts';
import { mountProgram, mountsBelow, unmount } from '../../src/kubelet/host/mounts.ts';
import { getPod, kubeletHarness, testPod } from '../../src/kubelet/kubelet.fixture.ts';
import { type Kubelet, startKubelet } from '../../src/kubelet/kubelet.ts';
import { type PresentedPlugin, presentPlugin } from '../../src/kubelet/plugins/plugin.fixture.ts';
import { connectRuntime } from '../../src/kubelet/runtime/cri/cri-runtime.ts';
import type { ContainerRuntime } from '../../src/kubelet/runtime/runtime.ts';
import { startContainerd, type TestContainerd } from '../../src/testing/containerd.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';

const nodeName = 'csi-node';
const image = 'local.test/busybox:1';
const driverName = 'hostpath.csi.k8s.io';
describe('CSI volumes on containerd', needs('containers'), () => {
  const harness = kubeletHarness(systemClock);
  const { client } = harness;
  const controller = harness.context();
  const driver = new ScriptedCsiDriver();
  let containerd: TestContainerd;
  let runtime: ContainerRuntime;
  let configuration: KubeletConfiguration;
  let backing: string;
  let plugin: PresentedPlugin | undefined;
  let kubelet: Kubelet | undefined;
  let stop: AbortController;

  const startOne = async () => {
    const started = harness.context();
    stop = started.stop;
    const host = linuxHost({ clock: systemClock, random: harness.random, log: harness.log, configuration });
    kubelet = await startKubelet(started.context, { nodeName, runtime, host, configuration });
  };
  const endOne = async () => {
    stop?.abort(new Error('the kubelet ends'));
    await kubelet?.done;
  };
  const present = async () => {
    const socket = join(configuration.rootDirectory, 'plugins_registry', `${driverName}-reg.sock`);
    plugin = await presentPlugin(socket, { type: 'CSIPlugin', name: driverName }, driver.serve);
  };

  before(async () => {
    containerd = await startContainerd();
    await containerd.importImage(busyboxImageArchive(image));
    runtime = await connectRuntime({ clock: systemClock, endpoint: containerd.endpoint });
    backing = join(containerd.directory, 'disks');
    mkdirSync(backing);
    bindFolders(driver, backing);
    const rootDirectory = join(containerd.directory, 'kubelet');
    configuration = {
      ...defaultConfiguration,
      rootDirectory,
      podLogsDirectory: join(containerd.directory, 'logs'),
      containerLogsDirectory: join(containerd.directory, 'links'),
      cgroupRoot: containerd.cgroupRoot,
    };
    mkdirSync(join(rootDirectory, 'plugins_registry'), { recursive: true });
    await client.create(csiDrivers, {
      metadata: { name: driverName },
      spec: { attachRequired: true, podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    });
    void runAttachDetachController(controller.context);
    void attachAll(harness, controller.stop.signal);
    await startOne();
    await eventually(async () => kubelet?.isReady === true);
    await present();
    await eventually(async () => {
      const found = await client.get(csiNodes, { name: nodeName }).catch(() => undefined);
      return found?.spec.drivers[0]?.name === driverName;
    });
  });

  after(async () => {
    controller.stop.abort(new Error('the test is over'));
    await endOne();
    plugin?.close();
    runtime?.close();
    for (const path of configuration ? await mountsBelow(configuration.rootDirectory) : []) await unmount(path);
    await containerd?.stop();
  });

  const run = (name: string, script: string, volume: Omit<Volume, 'name'>) =>
    client.create(
      pods,
      testPod(name, nodeName, {
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 1,
        volumes: [{ name: 'data', ...volume }],
        containers: [
          {
            name: 'main',
            image,
            command: ['sh', '-c', script],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      }),
    );
  const pod = (name: string): Promise<Pod | undefined> => getPod(client, name);
  const succeeded = (name: string) =>
    eventually(
      async () => [(await pod(name))?.status, ...harness.lines.slice(-10)] as const,
      ([status]) => status?.phase === 'Succeeded',
    );
  const remove = async (name: string) => {
    await client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 1 });
    await eventually(
      async () => [await pod(name), ...harness.lines.slice(-10)] as const,
      ([left]) => left === undefined,
    );
  };
  const claimed = { persistentVolumeClaim: { claimName: 'disk' } };
  const mounts = () => mountsBelow(join(configuration.rootDirectory, 'plugins'));

  it('what one Pod writes another reads, and in between nothing is mounted or attached', async () => {
    harness.api.put(persistentVolumeClaims, {
      metadata: { namespace: 'default', name: 'disk' },
      spec: { accessModes: ['ReadWriteOnce'], volumeName: 'pv-1' },
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    });
    const claim = await client.get(persistentVolumeClaims, { namespace: 'default', name: 'disk' });
    await client.create(persistentVolumes, {
      metadata: { name: 'pv-1' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        claimRef: { namespace: 'default', name: 'disk', uid: claim.metadata.uid },
        csi: { driver: driverName, volumeHandle: 'disk-1' },
      },
    });
    await run('writer', 'echo kept > /data/note', claimed);
    await succeeded('writer');
    assert.equal(readFileSync(join(backing, 'disk-1', 'note'), 'utf8'), 'kept\n');
    await remove('writer');
    await eventually(async () => (await mounts()).length === 0);
    await eventually(async () => (await client.list(volumeAttachments)).items.length === 0);
    const { status } = await client.get(nodes, { name: nodeName });
    assert.deepEqual(status?.volumesInUse ?? [], []);
    await run('reader', 'grep -q kept /data/note', claimed);
    await succeeded('reader');
    await remove('reader');
  });

  it('a volume made for one Pod is its own, and gone with it', async () => {
    await run('inline', 'echo mine > /data/note', { csi: { driver: driverName } });
    await succeeded('inline');
    await remove('inline');
    await eventually(async () => readdirSync(backing).join() === 'disk-1');
  });

  it('a kubelet that starts anew keeps what runs, and takes volumes from Pods that went away, once their driver is there', async () => {
    await run('stays', 'while [ ! -e /data/end ]; do sleep 0.1; done', claimed);
    await run('goes', 'trap "exit 0" TERM; while true; do sleep 0.1; done', { csi: { driver: driverName } });
    for (const name of ['stays', 'goes'])
      await eventually(async () => (await pod(name))?.status?.containerStatuses?.[0]?.started === true);
    const uid = (await pod('goes'))?.metadata.uid ?? '';
    await endOne();
    plugin?.close();
    // Gone from the API while nobody looks, as after a forced deletion.
    const gone = await pod('goes');
    await client.update(pods, { ...gone!, metadata: { ...gone!.metadata, finalizers: [] } });
    await client.delete(pods, { namespace: 'default', name: 'goes' }, { gracePeriodSeconds: 0 });
    await startOne();
    const folder = join(configuration.rootDirectory, 'pods', uid);
    await eventually(async () => kubelet?.isReady === true);
    assert.ok(existsSync(folder), 'nobody but the driver may take the volume away');
    driver.calls.length = 0;
    await present();
    await eventually(() => assert.ok(!existsSync(folder), harness.lines.slice(-10).join('\n')));
    assert.ok(driver.calls.some(({ method }) => method === 'NodeUnpublishVolume'));
    await mkdir(join(backing, 'disk-1', 'end'));
    await succeeded('stays');
    await remove('stays');
    await eventually(async () => (await mountsBelow(configuration.rootDirectory)).length === 0);
  });
});

/** As the host-path driver: a volume is a folder; staging and publishing bind it. What is made for one Pod goes with it. */
function bindFolders(driver: ScriptedCsiDriver, backing: string): void {
  const bind = async (from: string, to: string) => {
    await mkdir(to, { recursive: true });
    if (!(await mountsBelow(to)).includes(to)) await mountProgram('--bind', from, to);
    return {};
  };
  const release = async (path: string) => {
    if ((await mountsBelow(path)).includes(path)) await unmount(path);
  };
  const folderOf = async (volumeId: string) => {
    const folder = join(backing, volumeId);
    await mkdir(folder, { recursive: true });
    return folder;
  };
  driver.script('NodeStageVolume', async ({ volumeId, stagingTargetPath }) =>
    bind(await folderOf(volumeId), stagingTargetPath),
  );
  driver.script('NodePublishVolume', async ({ volumeId, stagingTargetPath, targetPath }) =>
    bind(stagingTargetPath || (await folderOf(volumeId)), targetPath),
  );
  driver.script('NodeUnpublishVolume', async ({ volumeId, targetPath }) => {
    await release(targetPath);
    await rmdir(targetPath).catch(() => undefined);
    if (volumeId.startsWith('csi-')) await rm(join(backing, volumeId), { recursive: true, force: true });
    return {};
  });
  driver.script('NodeUnstageVolume', async ({ stagingTargetPath }) => {
    await release(stagingTargetPath);
    return {};
  });
}

/** The driver's attacher: attaches whatever is asked for. */
async function attachAll({ client }: ReturnType<typeof kubeletHarness>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const attachment of (await client.list(volumeAttachments)).items)
      if (!attachment.status?.attached)
        await client
          .updateStatus(volumeAttachments, { ...attachment, status: { attached: true } })
          .catch(() => undefined);
    await sleep(systemClock, 50, signal).catch(() => undefined);
  }
}

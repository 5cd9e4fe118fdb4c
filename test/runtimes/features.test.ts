/** What runtimes can do since containerd 2, through the whole kubelet: Debian 12's cannot show any of it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { resourceClaims } from '../../src/api/gen/resource-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { ScriptedDraDriver } from '../../src/kubelet/dynamic-resources/dra-driver.fixture.ts';
import { grpcMethod } from '../../src/kubelet/grpc/codec.ts';
import { connectSocket } from '../../src/kubelet/grpc/socket-connection.ts';
import { getNode } from '../../src/kubelet/kubelet.fixture.ts';
import { podResourcesListerService } from '../../src/kubelet/pod-resources/gen/pod-resources-v1.ts';
import { forever, RealKubelet } from '../../src/kubelet/real-kubelet.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { busyboxImageArchive } from '../../src/testing/oci-image.ts';

const node = 'of-today';

describe('the kubelet on containerd 2', { ...needs('containers'), concurrency: 4 }, () => {
  // A criu that does not work hides the machine's, if it has one: runc's package recommends it.
  const criuFolder = mkdtempSync(join(tmpdir(), 'coracle-criu-'));
  const real = new RealKubelet(node, `${criuFolder}:${process.env.PATH}`);
  before(async () => {
    writeFileSync(join(criuFolder, 'criu'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(criuFolder, 'criu'), 0o755);
    await real.start();
  });
  after(async () => {
    await real.stop();
    rmSync(criuFolder, { recursive: true });
  });

  it('tells what the node´s runtime handlers can do', async () => {
    const { status } = (await getNode(real.client, node))!;
    const features = { recursiveReadOnlyMounts: true, userNamespaces: true };
    assert.deepEqual(status?.runtimeHandlers, [
      { name: '', features },
      { name: 'runc', features },
    ]);
    assert.deepEqual(status?.features, { supplementalGroupsPolicy: true });
  });

  it('mounts images, which nobody can write to', async () => {
    const data = 'local.test/data:1';
    const entries = [{ path: 'model' }, { path: 'model/weights', content: 'heavy\n' }];
    await real.containerd.importImage(busyboxImageArchive(data, { entries }));
    await real.create('reader', {
      containers: [{ ...forever(), volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', image: { reference: data, pullPolicy: 'Never' } }],
    });
    await real.phase('reader', 'Running');
    assert.equal(await real.exec('reader', 'cat /data/model/weights'), 'heavy\n');
    assert.match(await real.exec('reader', 'touch /data/model/x'), /Read-only file system/);
    await real.remove('reader', 1);
  });

  it('gives a Pod users of its own, whose files belong to the right ones on the node', async () => {
    const shared = join(real.containerd.directory, 'shared');
    mkdirSync(shared);
    await real.create('private', {
      hostUsers: false,
      containers: [
        {
          ...forever('touch /scratch/made /shared/made'),
          volumeMounts: [
            { name: 'scratch', mountPath: '/scratch' },
            { name: 'shared', mountPath: '/shared' },
          ],
        },
      ],
      volumes: [
        { name: 'scratch', emptyDir: {} },
        { name: 'shared', hostPath: { path: shared } },
      ],
    });
    await real.phase('private', 'Running');
    assert.match(await real.exec('private', 'cat /proc/self/uid_map'), /^\s*0\s+65536\s+65536\s*$/);
    assert.equal((await real.exec('private', 'id -u; stat -c %u /scratch/made /shared/made')).trim(), '0\n0\n0');
    assert.equal(statSync(join(shared, 'made')).uid, 0);
    const tasks = await real.containerd.ctr('tasks', 'ls');
    const id = real.kubelet.runningContainer('default', 'private', 'main')!;
    const pid = new RegExp(`^${id}\\s+(\\d+)`, 'm').exec(tasks)?.[1];
    assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Uid:\t65536\t/m);
    await real.remove('private', 1);
  });

  it('leaves out the groups that only the image names, where a Pod is strict about them', async () => {
    const crowded = 'local.test/crowded:1';
    const entries = [
      { path: 'etc/passwd', content: 'root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n' },
      { path: 'etc/group', content: 'root:x:0:\ncrowd:x:50000:alice\n' },
    ];
    await real.containerd.importImage(busyboxImageArchive(crowded, { entries }));
    for (const supplementalGroupsPolicy of ['Merge', 'Strict'] as const) {
      const name = supplementalGroupsPolicy.toLowerCase();
      await real.create(name, {
        securityContext: { runAsUser: 1000, runAsGroup: 1000, supplementalGroups: [60_000], supplementalGroupsPolicy },
        containers: [{ ...forever(), image: crowded }],
      });
    }
    const groups = async (name: string) => {
      await real.phase(name, 'Running');
      return [(await real.exec(name, 'id -G')).trim(), (await real.status(name))?.user?.linux];
    };
    const user = { uid: 1000, gid: 1000 };
    assert.deepEqual(await groups('merge'), [
      '1000 50000 60000',
      { ...user, supplementalGroups: [1000, 50_000, 60_000] },
    ]);
    assert.deepEqual(await groups('strict'), ['1000 60000', { ...user, supplementalGroups: [1000, 60_000] }]);
    await Promise.all(['merge', 'strict'].map((name) => real.remove(name, 1)));
  });

  it('mounts what is read-only with all that is mounted below it', async () => {
    const tree = join(real.containerd.directory, 'tree');
    const below = join(tree, 'below');
    mkdirSync(below, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', below]);
    writeFileSync(join(below, 'file'), 'there\n');
    const mounted = (recursiveReadOnly: 'Disabled' | 'Enabled') => ({
      volumes: [{ name: 'tree', hostPath: { path: tree } }],
      containers: [
        { ...forever(), volumeMounts: [{ name: 'tree', mountPath: '/tree', readOnly: true, recursiveReadOnly }] },
      ],
    });
    await real.create('deeply', mounted('Enabled'));
    await real.create('flatly', mounted('Disabled'));
    for (const name of ['deeply', 'flatly']) await real.phase(name, 'Running');
    assert.equal(await real.exec('deeply', 'cat /tree/below/file'), 'there\n');
    assert.match(await real.exec('deeply', 'touch /tree/below/x'), /Read-only file system/);
    assert.equal(await real.exec('flatly', 'touch /tree/below/x'), '');
    assert.equal((await real.status('deeply'))?.volumeMounts?.[0]?.recursiveReadOnly, 'Enabled');
    await Promise.all(['deeply', 'flatly'].map((name) => real.remove(name, 1)));
    execFileSync('umount', [below]);
  });

  it('gives a container what was allocated to its claim, as the driver describes it', async () => {
    const { client, configuration, containerd } = real;
    const kind = 'gpu.example.com/card';
    const edits = { env: ['CARD=card-0'], deviceNodes: [{ path: '/dev/card', hostPath: '/dev/null', type: 'c' }] };
    const spec = { cdiVersion: '0.6.0', kind, devices: [{ name: 'card-0', containerEdits: edits }] };
    const specs = join(containerd.directory, 'cdi');
    mkdirSync(specs);
    const driver = new ScriptedDraDriver({
      name: 'gpu.example.com',
      devices: () => {
        writeFileSync(join(specs, 'gpu.json'), JSON.stringify(spec));
        return [{ poolName: node, deviceName: 'card-0', cdiDeviceIds: [`${kind}=card-0`] }];
      },
    });
    const socket = join(configuration.rootDirectory, 'plugins_registry', 'gpu.sock');
    const plugin = await driver.present(socket);
    assert.deepEqual(await plugin.verdict(), { pluginRegistered: true, error: '' });
    const entry = { name: 'card', resourceClaimName: 'card' };
    const { metadata } = await real.create('claiming', {
      containers: [
        { ...forever(), resources: { claims: [{ name: 'card' }] } },
        { ...forever(), name: 'other' },
      ],
      resourceClaims: [entry],
    });
    const claim = await client.create(resourceClaims, { metadata: { namespace: 'default', name: 'card' }, spec: {} });
    const results = [{ request: 'card', driver: 'gpu.example.com', pool: node, device: 'card-0' }];
    const reservedFor = [{ resource: 'pods', name: 'claiming', uid: metadata.uid ?? '' }];
    await client.updateStatus(resourceClaims, {
      ...claim,
      status: { allocation: { devices: { results } }, reservedFor },
    });
    await real.phase('claiming', 'Running');
    assert.equal(await real.exec('claiming', 'echo $CARD; test -c /dev/card && echo there'), 'card-0\nthere\n');
    const other = real.kubelet.runningContainer('default', 'claiming', 'other')!;
    const { stdout } = await real.runtime.execSync(other, ['sh', '-c', 'echo none:$CARD; ls /dev/card']);
    assert.equal(Buffer.from(stdout).toString(), 'none:\n');
    const pods = join(configuration.rootDirectory, 'pod-resources', 'kubelet.sock');
    const connection = await connectSocket({ clock: systemClock, path: pods, requestTimeoutMs: 5000 });
    const get = grpcMethod(podResourcesListerService, 'Get');
    const told = await connection.unary(get, { podName: 'claiming', podNamespace: 'default' });
    connection.close();
    const [held] = told.podResources?.containers[0]?.dynamicResources ?? [];
    assert.equal(held?.claimName, 'card');
    assert.deepEqual(held?.claimResources[0]?.cdiDevices, [{ name: `${kind}=card-0` }]);
    await real.remove('claiming', 1);
    assert.deepEqual(driver.calls, ['prepare default/card', 'unprepare default/card']);
    plugin.close();
  });

  it('says why no checkpoint can be made', async () => {
    await real.create('frozen', { containers: [forever()] });
    await real.phase('frozen', 'Running');
    const id = real.kubelet.runningContainer('default', 'frozen', 'main')!;
    const archive = join(real.containerd.directory, 'checkpoint.tar');
    await assert.rejects(real.runtime.checkpointContainer(id, archive), /CRIU binary not found or too old/);
    await real.remove('frozen', 1);
  });
});

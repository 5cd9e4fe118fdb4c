/** CSI volumes between a kubelet and a driver that does as it is told. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  type Node,
  nodes,
  type PersistentVolumeClaim,
  type PersistentVolumeSpec,
  type Pod,
  persistentVolumeClaims,
  secrets,
} from '../../api/gen/core-v1.ts';
import { type CSIDriverSpec, csiDrivers, csiNodes, volumeAttachments } from '../../api/gen/storage-v1.ts';
import { type GrpcServer, grpcCodes, grpcServer } from '../../base/grpc/index.ts';
import { eventually } from '../../testing/eventually.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { ServiceAccountTokens } from '../volumes/service-account-tokens.ts';
import { VolumePending } from './csi-attachments.ts';
import { ScriptedCsiDriver } from './csi-driver.fixture.ts';
import { CsiFolders } from './csi-folders.ts';
import { attachmentName, type CsiVolume, ephemeralCsiVolume, persistentCsiVolume, sha256 } from './csi-volume.ts';
import { NodeCsi } from './node-csi.ts';

const nodeName = 'node-a';
const driverName = 'hostpath.csi.k8s.io';
const handle = 'vol-1';
const asStatus = { subresource: 'status' } as const;
const staging = () => join(root, 'plugins/kubernetes.io/csi', driverName, sha256(handle));

let root: string;
let clock: FakeClock;
let stop: AbortController;
let harness: ReturnType<typeof kubeletHarness>;
let driver: ScriptedCsiDriver;
let server: GrpcServer;
let csi: NodeCsi;
let events: string[];
/** As the kubelet knows it. */
let node: Node | undefined;
let woken: (readonly string[] | undefined)[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'coracle-csi-'));
  clock = new FakeClock();
  stop = new AbortController();
  harness = kubeletHarness(clock);
  driver = new ScriptedCsiDriver();
  server = await grpcServer();
  driver.serve(server);
  await server.listen(`unix://${join(root, 'csi.sock')}`);
  node = undefined;
  events = [];
  woken = [];
  await harness.client.create(nodes, { metadata: { name: nodeName }, spec: {} });
  csi = kubelet();
  await csi.restore();
});

afterEach(() => {
  stop.abort();
  server.close();
  rmSync(root, { recursive: true });
});

/** Disks that Pods hold, by where they are held. */
const held = new Map<string, string>();

/** As one that starts on what lies there. */
function kubelet(): NodeCsi {
  const { client, log, random, context } = harness;
  const parts = { client, clock, log, random, signal: stop.signal };
  return new NodeCsi({
    ...parts,
    informers: context().context.informers,
    nodeName,
    folders: new CsiFolders(root, {
      hold: async (device, { folder, podUid }) => void held.set(join(folder, podUid), device),
      release: async ({ folder, podUid }) => void held.delete(join(folder, podUid)),
    }),
    tokens: new ServiceAccountTokens(parts),
    recorder: { record: (_, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
    republishMs: 60_000,
    node: () => node,
    async reportNode() {
      const before = await client.get(nodes, { name: nodeName });
      const volumesInUse = csi.inUse(before.status?.volumesInUse ?? []);
      node = await client.patch(
        nodes,
        { name: nodeName },
        { type: 'merge', body: { status: { volumesInUse } } },
        asStatus,
      );
    },
    onChange: (uids) => void woken.push(uids),
  });
}

const register = () =>
  csi.plugins.register(
    { name: driverName, endpoint: join(root, 'csi.sock'), supportedVersions: ['1.0.0'] },
    stop.signal,
  );

/** The driver and its object; nothing needs to be attached unless the test says so. */
async function withDriver(spec: Partial<CSIDriverSpec> = {}): Promise<void> {
  const metadata = { name: driverName };
  const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
  await harness.client.create(csiDrivers, { metadata, spec: { attachRequired: false, volumeLifecycleModes, ...spec } });
  await register();
  driver.calls.length = 0;
}

function pod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { containers: [], serviceAccountName: 'seller', ...spec },
  };
}

function volume(spec: Partial<PersistentVolumeSpec> = {}, readOnly = false): CsiVolume {
  const claim: PersistentVolumeClaim = {
    metadata: { name: 'data', namespace: 'shop', uid: 'claim' },
    spec: {},
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  };
  const source = { driver: driverName, volumeHandle: handle, fsType: 'ext4', volumeAttributes: { kind: 'fast' } };
  const volumeSpec: PersistentVolumeSpec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: source,
    ...spec,
  };
  return persistentCsiVolume('data', { metadata: { name: 'pv-1' }, spec: volumeSpec }, claim, readOnly);
}

const publishPath = (uid: string) => join(root, 'pods', uid, 'volumes/kubernetes.io~csi/pv-1/mount');

describe('a driver', () => {
  const csiNode = () => harness.client.get(csiNodes, { name: nodeName });

  it('that registers is told of in the CSINode and the Node, and no more once it is gone', async () => {
    await csi.run();
    assert.deepEqual((await csiNode()).spec.drivers, []);
    assert.equal(csi.problem, undefined);
    driver.maxVolumes = 5;
    driver.topology = { 'topology.hostpath.csi/node': 'here' };
    await register();
    assert.deepEqual((await csiNode()).spec.drivers, [
      {
        name: driverName,
        nodeID: 'node-id',
        topologyKeys: ['topology.hostpath.csi/node'],
        allocatable: { count: 5 },
      },
    ]);
    const { metadata } = await harness.client.get(nodes, { name: nodeName });
    assert.equal(metadata.annotations?.['csi.volume.kubernetes.io/nodeid'], `{"${driverName}":"node-id"}`);
    assert.equal(metadata.labels?.['topology.hostpath.csi/node'], 'here');
    const spec = { nodeAllocatableUpdatePeriodSeconds: 10 };
    await harness.client.create(csiDrivers, { metadata: { name: driverName }, spec });
    driver.maxVolumes = 3;
    await clock.advance(10_000);
    await eventually(async () => assert.deepEqual((await csiNode()).spec.drivers?.[0]?.allocatable, { count: 3 }));
    await csi.plugins.deregister({ name: driverName, endpoint: '', supportedVersions: [] });
    assert.deepEqual((await csiNode()).spec.drivers, []);
    const after = await harness.client.get(nodes, { name: nodeName });
    assert.equal(after.metadata.annotations?.['csi.volume.kubernetes.io/nodeid'], undefined);
  });

  it('that does not say which node this is does not register', async () => {
    driver.fail('NodeGetInfo', grpcCodes.internal, 'no metadata');
    await assert.rejects(register(), { message: 'rpc error: code = Internal desc = no metadata' });
    await assert.rejects(csi.mount(pod('a'), ephemeralCsiVolume(pod('a'), 'v', { driver: driverName })), {
      message: `MountVolume.SetUp failed for volume "v" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name ${driverName} not found in the list of registered CSI drivers`,
    });
  });

  it('is refused without a version of the interface that is known here', () => {
    const validate = (supportedVersions: readonly string[]) =>
      csi.plugins.validate({ name: 'x', endpoint: '/x.sock', supportedVersions });
    const failed = 'validation failed for CSI Driver x at endpoint /x.sock: kubernetes.io/csi: ValidatePlugin for CSI';
    assert.throws(() => validate([]), {
      message: `${failed} driver "x" failed. Plugin returned an empty list for supported versions`,
    });
    assert.throws(() => validate(['2.0.0', '0.3.0']), {
      message: `${failed} driver "x" failed. None of the versions specified ["2.0.0" "0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x`,
    });
    validate(['0.3.0', '1.2.0']);
  });

  it('whose Node was made anew gets a new CSINode', async () => {
    await harness.client.create(csiNodes, {
      metadata: { name: nodeName, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: 'old' }] },
      spec: { drivers: [{ name: 'gone', nodeID: 'x' }] },
    });
    let isRegistered = false;
    const registered = register().then(() => {
      isRegistered = true;
    });
    // The second attempt comes 10 ms after the first.
    while (!isRegistered) await clock.advance(10);
    await registered;
    const { spec, metadata } = await csiNode();
    assert.deepEqual(
      spec.drivers.map(({ name }) => name),
      [driverName],
    );
    assert.notEqual(metadata.ownerReferences?.[0]?.uid, 'old');
  });
});

describe('a persistent volume', () => {
  it('is staged once, published to each Pod, and unstaged with the last of them', async () => {
    await withDriver();
    assert.equal((await csi.mount(pod('a'), volume())).path, publishPath('uid-a'));
    assert.equal((await csi.mount(pod('b'), volume())).path, publishPath('uid-b'));
    await csi.mount(pod('a'), volume());
    assert.deepEqual(driver.asked(), ['NodeStageVolume', 'NodePublishVolume', 'NodePublishVolume']);
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume']);
    await csi.unmountPod('uid-b');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume', 'NodeUnstageVolume']);
    assert.equal(existsSync(staging()), false);
    assert.deepEqual(readdirSync(join(root, 'pods/uid-a/volumes/kubernetes.io~csi')), []);
    await csi.unmountPod('uid-b');
    assert.deepEqual(driver.asked(), []);
  });

  it('comes with its attributes, mode and secrets, and is recorded as upstream records it', async () => {
    await withDriver({ podInfoOnMount: true });
    for (const [name, value] of [
      ['stage', 'c3RhZ2U='],
      ['publish', 'cHVibGlzaA=='],
    ] as const)
      await harness.client.create(secrets, { metadata: { namespace: 'keys', name }, data: { key: value } });
    const { csi: source } = volume().bound!.volume.spec;
    const secret = (name: string) => ({ namespace: 'keys', name });
    const withSecrets = { ...source!, nodeStageSecretRef: secret('stage'), nodePublishSecretRef: secret('publish') };
    await csi.mount(pod('a'), volume({ csi: withSecrets, mountOptions: ['noatime'] }, true));
    const [stage, publish] = driver.calls.map(({ request }) => request);
    const mount = { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' };
    const volumeCapability = { block: undefined, mount, accessMode: { mode: 'SINGLE_NODE_WRITER' } };
    assert.deepEqual(stage, {
      volumeId: handle,
      publishContext: {},
      stagingTargetPath: join(staging(), 'globalmount'),
      volumeCapability,
      secrets: { key: 'stage' },
      volumeContext: { kind: 'fast' },
    });
    assert.deepEqual(publish, {
      volumeId: handle,
      publishContext: {},
      stagingTargetPath: join(staging(), 'globalmount'),
      targetPath: publishPath('uid-a'),
      volumeCapability,
      readonly: true,
      secrets: { key: 'publish' },
      volumeContext: {
        kind: 'fast',
        'csi.storage.k8s.io/pod.name': 'a',
        'csi.storage.k8s.io/pod.namespace': 'shop',
        'csi.storage.k8s.io/pod.uid': 'uid-a',
        'csi.storage.k8s.io/serviceAccount.name': 'seller',
        'csi.storage.k8s.io/ephemeral': 'false',
      },
    });
    const record = (folder: string) => readFileSync(join(folder, 'vol_data.json'), 'utf8');
    assert.equal(record(staging()), `{"driverName":"${driverName}","volumeHandle":"${handle}"}\n`);
    const attachmentID = attachmentName(volume(), nodeName);
    assert.equal(
      record(join(publishPath('uid-a'), '..')),
      `{"attachmentID":"${attachmentID}","driverName":"${driverName}","nodeName":"${nodeName}","specVolID":"pv-1","volumeHandle":"${handle}","volumeLifecycleMode":"Persistent"}\n`,
    );
  });

  it('is not staged where the driver stages nothing, and its mode is finer where the driver knows finer ones', async () => {
    await withDriver();
    driver.capabilities = ['SINGLE_NODE_MULTI_WRITER'];
    await csi.mount(pod('a'), volume({ accessModes: ['ReadWriteOncePod'] }));
    const [{ request } = assert.fail()] = driver.calls;
    assert.deepEqual(request.volumeCapability?.accessMode, { mode: 'SINGLE_NODE_SINGLE_WRITER' });
    assert.equal(request.stagingTargetPath, '');
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodePublishVolume', 'NodeUnpublishVolume']);
  });

  it('for one Pod alone is given to no other, over a restart of the kubelet too', async () => {
    await withDriver();
    const exclusive = volume({ accessModes: ['ReadWriteOncePod'] });
    const refused = {
      message:
        'MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    };
    await csi.mount(pod('a'), exclusive);
    await assert.rejects(csi.mount(pod('b'), exclusive), refused);
    csi = kubelet();
    await csi.restore();
    await register();
    await assert.rejects(csi.mount(pod('b'), exclusive), refused);
    await csi.unmountPod('uid-a');
    await csi.mount(pod('b'), exclusive);
  });

  it('waits for its driver, and says so', async () => {
    await assert.rejects(csi.mount(pod('a'), volume()), VolumePending);
    await withDriver();
    await csi.plugins.deregister({ name: driverName, endpoint: '', supportedVersions: [] });
    const missing = `driver name ${driverName} not found in the list of registered CSI drivers`;
    await assert.rejects(csi.mount(pod('b'), volume()), {
      message: `MountVolume.MountDevice failed for volume "pv-1" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${missing}`,
    });
    await register();
    assert.deepEqual(woken.at(-1), undefined);
    await csi.mount(pod('b'), volume());
  });

  it('that cannot be had leaves nothing behind, and is told of in upstream´s words', async () => {
    await withDriver();
    driver.fail('NodeStageVolume', grpcCodes.internal, 'no disk');
    await assert.rejects(csi.mount(pod('a'), volume()), {
      message: 'MountVolume.MountDevice failed for volume "pv-1" : rpc error: code = Internal desc = no disk',
    });
    assert.equal(existsSync(staging()), false);
    driver.script('NodeStageVolume');
    driver.fail('NodePublishVolume', grpcCodes.internal, 'no mount');
    await assert.rejects(csi.mount(pod('a'), volume()), {
      message: 'MountVolume.SetUp failed for volume "pv-1" : rpc error: code = Internal desc = no mount',
    });
    assert.equal(existsSync(join(publishPath('uid-a'), '..')), false);
    driver.asked();
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnstageVolume']);
  });

  it('of which it is not known whether it is mounted is unmounted nevertheless', async () => {
    await withDriver();
    driver.script('NodePublishVolume', () => new Promise(() => {}));
    const mounted = assert.rejects(csi.mount(pod('a'), volume()), {
      message:
        'MountVolume.SetUp failed for volume "pv-1" : rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    });
    while (!driver.calls.some(({ method }) => method === 'NodePublishVolume')) await clock.advance(0);
    await clock.advance(120_000);
    await mounted;
    driver.asked();
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume', 'NodeUnstageVolume']);
  });

  it('stays in the hands of a driver that does not let go, until it does', async () => {
    await withDriver();
    await csi.mount(pod('a'), volume());
    driver.fail('NodeUnpublishVolume', grpcCodes.internal, 'busy');
    await assert.rejects(csi.unmountPod('uid-a'), {
      message:
        'UnmountVolume.TearDown failed for volume "pv-1" : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = busy',
    });
    driver.script('NodeUnpublishVolume');
    driver.fail('NodeUnstageVolume', grpcCodes.internal, 'busy');
    await assert.rejects(csi.unmountPod('uid-a'), /UnmountDevice failed for volume "pv-1"/);
    driver.script('NodeUnstageVolume');
    driver.asked();
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnstageVolume']);
    assert.equal(existsSync(staging()), false);
  });

  it('is found again by a kubelet that starts anew: published again to who wants it, taken from who is gone', async () => {
    await withDriver();
    await csi.mount(pod('a'), volume());
    await csi.mount(pod('b'), volume());
    csi = kubelet();
    await csi.restore();
    await register();
    driver.asked();
    await csi.unmountPod('uid-b');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume']);
    await csi.mount(pod('a'), volume());
    assert.deepEqual(driver.asked(), ['NodeStageVolume', 'NodePublishVolume']);
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume', 'NodeUnstageVolume']);
  });

  it('that was staged and not published when the kubelet ended is unstaged when nobody wants it', async () => {
    await withDriver();
    driver.fail('NodePublishVolume', grpcCodes.internal, 'no mount');
    await assert.rejects(csi.mount(pod('a'), volume()));
    csi = kubelet();
    await csi.restore();
    await assert.rejects(csi.unstageUnused(), /not found in the list of registered CSI drivers/);
    await register();
    driver.asked();
    await csi.unstageUnused();
    assert.deepEqual(driver.asked(), ['NodeUnstageVolume']);
    assert.equal(existsSync(staging()), false);
  });
});

describe('a volume that must be attached', () => {
  const key = `kubernetes.io/csi/${driverName}^${handle}`;
  const name = attachmentName(volume(), nodeName);
  const status = async (body: Node['status']) => {
    node = await harness.client.patch(nodes, { name: nodeName }, { type: 'merge', body: { status: body } }, asStatus);
  };
  const attach = async (attached: boolean, error?: string) =>
    harness.api.put(volumeAttachments, {
      metadata: { name },
      spec: { attacher: driverName, nodeName, source: { persistentVolumeName: 'pv-1' } },
      status: {
        attached,
        attachmentMetadata: { disk: '/dev/sdb' },
        ...(error ? { attachError: { message: error } } : {}),
      },
    });

  it('is in use first, waited for without a word, and mounted with what its attacher says', async () => {
    await withDriver({ attachRequired: true });
    await assert.rejects(
      csi.mount(pod('a'), volume()),
      (error) => error instanceof VolumePending && !error.isOverdue && /not attached/.test(error.message),
    );
    assert.deepEqual((await harness.client.get(nodes, { name: nodeName })).status?.volumesInUse, [key]);
    assert.deepEqual(driver.asked(), []);
    await csi.run();
    await attach(true);
    await status({ volumesAttached: [{ name: key, devicePath: '' }] });
    while (!woken.some((uids) => uids?.includes('uid-a'))) await clock.advance(10);
    await csi.mount(pod('a'), volume());
    assert.deepEqual(driver.calls.at(-1)?.request.publishContext, { disk: '/dev/sdb' });
  });

  it('is told of when nobody attaches it for two minutes', async () => {
    await withDriver({ attachRequired: true });
    await assert.rejects(csi.mount(pod('a'), volume()), VolumePending);
    await clock.advance(123_000);
    await assert.rejects(csi.mount(pod('a'), volume()), {
      isOverdue: true,
      message:
        'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded',
    });
  });

  it('is mounted once the Node and the attachment say so, and is in use until it is unstaged', async () => {
    await withDriver({ attachRequired: true });
    await status({ volumesAttached: [{ name: key, devicePath: '' }] });
    await assert.rejects(csi.mount(pod('a'), volume()), {
      message: `MountVolume.WaitForAttach failed for volume "pv-1" : volume ${handle} has GET error for volume attachment ${name}: volumeattachments.storage.k8s.io "${name}" not found`,
    });
    await attach(true);
    await csi.mount(pod('a'), volume());
    await csi.unmountPod('uid-a');
    assert.deepEqual(csi.inUse([key]), []);
  });

  it('is told of in its attacher´s words', async () => {
    await withDriver({ attachRequired: true });
    await status({ volumesAttached: [{ name: key, devicePath: '' }] });
    await attach(false, 'no such disk');
    await assert.rejects(csi.mount(pod('a'), volume()), {
      message: 'MountVolume.WaitForAttach failed for volume "pv-1" : no such disk',
    });
  });

  it('stays in use over a restart of the kubelet', async () => {
    await withDriver({ attachRequired: true });
    await status({ volumesAttached: [{ name: key, devicePath: '' }] });
    await attach(true);
    await csi.mount(pod('a'), volume());
    csi = kubelet();
    assert.deepEqual(csi.inUse([key, 'other']), [key, 'other']);
    await csi.restore();
    assert.deepEqual(csi.inUse([key, 'other']), [key]);
  });
});

describe('an ephemeral volume', () => {
  const inline = (owner: Pod) =>
    ephemeralCsiVolume(owner, 'scratch', { driver: driverName, volumeAttributes: { size: '1' } });

  it('is published to its Pod alone, under a name of its own, and goes with it', async () => {
    await withDriver({ podInfoOnMount: true });
    const { path } = await csi.mount(pod('a'), inline(pod('a')));
    assert.equal(path, join(root, 'pods/uid-a/volumes/kubernetes.io~csi/scratch/mount'));
    const [{ request } = assert.fail()] = driver.calls;
    assert.equal(request.volumeId, `csi-${sha256('uid-ascratch')}`);
    assert.equal((request.volumeContext as Record<string, string>)['csi.storage.k8s.io/ephemeral'], 'true');
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodePublishVolume', 'NodeUnpublishVolume']);
    assert.deepEqual(csi.inUse([]), []);
  });

  it('is refused where the driver does not say that it makes such', async () => {
    await withDriver({ volumeLifecycleModes: ['Persistent'] });
    await assert.rejects(csi.mount(pod('a'), inline(pod('a'))), {
      message: `MountVolume.SetUp failed for volume "scratch" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver ${driverName} (only supports ["Persistent"])`,
    });
  });
});

describe('what a driver´s object asks for', () => {
  it('tokens, by audience, and publication again as long as the Pod lives', async () => {
    await withDriver({ tokenRequests: [{ audience: 'vault' }, { audience: '' }], requiresRepublish: true });
    const { renewAtMs } = await csi.mount(pod('a'), volume());
    assert.equal(renewAtMs, clock.now() + 60_000);
    const context = driver.calls.at(-1)?.request.volumeContext as Record<string, string>;
    const tokens = JSON.parse(context['csi.storage.k8s.io/serviceAccount.tokens']!);
    assert.deepEqual(Object.keys(tokens), ['', 'vault']);
    assert.match(tokens.vault.token, /^token-/);
    await csi.mount(pod('a'), volume());
    assert.deepEqual(driver.asked(), ['NodeStageVolume', 'NodePublishVolume']);
    await clock.advance(60_000);
    driver.fail('NodePublishVolume', grpcCodes.internal, 'not now');
    await assert.rejects(csi.mount(pod('a'), volume()));
    assert.ok(existsSync(publishPath('uid-a')), 'a Pod keeps what it has');
    driver.script('NodePublishVolume');
    await csi.mount(pod('a'), volume());
    assert.deepEqual(driver.asked(), ['NodePublishVolume', 'NodePublishVolume']);
  });

  it('tokens among the secrets', async () => {
    await withDriver({ tokenRequests: [{ audience: 'vault' }], serviceAccountTokenInSecrets: true });
    await csi.mount(pod('a'), volume());
    const { secrets: given, volumeContext } = driver.calls.at(-1)!.request;
    assert.deepEqual(Object.keys(given as object), ['csi.storage.k8s.io/serviceAccount.tokens']);
    assert.deepEqual(volumeContext, { kind: 'fast' });
  });

  for (const { policy, fsType, given } of [
    { policy: 'File', fsType: '', given: true },
    { policy: 'None', fsType: 'ext4', given: false },
    { policy: 'ReadWriteOnceWithFSType', fsType: 'ext4', given: true },
    { policy: 'ReadWriteOnceWithFSType', fsType: '', given: false },
  ]) {
    it(`the group of files: ${policy} with file system ${JSON.stringify(fsType)}`, async () => {
      await withDriver({ fsGroupPolicy: policy });
      const source = { ...volume().bound!.volume.spec.csi!, fsType };
      const { path } = await csi.mount(pod('a', { securityContext: { fsGroup: ownGroup } }), volume({ csi: source }));
      assert.equal((statSync(path).mode & 0o2000) !== 0, given);
    });
  }

  it('the group of files is the driver´s business where it can', async () => {
    await withDriver({ fsGroupPolicy: 'File' });
    driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'];
    const { path } = await csi.mount(pod('a', { securityContext: { fsGroup: ownGroup } }), volume());
    assert.deepEqual(
      driver.calls.map(({ request }) => request.volumeCapability?.mount?.volumeMountGroup),
      [String(ownGroup), String(ownGroup)],
    );
    assert.equal(statSync(path).mode & 0o2000, 0);
  });
});

/** Whoever runs the tests may give files to it. */
const ownGroup = process.getgid?.() ?? 0;

describe('a disk', () => {
  it('is published as a device, linked where containers look, and nothing of it is left', async () => {
    await withDriver();
    const disk = volume({ volumeMode: 'Block' });
    const { path } = await csi.mount(pod('a'), disk);
    const devices = join(root, 'plugins/kubernetes.io/csi/volumeDevices');
    assert.equal(path, join(root, 'pods/uid-a/volumeDevices/kubernetes.io~csi/pv-1'));
    assert.equal(readlinkSync(path), join(devices, 'publish/pv-1/uid-a'));
    assert.deepEqual([...held], [[join(devices, 'pv-1/dev/uid-a'), join(devices, 'publish/pv-1/uid-a')]]);
    driver.script('NodeUnpublishVolume', async ({ targetPath }) => {
      assert.equal(held.size, 0, 'the disk is let go of before the driver takes it away');
      rmSync(targetPath);
      return {};
    });
    const [stage, publish] = driver.calls.map(({ request }) => request);
    assert.equal(stage?.stagingTargetPath, join(devices, 'staging/pv-1'));
    assert.deepEqual([publish?.volumeCapability?.block, publish?.volumeCapability?.mount], [{}, undefined]);
    csi = kubelet();
    await csi.restore();
    await register();
    driver.asked();
    await csi.unmountPod('uid-a');
    assert.deepEqual(driver.asked(), ['NodeUnpublishVolume', 'NodeUnstageVolume']);
    assert.deepEqual(readdirSync(join(devices, 'staging')), []);
    assert.deepEqual(readdirSync(join(devices, 'publish')), []);
    assert.deepEqual(readdirSync(devices).toSorted(), ['publish', 'staging']);
  });
});

describe('a volume that grew', () => {
  const grown = async (status: PersistentVolumeClaim['status']): Promise<CsiVolume> => {
    const metadata = { name: 'data', namespace: 'shop' };
    harness.api.put(persistentVolumeClaims, { metadata, spec: {}, status });
    const source = volume({ capacity: { storage: '2Gi' } }).bound!.volume;
    return persistentCsiVolume('data', source, await claim(), false);
  };
  const claim = () => harness.client.get(persistentVolumeClaims, { namespace: 'shop', name: 'data' });
  const expanding = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] as const;

  it('is expanded on the node, and its claim says so', async () => {
    await withDriver();
    driver.capabilities = expanding;
    const larger = await grown({
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
    });
    await csi.mount(pod('a'), larger);
    const { request } = driver.calls.at(-1)!;
    assert.deepEqual(request.capacityRange, { requiredBytes: 2n * 1024n ** 3n, limitBytes: 0n });
    assert.equal(request.volumePath, publishPath('uid-a'));
    assert.equal(request.stagingTargetPath, join(staging(), 'globalmount'));
    const { status } = await claim();
    assert.deepEqual(
      [status?.capacity, status?.allocatedResourceStatuses?.storage, status?.conditions],
      [{ storage: '2Gi' }, undefined, []],
    );
    assert.deepEqual(
      events,
      Array(2).fill(
        `Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv-1" ${nodeName}`,
      ),
    );
  });

  it('is marked where its driver says that it cannot be, and stays mounted', async () => {
    await withDriver();
    driver.capabilities = expanding;
    driver.fail('NodeExpandVolume', grpcCodes.outOfRange, 'too large');
    const larger = await grown({
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
    });
    assert.equal((await csi.mount(pod('a'), larger)).path, publishPath('uid-a'));
    const { status } = await claim();
    assert.equal(status?.allocatedResourceStatuses?.storage, 'NodeResizeInfeasible');
    assert.deepEqual(
      status?.conditions?.map(({ type, message }) => [type, message]),
      [['NodeResizeError', 'failed to expand pvc with rpc error: code = OutOfRange desc = too large']],
    );
    assert.deepEqual(events, [
      'Warning VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv-1" : Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = too large',
    ]);
  });

  it('grows on each node that writes it, although its claim already says so', async () => {
    await withDriver();
    driver.capabilities = expanding;
    const shared = async (size: string) => {
      const spec = { capacity: { storage: size }, accessModes: ['ReadWriteMany' as const] };
      harness.api.put(persistentVolumeClaims, {
        metadata: { name: 'data', namespace: 'shop' },
        spec: {},
        status: { capacity: { storage: size } },
      });
      return persistentCsiVolume('data', volume(spec).bound!.volume, await claim(), false);
    };
    await csi.mount(pod('a'), await shared('1Gi'));
    assert.ok(!driver.asked().includes('NodeExpandVolume'));
    const written = harness.api.writes.length;
    await csi.mount(pod('a'), await shared('2Gi'));
    await csi.mount(pod('a'), await shared('2Gi'));
    assert.deepEqual(
      driver.calls.filter(({ method }) => method === 'NodeExpandVolume').map(({ request }) => request.capacityRange),
      [{ requiredBytes: 2n * 1024n ** 3n, limitBytes: 0n }],
    );
    assert.equal(harness.api.writes.length, written, 'the claim is as it should be');
  });

  it('is left alone where the driver grows nothing on nodes and no controller waits for it', async () => {
    await withDriver();
    await csi.mount(pod('a'), await grown({ capacity: { storage: '1Gi' } }));
    assert.deepEqual(driver.asked(), ['NodeStageVolume', 'NodePublishVolume']);
    assert.deepEqual(events, []);
  });
});

describe('figures', () => {
  it('of volumes are the driver´s, and nobody waits for them', async () => {
    await withDriver();
    driver.capabilities = ['GET_VOLUME_STATS', 'VOLUME_CONDITION'];
    driver.script('NodeGetVolumeStats', async () => ({
      usage: [
        { available: 7n, total: 10n, used: 3n, unit: 'BYTES' as const },
        { available: 70n, total: 100n, used: 30n, unit: 'INODES' as const },
      ],
      volumeCondition: { abnormal: true, message: 'slow' },
    }));
    await csi.mount(pod('a'), volume());
    const bytes = { availableBytes: 7, capacityBytes: 10, usedBytes: 3 };
    const inodes = { inodesFree: 70, inodes: 100, inodesUsed: 30 };
    assert.equal(csi.volumeStats('uid-a').size, 0);
    while (csi.volumeStats('uid-a').size === 0) await settle();
    assert.deepEqual([...csi.volumeStats('uid-a')], [['data', { ...bytes, ...inodes, isAbnormal: true }]]);
    driver.script('NodeGetVolumeStats', () => new Promise(() => {}));
    await clock.advance(60_000);
    assert.equal(csi.volumeStats('uid-a').size, 1);
    await csi.unmountPod('uid-a');
    assert.equal(csi.volumeStats('uid-a').size, 0);
  });

  it('of calls are counted by driver, method and outcome', async () => {
    await withDriver();
    driver.fail('NodeStageVolume', grpcCodes.internal, 'no disk');
    await assert.rejects(csi.mount(pod('a'), volume()));
    const stage = csi.calls().find(({ labels }) => labels.method_name === '/csi.v1.Node/NodeStageVolume');
    assert.deepEqual(stage?.labels, {
      driver_name: driverName,
      method_name: '/csi.v1.Node/NodeStageVolume',
      grpc_status_code: 'Internal',
      migrated: 'false',
    });
    assert.equal(stage?.counts.count, 1);
  });
});

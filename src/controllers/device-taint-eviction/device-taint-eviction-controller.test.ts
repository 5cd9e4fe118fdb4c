import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods } from '../../api/gen/core-v1.ts';
import { type DeviceToleration, resourceClaims, resourceSlices } from '../../api/gen/resource-v1.ts';
import { type DeviceTaintRule, deviceTaintRules } from '../../api/gen/resource-v1beta2.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runDeviceTaintEvictionController } from './device-taint-eviction-controller.ts';

const driver = 'gpu.example.com';
const broken = { key: 'example.com/broken', effect: 'NoExecute' as const };

/** A Pod on a node that uses the device `gpu-0`, which is not tainted yet. */
async function start(tolerations: readonly DeviceToleration[] = []): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  const { client } = cluster;
  await client.create(resourceSlices, {
    metadata: { name: 's' },
    spec: {
      driver,
      nodeName: 'n',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0' }, { name: 'gpu-1' }],
    },
  });
  const { metadata } = await client.create(pods, {
    metadata: { namespace: 'd', name: 'user' },
    spec: { nodeName: 'n', containers: [], resourceClaims: [{ name: 'gpu', resourceClaimName: 'c' }] },
  });
  await client.create(resourceClaims, { metadata: { namespace: 'd', name: 'c' }, spec: {} });
  cluster.api.alter(resourceClaims, 'd/c', (claim) => {
    const results = [{ request: 'gpu', driver, pool: 'p', device: 'gpu-0', tolerations: [...tolerations] }];
    claim.status = {
      allocation: { devices: { results } },
      reservedFor: [{ resource: 'pods', name: 'user', uid: metadata.uid ?? '' }],
    };
  });
  cluster.run((context) => runDeviceTaintEvictionController(context, { rules: true }));
  await cluster.settle();
  return cluster;
}

/** As the driver does: in slices of a new generation, or of one that is past. */
async function taint(cluster: MemoryCluster, device = 'gpu-0', effect: 'NoExecute' | 'NoSchedule' = 'NoExecute') {
  const timeAdded = formatTime(cluster.clock.now());
  cluster.api.alter(resourceSlices, 's', ({ spec }) => {
    spec.devices = [{ name: device, taints: [{ ...broken, effect, timeAdded }] }];
  });
  await cluster.settle();
}

async function rule(cluster: MemoryCluster, spec: Partial<DeviceTaintRule['spec']> = {}): Promise<void> {
  const added = { ...broken, timeAdded: formatTime(cluster.clock.now()) };
  await cluster.client.create(deviceTaintRules, {
    metadata: { name: 'r' },
    spec: { deviceSelector: { driver }, taint: added, ...spec },
  });
  await cluster.settle();
}

const alive = (cluster: MemoryCluster) => {
  const pod = cluster.api.find(pods, 'd/user');
  return pod !== undefined && pod.metadata.deletionTimestamp === undefined;
};
const told = (cluster: MemoryCluster) => cluster.events.map(({ reason, message }) => `${reason}: ${message}`);
const condition = (cluster: MemoryCluster) => cluster.api.find(deviceTaintRules, 'r')?.status?.conditions?.[0];
const conditionPatches = (cluster: MemoryCluster) =>
  cluster.api.writes
    .filter(({ path }) => path.endsWith('/devicetaintrules/r/status'))
    .map(
      ({ body }) => (body as { status: { conditions: { reason: string; message: string }[] } }).status.conditions[0]!,
    );

test('a Pod whose device gets a NoExecute taint is deleted, and told why', async () => {
  await using cluster = await start();
  await taint(cluster);
  assert.equal(alive(cluster), false);
  assert.deepEqual(told(cluster), ['DeviceTaintManagerEviction: Marking for deletion']);
  const patch = cluster.api.writes.find(({ path }) => path.endsWith('/pods/user/status'))!;
  const [target] = (patch.body as { status: { conditions: { type: string; reason: string }[] } }).status.conditions;
  assert.deepEqual([target?.type, target?.reason], ['DisruptionTarget', 'DeletionByDeviceTaintManager']);
});

test('other devices, other effects and other Pods of the claim’s name leave it alone', async () => {
  await using cluster = await start();
  await taint(cluster, 'gpu-1');
  await taint(cluster, 'gpu-0', 'NoSchedule');
  assert.ok(alive(cluster));
  cluster.api.alter(resourceClaims, 'd/c', (claim) => {
    claim.status!.reservedFor = [{ resource: 'pods', name: 'user', uid: 'of-one-before' }];
  });
  await taint(cluster);
  assert.ok(alive(cluster));
});

test('a slice of a past generation says nothing', async () => {
  await using cluster = await start();
  await cluster.client.create(resourceSlices, {
    metadata: { name: 'newer' },
    spec: {
      driver,
      nodeName: 'n',
      pool: { name: 'p', generation: 2, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0' }],
    },
  });
  await taint(cluster);
  assert.ok(alive(cluster));
});

test('a toleration puts it off by its seconds, counted from the taint, and says so', async () => {
  await using cluster = await start([
    { key: broken.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
  ]);
  await taint(cluster);
  const [cause] = cluster.causes.all();
  assert.deepEqual([cause?.about.name, cause?.reason], ['user', 'EvictionScheduled']);
  await cluster.clock.advance(55_000);
  assert.ok(alive(cluster));
  await cluster.clock.advance(6000);
  assert.equal(alive(cluster), false);
  assert.deepEqual(cluster.causes.all(), []);
});

test('a toleration without seconds keeps it for ever; one that names no effect does not count', async () => {
  await using kept = await start([{ operator: 'Exists', effect: 'NoExecute' }]);
  await taint(kept);
  await kept.clock.advance(3_600_000);
  assert.ok(alive(kept));
  await using gone = await start([{ operator: 'Exists' }]);
  await taint(gone);
  assert.equal(alive(gone), false);
});

test('a taint that is taken off in time cancels the deletion', async () => {
  await using cluster = await start([{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }]);
  await taint(cluster);
  cluster.api.alter(resourceSlices, 's', ({ spec }) => {
    spec.devices = [{ name: 'gpu-0' }];
  });
  await cluster.clock.advance(120_000);
  assert.ok(alive(cluster));
  assert.deepEqual(told(cluster), ['DeviceTaintManagerEviction: Cancelling deletion']);
});

test('a rule drives away the users of the devices it selects, and tells how far it is', async () => {
  await using cluster = await start([{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }]);
  await rule(cluster);
  assert.deepEqual(
    [condition(cluster)?.status, condition(cluster)?.reason, condition(cluster)?.message],
    ['True', 'PodsPendingEviction', '1 pod needs to be evicted in 1 namespace.'],
  );
  await cluster.clock.advance(80_000);
  assert.equal(alive(cluster), false);
  assert.deepEqual(
    [condition(cluster)?.status, condition(cluster)?.reason, condition(cluster)?.message],
    ['False', 'Completed', '1 pod evicted since starting the controller.'],
  );
  assert.equal(conditionPatches(cluster).length, 2);
});

test('a rule without effect tells what it would do, and does nothing', async () => {
  await using cluster = await start();
  await rule(cluster, { taint: { ...broken, effect: 'None', timeAdded: formatTime(cluster.clock.now()) } });
  assert.equal(
    condition(cluster)?.message,
    '2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
  );
  assert.ok(alive(cluster));
});

test('a rule that selects nothing has not started', async () => {
  await using cluster = await start();
  await rule(cluster, { deviceSelector: { driver: 'other.example.com' } });
  assert.deepEqual([condition(cluster)?.reason, condition(cluster)?.message], ['NotStarted', '']);
  assert.ok(alive(cluster));
});

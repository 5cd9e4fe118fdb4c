/** A claim that names no class: a folder of the node that its Pod comes to, and what is told of it on the way. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../src/api/gen/core-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/index.ts';
import { withClusterClient } from '../../src/cluster/kubeconfigs/cluster-client.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { TestCluster } from './coracle.fixture.ts';

describe('storage of a cluster that came up', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
    const { status, stderr } = cluster.up();
    assert.equal(status, 0, stderr);
  });
  after(() => cluster.remove());

  const use = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
    withClusterClient({ clock: systemClock, dataDir: cluster.data, defaultDataDir: cluster.data }, work);

  test('a claim gets a volume when a Pod that uses it is scheduled, and both go with the claim', async () => {
    await use(async (client) => {
      const ref = { namespace: 'default', name: 'data' };
      const resources = { requests: { storage: '1Gi' } };
      await client.create(persistentVolumeClaims, {
        metadata: ref,
        spec: { accessModes: ['ReadWriteOnce'], resources },
      });
      // The class may be a moment later than the claim.
      await eventually(
        () => client.get(persistentVolumeClaims, ref),
        ({ spec }) => spec?.storageClassName === 'local',
      );
      const waiting = cluster.coracle('why', 'pvc/data');
      assert.equal(waiting.status, 0, waiting.stderr);
      assert.match(waiting.stdout, /^persistentvolumeclaim\/data in default is Pending\n/);
      assert.match(waiting.stdout, /class local gives volumes only once a Pod that uses the claim is scheduled/);
      const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
      const containers = [{ name: 'c', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/data' }] }];
      await client.create(pods, { metadata: { namespace: 'default', name: 'p' }, spec: { volumes, containers } });
      const claim = await eventually(
        () => client.get(persistentVolumeClaims, ref),
        ({ status }) => status?.phase === 'Bound',
      );
      const name = claim.spec!.volumeName!;
      const folder = join(cluster.data, 'volumes', name);
      assert.ok(existsSync(folder));
      assert.equal((await client.get(persistentVolumes, { name })).spec?.local?.path, folder);
      await eventually(
        () => client.get(pods, { namespace: 'default', name: 'p' }),
        ({ status }) => status?.phase === 'Running',
      );
      await client.delete(pods, { namespace: 'default', name: 'p' }, { gracePeriodSeconds: 0 });
      await client.delete(persistentVolumeClaims, ref);
      await eventually(
        async () => (await client.list(persistentVolumes)).items,
        (left) => left.length === 0,
      );
      assert.ok(!existsSync(folder));
    });
  });
});

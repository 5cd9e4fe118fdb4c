/** Of the controller managers and schedulers of three servers one each works; when it dies, another does. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Deployment, deployments, replicaSets } from '../../src/api/gen/apps-v1.ts';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import type { Client } from '../../src/client/index.ts';
import { type Etcd, startEtcd } from '../../src/storage/etcd/process.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type HostProcess, type Servers, startServers } from './servers.fixture.ts';

const namespace = 'default';
const election = [
  '--leader-elect-lease-duration=4s',
  '--leader-elect-renew-deadline=3s',
  '--leader-elect-retry-period=500ms',
];

describe('components of several hosts', needs('etcd'), () => {
  let etcd: Etcd;
  let servers: Servers;
  let client: Client;
  before(async () => {
    etcd = await startEtcd();
    servers = await startServers({ count: 2, endpoints: etcd.endpoints });
    client = servers.all[0]!.client;
  });
  after(async () => {
    await servers.stop();
    await etcd.stop();
  });

  const holderOf = async (name: string) => {
    const { spec } = await client.get(leases, { namespace: 'kube-system', name });
    return spec?.holderIdentity?.split('_')[0] ?? '';
  };
  const pair = (name: string): Promise<HostProcess[]> =>
    Promise.all(['host-a', 'host-b'].map((host) => servers.component(name, host, election)));

  for (const name of ['kube-controller-manager', 'kube-scheduler']) {
    test(`when the leading ${name} is killed, the other leads within the lease's time`, async () => {
      const both = await pair(name);
      const first = await eventually(async () => {
        const holder = await holderOf(name);
        assert.ok(holder);
        return both.find(({ hostname }) => hostname === holder)!;
      });
      const other = both.find((each) => each !== first)!;
      await first.signal('SIGKILL');
      await eventually(async () => assert.equal(await holderOf(name), other.hostname));
    });
  }

  test('the one that leads now does the work, whichever server it is told at', async () => {
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'busybox' }] } };
    const deployment: Deployment = {
      metadata: { name: 'web', namespace },
      spec: { replicas: 1, selector: { matchLabels: { app: 'a' } }, template },
    };
    await servers.all[1]!.client.create(deployments, deployment);
    await eventually(async () => assert.equal((await client.list(replicaSets, { namespace })).items.length, 1));
  });
});

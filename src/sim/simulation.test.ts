/** A whole cluster on virtual time: the same for the same seed, with real rights, and with faults that do what they are named for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments, type ReplicaSet } from '../api/gen/apps-v1.ts';
import { leases } from '../api/gen/coordination-v1.ts';
import { nodes, type Pod, pods, secrets } from '../api/gen/core-v1.ts';
import { findCondition, isConditionTrue } from '../apimachinery/conditions.ts';
import { isForbidden } from '../apimachinery/status.ts';
import { legacyIssuer, unverifiedClaims } from '../pki/token-signer.ts';
import { deployment, job } from './seeds/workload.ts';
import { type Simulation, type SimulationOptions, simulate } from './simulation.ts';

async function withWeb(options: Partial<SimulationOptions> = {}, replicas = 4): Promise<Simulation> {
  const cluster = await simulate({ seed: 1, nodes: 3, ...options });
  await cluster.client.create(deployments, deployment('web', replicas));
  await cluster.until(() => cluster.runningPods().length === replicas, { withinMs: 60_000, what: 'running pods' });
  return cluster;
}

const ready = async (cluster: Simulation, name: string) =>
  findCondition((await cluster.client.get(nodes, { name })).status?.conditions, 'Ready')?.status;

describe('a simulated cluster', () => {
  it('has the same history for the same seed, byte for byte, and another for another', async () => {
    const digestOf = async (seed: number) => {
      await using cluster = await withWeb({ seed });
      cluster.component('kube-controller-manager').crash();
      cluster.node('node-1').powerOff();
      await cluster.advance(15 * 60_000);
      assert.deepEqual(cluster.failures, []);
      return cluster.history.digest();
    };
    const first = await digestOf(7);
    assert.equal(await digestOf(7), first);
    assert.notEqual(await digestOf(8), first);
  });

  it('renews a Lease of each node every ten seconds, and posts its status every five minutes', async () => {
    await using cluster = await simulate({ seed: 1, nodes: 3 });
    await cluster.advance(60_000);
    const writes = { ...Object.fromEntries(cluster.history.writes) };
    await cluster.advance(3_600_000);
    const during = (resource: string) => (cluster.history.writes.get(resource) ?? 0) - (writes[resource] ?? 0);
    // A tenth of the period is jitter at most.
    assert.ok(during('leases') >= (3 * 360) / 1.05 && during('leases') <= 3 * 361, `${during('leases')} leases`);
    assert.ok(during('minions') >= 3 * 10 && during('minions') <= 3 * 13, `${during('minions')} statuses`);
  });

  it('fills Secrets that are to hold a token, as any cluster does', async () => {
    await using cluster = await simulate({ seed: 1, nodes: 1 });
    await cluster.advance(5000);
    const annotations = { 'kubernetes.io/service-account.name': 'default' };
    const ref = { namespace: 'default', name: 'token' };
    await cluster.client.create(secrets, {
      metadata: { ...ref, annotations },
      type: 'kubernetes.io/service-account-token',
    });
    await cluster.advance(5000);
    const { data } = await cluster.client.get(secrets, ref);
    const token = Buffer.from(data?.token ?? '', 'base64').toString();
    assert.equal(unverifiedClaims(token)?.iss, legacyIssuer);
  });

  it('grants each component its own rights and no more', async () => {
    await using cluster = await simulate({ seed: 1, nodes: 2 });
    await cluster.advance(5000);
    const refused: unknown[] = [];
    cluster.run('intruder', { name: 'system:node:node-0', groups: ['system:nodes'] }, async ({ client }) => {
      const other = await client.get(leases, { namespace: 'kube-node-lease', name: 'node-1' }).catch((error) => error);
      const own = await client.get(leases, { namespace: 'kube-node-lease', name: 'node-0' });
      refused.push(other, own);
    });
    await cluster.advance(1000);
    assert.ok(isForbidden(refused[0]), String(refused[0]));
    assert.ok(!(refused[1] instanceof Error));
  });

  it('has messages take as long as they are said to', async () => {
    await using cluster = await simulate({ seed: 1, nodes: 0, messageDelayMs: [40, 40] });
    let tookMs = 0;
    cluster.run('asker', { name: 'asker', groups: ['system:masters'] }, async ({ client, clock }) => {
      const startedMs = clock.now();
      await client.list(nodes);
      tookMs = clock.now() - startedMs;
    });
    await cluster.advance(1000);
    assert.equal(tookMs, 80);
  });

  it('runs Jobs to their end, and starts again what fails', async () => {
    const script = ({ metadata }: Pod) => (metadata.labels?.app === 'web' ? { runMs: 5000, exitCode: 1 } : {});
    await using cluster = await withWeb({ pods: script }, 1);
    await cluster.client.create((await import('../api/gen/batch-v1.ts')).jobs, job('sum', 3, 2));
    await cluster.advance(60_000);
    const { items } = await cluster.client.list(pods, { namespace: 'default' });
    const phases = items.filter(({ metadata }) => metadata.labels?.app === 'sum').map(({ status }) => status?.phase);
    assert.deepEqual(phases, ['Succeeded', 'Succeeded', 'Succeeded']);
    const [web] = items.filter(({ metadata }) => metadata.labels?.app === 'web');
    const [container] = web?.status?.containerStatuses ?? [];
    // Started at 0, 5 (at once), 20 (after 10 s) and 45 s (after 20 s).
    assert.equal(container?.restartCount, 3);
    assert.equal(container?.lastState?.terminated?.exitCode, 1);
  });
});

describe('faults', () => {
  it('a node that is cut off counts as unreachable, its Pods run on, and it is well again when it is heard', async () => {
    await using cluster = await withWeb();
    const node = cluster.node('node-0');
    const before = [...node.runs()].length;
    node.cutNetwork();
    await cluster.advance(60_000);
    assert.equal(await ready(cluster, 'node-0'), 'Unknown');
    assert.equal([...node.runs()].filter((run) => run.isRunning).length, before);
    node.mendNetwork();
    await cluster.advance(60_000);
    assert.equal(await ready(cluster, 'node-0'), 'True');
    assert.ok(await cluster.arePodsReady());
  });

  it('Pods survive the end of their kubelet, and not the end of their machine', async () => {
    await using cluster = await withWeb();
    const node = cluster.node('node-0');
    const restarts = async () => {
      const { items } = await cluster.client.list(pods, { fieldSelector: 'spec.nodeName=node-0' });
      return items.map(({ status }) => status?.containerStatuses?.[0]?.restartCount);
    };
    node.crashKubelet();
    await cluster.advance(10_000);
    assert.ok((await restarts()).every((count) => count === 0));
    node.powerOff();
    await cluster.advance(5000);
    node.powerOn();
    await cluster.advance(20_000);
    assert.ok((await restarts()).every((count) => count === 1));
    assert.ok(await cluster.arePodsReady());
  });

  it('the API server comes back with all that was written', async () => {
    await using cluster = await withWeb();
    cluster.crashApiServer(20_000);
    await cluster.advance(10_000);
    await assert.rejects(cluster.client.get(deployments, { namespace: 'default', name: 'web' }), /ECONNREFUSED/);
    await cluster.advance(60_000);
    const { status } = await cluster.client.get(deployments, { namespace: 'default', name: 'web' });
    assert.ok(isConditionTrue(status?.conditions, 'Available'));
    await cluster.client.patch(
      deployments,
      { namespace: 'default', name: 'web' },
      { type: 'merge', body: { spec: { replicas: 6 } } },
    );
    await cluster.until(() => cluster.runningPods().length === 6, { withinMs: 60_000 });
  });

  it('a lost answer is known to the server alone', async () => {
    let lost = 0;
    await using cluster = await withWeb({
      adversary: {
        call: ({ method, path }) =>
          method === 'POST' && path.endsWith('/pods') && lost++ < 1 ? 'loseAnswer' : undefined,
      },
    });
    await cluster.advance(30_000);
    assert.equal(cluster.lostAnswers.length, 1);
    assert.equal((await cluster.client.list(pods, { namespace: 'default' })).items.length, 4);
  });

  it('a rollout stays within its surge although its own ReplicaSets are seen late', async () => {
    let late = false;
    await using cluster = await withWeb({
      adversary: {
        watch: ({ path }, component) =>
          late && component === 'kube-controller-manager' && path.endsWith('/replicasets')
            ? { holdMs: 9000 }
            : undefined,
      },
    });
    let most = 0;
    cluster.history.onChange(async ({ key }) => {
      if (!key.startsWith('/registry/replicasets/')) return;
      const sets = await cluster.stored<ReplicaSet>('replicasets');
      most = Math.max(
        most,
        sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0),
      );
    });
    late = true;
    for (const version of ['2', '3', '4']) {
      const containers = [{ name: 'main', image: `example/web:${version}` }];
      const body = { spec: { template: { spec: { containers } } } };
      await cluster.client.patch(deployments, { namespace: 'default', name: 'web' }, { type: 'strategic', body });
      await cluster.advance(5000);
    }
    await cluster.advance(300_000);
    const { status } = await cluster.client.get(deployments, { namespace: 'default', name: 'web' });
    assert.equal(status?.updatedReplicas, 4);
    assert.equal(most, 5);
  });

  it('a component that dies at its own call is started again', async () => {
    let calls = 0;
    await using cluster = await simulate({
      seed: 1,
      nodes: 2,
      adversary: {
        call: ({ method }, component) =>
          component === 'kube-scheduler' && method === 'POST' && ++calls === 2 ? 'dieAfter' : undefined,
      },
    });
    await cluster.client.create(deployments, deployment('web', 4));
    await cluster.until(() => cluster.runningPods().length === 4, { withinMs: 60_000 });
    assert.equal(cluster.component('kube-scheduler').incarnations, 2);
    assert.deepEqual(cluster.failures, []);
  });
});

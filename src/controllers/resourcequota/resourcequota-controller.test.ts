import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps, pods, resourceQuotas } from '../../api/gen/core-v1.ts';
import { inScope, namesAbout, scopeTraits, usageOf } from '../../apiserver/admission/quota/usage.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runResourceQuotaController } from './resourcequota-controller.ts';

const evaluator = { usageOf, namesAbout, inScope, scopeTraits };

test('counts objects and what Pods ask for, and counts anew when they go', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runResourceQuotaController(context, { evaluator }));
  const { client } = cluster;
  const hard = { pods: '5', 'requests.cpu': '2', 'count/configmaps': '3' };
  await client.create(resourceQuotas, { metadata: { namespace: 'a', name: 'q' }, spec: { hard } });
  const container = { name: 'c', image: 'i', resources: { requests: { cpu: '300m' } } };
  for (const name of ['one', 'two'])
    await client.create(pods, { metadata: { namespace: 'a', name }, spec: { containers: [container] } });
  await client.create(pods, { metadata: { namespace: 'b', name: 'other' }, spec: { containers: [container] } });
  await client.create(configMaps, { metadata: { namespace: 'a', name: 'c' } });
  await cluster.settle();
  await cluster.clock.advance(310_000);
  const status = () => cluster.api.find(resourceQuotas, 'a/q')?.status;
  assert.deepEqual(status(), { hard, used: { pods: '2', 'requests.cpu': '600m', 'count/configmaps': '1' } });
  await client.delete(pods, { namespace: 'a', name: 'one' });
  await cluster.settle();
  assert.equal(status()?.used?.pods, '1');
  cluster.api.alter(pods, 'a/two', (pod) => {
    pod.status = { phase: 'Succeeded' };
  });
  await cluster.settle();
  assert.equal(status()?.used?.['requests.cpu'], '0');
  assert.deepEqual(cluster.complaints, []);
});

test('a quota with a scope counts what is within it', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(resourceQuotas, {
    metadata: { namespace: 'a', name: 'q' },
    spec: { hard: { pods: '5' }, scopes: ['BestEffort'] },
  });
  const asking = { name: 'c', image: 'i', resources: { requests: { cpu: '1' } } };
  await cluster.client.create(pods, { metadata: { namespace: 'a', name: 'asking' }, spec: { containers: [asking] } });
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'modest' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  cluster.run((context) => runResourceQuotaController(context, { evaluator }));
  await cluster.settle();
  assert.deepEqual(cluster.api.find(resourceQuotas, 'a/q')?.status?.used, { pods: '1' });
});

test('what admission has charged stands, though the object is not stored yet, until the limits change or all is counted anew', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runResourceQuotaController(context, { evaluator }));
  await cluster.client.create(resourceQuotas, {
    metadata: { namespace: 'a', name: 'q' },
    spec: { hard: { pods: '5' } },
  });
  await cluster.settle();
  const used = () => cluster.api.find(resourceQuotas, 'a/q')?.status?.used?.pods;
  const charge = async () => {
    cluster.api.alter(resourceQuotas, 'a/q', (quota) => {
      quota.status = { ...quota.status, used: { pods: '1' } };
    });
    await cluster.settle();
    assert.equal(used(), '1');
  };
  await charge();
  cluster.api.alter(resourceQuotas, 'a/q', (quota) => {
    quota.spec = { hard: { pods: '6' } };
  });
  await cluster.settle();
  assert.equal(used(), '0');
  await charge();
  await cluster.clock.advance(270_000);
  assert.equal(used(), '1');
  await cluster.clock.advance(40_000);
  assert.equal(used(), '0');
});

test('all is counted anew as often as it is set', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runResourceQuotaController(context, { evaluator, syncPeriodMs: 90_000 }));
  await cluster.client.create(resourceQuotas, {
    metadata: { namespace: 'a', name: 'q' },
    spec: { hard: { pods: '5' } },
  });
  await cluster.settle();
  const used = () => cluster.api.find(resourceQuotas, 'a/q')?.status?.used?.pods;
  cluster.api.alter(resourceQuotas, 'a/q', (quota) => {
    quota.status = { ...quota.status, used: { pods: '1' } };
  });
  await cluster.clock.advance(80_000);
  assert.equal(used(), '1');
  await cluster.clock.advance(20_000);
  assert.equal(used(), '0');
});

test('a Pod that comes under a deadline is counted where it is now, and no longer where it was', async () => {
  await using cluster = new MemoryCluster();
  cluster.run((context) => runResourceQuotaController(context, { evaluator }));
  for (const scope of ['Terminating', 'NotTerminating'] as const) {
    const spec = { hard: { pods: '5' }, scopes: [scope] };
    await cluster.client.create(resourceQuotas, { metadata: { namespace: 'a', name: scope.toLowerCase() }, spec });
  }
  await cluster.client.create(pods, {
    metadata: { namespace: 'a', name: 'one' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  await cluster.settle();
  await cluster.clock.advance(310_000);
  const used = () =>
    ['terminating', 'notterminating'].map((name) => cluster.api.find(resourceQuotas, `a/${name}`)?.status?.used?.pods);
  assert.deepEqual(used(), ['0', '1']);
  cluster.api.alter(pods, 'a/one', (pod) => {
    pod.spec.activeDeadlineSeconds = 60;
  });
  await cluster.settle();
  assert.deepEqual(used(), ['1', '0']);
});

test('a kind that is served no more is asked for no more, and counted again once it is back', async () => {
  await using cluster = new MemoryCluster();
  const { api, client, clock } = cluster;
  cluster.run((context) => runResourceQuotaController(context, { evaluator }));
  const hard = { 'count/configmaps': '3' };
  await client.create(resourceQuotas, { metadata: { namespace: 'a', name: 'q' }, spec: { hard } });
  await client.create(configMaps, { metadata: { namespace: 'a', name: 'one' } });
  await clock.advance(310_000);
  const used = () => api.find(resourceQuotas, 'a/q')?.status?.used?.['count/configmaps'];
  assert.equal(used(), '1');

  api.setServed(configMaps, false);
  await clock.advance(60_000);
  const asksFor = () => api.requests.filter(({ path }) => path.endsWith('/configmaps')).length;
  const asked = asksFor();
  await clock.advance(600_000);
  assert.equal(asksFor(), asked);

  api.setServed(configMaps, true);
  await clock.advance(310_000);
  await client.delete(configMaps, { namespace: 'a', name: 'one' });
  await cluster.settle();
  assert.equal(used(), '0');
});

/** Scale, binding and eviction: what they do to the object behind them, and when they refuse. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deployments } from '../../api/gen/apps-v1.ts';
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { type PodDisruptionBudget, podDisruptionBudgets } from '../../api/gen/policy-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { type OpenServer, openServerWithDefault } from '../api-server.fixture.ts';

describe('subresources', () => {
  let opened: OpenServer;
  let client: Client;
  before(async () => {
    opened = await openServerWithDefault();
    client = opened.client;
  });
  after(() => opened.close());

  const createPod = (name: string, spec: Partial<Pod['spec']> = {}) =>
    client.create(pods, {
      metadata: { name, namespace: 'default', labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'busybox' }], ...spec },
    });
  const refOf = (name: string) => ({ namespace: 'default', name });
  const raw = (method: 'GET' | 'PUT' | 'PATCH' | 'POST', path: string, body?: object, contentType?: string) =>
    client.raw({ method, path, body, contentType });

  test('a Scale shows the replicas of its workload and sets them', async () => {
    const labels = { app: 'scaled' };
    await client.create(deployments, {
      metadata: { name: 'scaled', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    });
    const path = '/apis/apps/v1/namespaces/default/deployments/scaled/scale';
    const scale = (await raw('GET', path)) as Scale;
    assert.equal(scale.spec.replicas, 2);
    assert.equal(scale.status?.selector, 'app=scaled');
    const scaled = (await raw('PUT', path, { ...scale, spec: { replicas: 5 } })) as Scale;
    assert.equal(scaled.spec.replicas, 5);
    const deployment = await client.get(deployments, refOf('scaled'));
    assert.equal(deployment.spec.replicas, 5);
    assert.equal(deployment.metadata.generation, 2);
    await assert.rejects(raw('PUT', path, { ...scale, spec: { replicas: 6 } }), { code: 409 });
    const patched = await raw('PATCH', path, { spec: { replicas: 3 } }, 'application/merge-patch+json');
    assert.equal((patched as Scale).spec.replicas, 3);
    await assert.rejects(raw('PATCH', path, { spec: { replicas: -1 } }, 'application/merge-patch+json'), { code: 422 });
  });

  test('a Binding puts a Pod on a node, once', async () => {
    await createPod('bound');
    const path = '/api/v1/namespaces/default/pods/bound/binding';
    const binding = { metadata: { name: 'bound', annotations: { a: 'b' } }, target: { kind: 'Node', name: 'node-1' } };
    await raw('POST', path, binding);
    const pod = await client.get(pods, refOf('bound'));
    assert.equal(pod.spec.nodeName, 'node-1');
    assert.equal(pod.metadata.annotations?.a, 'b');
    assert.ok(isConditionTrue(pod.status?.conditions, 'PodScheduled'));
    await assert.rejects(raw('POST', path, binding), {
      message: 'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "node-1"',
    });
  });

  test('a Binding without a target, for a gated Pod or for none is refused', async () => {
    await createPod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    const bind = (name: string, target: object) =>
      raw('POST', `/api/v1/namespaces/default/pods/${name}/binding`, { metadata: { name }, target });
    await assert.rejects(bind('gated', { name: '' }), { code: 422 });
    await assert.rejects(bind('gated', { kind: 'Pod', name: 'x' }), { code: 422 });
    await assert.rejects(bind('gated', { name: 'n' }), /pod gated has non-empty \.spec\.schedulingGates/);
    await assert.rejects(bind('missing', { name: 'n' }), isNotFound);
  });

  test('the old place of bindings leads to the same', async () => {
    await createPod('bound-by-collection');
    const body = { metadata: { name: 'bound-by-collection' }, target: { name: 'node-2' } };
    await raw('POST', '/api/v1/namespaces/default/bindings', body);
    assert.equal((await client.get(pods, refOf('bound-by-collection'))).spec.nodeName, 'node-2');
  });

  const evict = (name: string, options: object = {}) =>
    raw('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
      ...options,
    });

  const runReady = async (name: string) => {
    const pod = await createPod(name, { nodeName: 'n' });
    const conditions = [{ type: 'Ready', status: 'True' }];
    await client.updateStatus(pods, { ...pod, status: { ...pod.status, phase: 'Running', conditions } });
  };

  const budget = async (name: string, status: PodDisruptionBudget['status']) => {
    const created = await client.create(podDisruptionBudgets, {
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    });
    await client.updateStatus(podDisruptionBudgets, { ...created, status });
  };
  const counts = { expectedPods: 1, currentHealthy: 1, desiredHealthy: 1 };

  test('a Pod that no budget protects is deleted', async () => {
    await createPod('unprotected');
    await evict('unprotected');
    await assert.rejects(client.get(pods, refOf('unprotected')), isNotFound);
  });

  test('a Pod that is evicted says so while it ends', async () => {
    const pod = await createPod('telling', { nodeName: 'n' });
    const status = { ...pod.status, phase: 'Running' } as const;
    await client.updateStatus(pods, { ...pod, status });
    await evict('telling');
    const { metadata, status: after } = await client.get(pods, refOf('telling'));
    assert.ok(metadata.deletionTimestamp);
    assert.partialDeepStrictEqual(after?.conditions, [
      { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
    ]);
  });

  test('an eviction of another state of the Pod is refused before it is marked', async () => {
    const pod = await createPod('moved', { nodeName: 'n' });
    await client.updateStatus(pods, { ...pod, status: { ...pod.status, phase: 'Running' } });
    const { resourceVersion } = pod.metadata;
    await assert.rejects(evict('moved', { deleteOptions: { preconditions: { resourceVersion } } }), { code: 409 });
    const { status, metadata } = await client.get(pods, refOf('moved'));
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.ok(!isConditionTrue(status?.conditions, 'DisruptionTarget'));
  });

  test('a budget that is used up keeps its Pods', async () => {
    await runReady('protected');
    await budget('protected', { ...counts, disruptionsAllowed: 0, observedGeneration: 1 });
    await assert.rejects(
      evict('protected'),
      (error: { status: { code: number; message: string; details: { causes: object[] } } }) => {
        assert.equal(error.status.code, 429);
        assert.equal(error.status.message, "Cannot evict pod as it would violate the pod's disruption budget.");
        const message = 'The disruption budget protected needs 1 healthy pods and has 1 currently';
        assert.deepEqual(error.status.details.causes, [{ reason: 'DisruptionBudget', message }]);
        return true;
      },
    );
    await client.get(pods, refOf('protected'));
  });

  test('a budget is charged for each Pod that goes', async () => {
    await runReady('charged');
    await budget('charged', { ...counts, disruptionsAllowed: 1, observedGeneration: 1 });
    await evict('charged', { deleteOptions: { dryRun: ['All'] } });
    const before = await client.get(podDisruptionBudgets, refOf('charged'));
    assert.equal(before.status?.disruptionsAllowed, 1);
    await evict('charged', { deleteOptions: { gracePeriodSeconds: 0 } });
    const after = await client.get(podDisruptionBudgets, refOf('charged'));
    assert.equal(after.status?.disruptionsAllowed, 0);
    assert.deepEqual(Object.keys(after.status?.disruptedPods ?? {}), ['charged']);
    await assert.rejects(client.get(pods, refOf('charged')), isNotFound);
  });

  test('a budget whose controller has not looked at it yet lets nobody go', async () => {
    await runReady('unobserved');
    await budget('unobserved', { ...counts, disruptionsAllowed: 1, observedGeneration: 0 });
    await assert.rejects(evict('unobserved'), { code: 429, retryAfterSeconds: 10 });
  });

  test('two budgets for one Pod are one too many', async () => {
    await runReady('doubly');
    for (const name of ['one', 'two']) {
      await client.create(podDisruptionBudgets, {
        metadata: { name, namespace: 'default' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'doubly' } } },
      });
    }
    await assert.rejects(evict('doubly'), { code: 500 });
  });

  test('an eviction of another name is refused', async () => {
    await assert.rejects(evict('doubly', { metadata: { name: 'other' } }), { code: 400 });
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments } from '../../api/gen/apps-v1.ts';
import { type HorizontalPodAutoscalerSpec, horizontalPodAutoscalers } from '../../api/gen/autoscaling-v2.ts';
import { pods } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runHorizontalPodAutoscalerController } from './horizontal-pod-autoscaler-controller.ts';
import { noHistory, planReplicas } from './limits.ts';

/** A Deployment whose Pods ask for 100m each and use what `usage` says, by Pod name; its scale is kept here. */
class Scaled {
  readonly cluster = new MemoryCluster();
  readonly usage = new Map<string, string>();
  replicas: number;

  constructor(replicas: number) {
    this.replicas = replicas;
    const { api, clock } = this.cluster;
    const { send } = api;
    api.send = async (request) => {
      if (request.path.endsWith('/scale')) {
        if (request.method === 'PUT') this.replicas = (request.body as { spec: { replicas: number } }).spec.replicas;
        return {
          metadata: { namespace: 'a', name: 'web' },
          spec: { replicas: this.replicas },
          status: { replicas: this.replicas, selector: 'app=web' },
        };
      }
      if (request.path.includes('/apis/metrics.k8s.io/')) {
        const items = [...this.usage].map(([name, cpu]) => ({
          metadata: { name },
          timestamp: formatTime(clock.now()),
          window: '30s',
          containers: [{ name: 'c', usage: { cpu } }],
        }));
        return { metadata: {}, items };
      }
      return await send.call(api, request);
    };
  }

  async start(spec: Partial<HorizontalPodAutoscalerSpec> = {}): Promise<void> {
    const { client, api } = this.cluster;
    await client.create(deployments, {
      metadata: { namespace: 'a', name: 'web' },
      spec: { selector: {}, template: { spec: { containers: [] } } },
    });
    for (let index = 0; index < this.replicas; index++) {
      const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }];
      await client.create(pods, {
        metadata: { namespace: 'a', name: `p${index}`, labels: { app: 'web' } },
        spec: { containers },
      });
      api.alter(pods, `a/p${index}`, (pod) => {
        const lastTransitionTime = '2025-01-01T00:00:00Z';
        pod.status = {
          phase: 'Running',
          startTime: lastTransitionTime,
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
        };
      });
    }
    this.cluster.run(runHorizontalPodAutoscalerController);
    const target = { type: 'Utilization', averageUtilization: 50 };
    await client.create(horizontalPodAutoscalers, {
      metadata: { namespace: 'a', name: 'web' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 1,
        maxReplicas: 10,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
        ...spec,
      },
    });
    await this.cluster.settle();
  }

  condition(type: string): string | undefined {
    const status = this.cluster.api.find(horizontalPodAutoscalers, 'a/web')?.status;
    const found = status?.conditions?.find((one) => one.type === type);
    return found && `${found.status} ${found.reason}`;
  }
}

test('grows when Pods use more than the target, and says why', async () => {
  const scaled = new Scaled(2);
  await using cluster = scaled.cluster;
  scaled.usage.set('p0', '100m').set('p1', '80m');
  await scaled.start();
  assert.equal(scaled.replicas, 4);
  assert.deepEqual(
    cluster.events.map(({ reason, message }) => `${reason}: ${message}`),
    ['SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target'],
  );
  assert.deepEqual(
    [scaled.condition('AbleToScale'), scaled.condition('ScalingActive')],
    ['True SucceededRescale', 'True ValidMetricFound'],
  );
  const status = cluster.api.find(horizontalPodAutoscalers, 'a/web')?.status;
  assert.deepEqual(status?.currentMetrics, [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 90, averageValue: '90m' } } },
  ]);
  assert.deepEqual(cluster.complaints, []);
});

test('stays within the tolerance', async () => {
  const scaled = new Scaled(2);
  await using _ = scaled.cluster;
  scaled.usage.set('p0', '52m').set('p1', '54m');
  await scaled.start();
  assert.equal(scaled.replicas, 2);
});

test('shrinks only when it was called for during five minutes', async () => {
  const scaled = new Scaled(4);
  await using cluster = scaled.cluster;
  for (const name of ['p0', 'p1', 'p2', 'p3']) scaled.usage.set(name, '50m');
  await scaled.start();
  for (const name of scaled.usage.keys()) scaled.usage.set(name, '10m');
  await cluster.clock.advance(60_000);
  assert.deepEqual([scaled.replicas, scaled.condition('AbleToScale')], [4, 'True ScaleDownStabilized']);
  const told = () => cluster.causes.all().map(({ about, reason }) => [about.kind, about.name, reason]);
  assert.deepEqual(told(), [['HorizontalPodAutoscaler', 'web', 'ScaleDownStabilized']]);
  await cluster.clock.advance(300_000);
  assert.equal(scaled.replicas, 1);
});

test('without metrics nothing is changed, and the conditions say what is missing', async () => {
  const scaled = new Scaled(2);
  await using cluster = scaled.cluster;
  await scaled.start();
  assert.deepEqual([scaled.replicas, scaled.condition('ScalingActive')], [2, 'False FailedGetResourceMetric']);
  assert.ok(cluster.reasons().includes('FailedComputeMetricsReplicas'));
});

test('a target of size zero is switched off', async () => {
  const scaled = new Scaled(0);
  await using _ = scaled.cluster;
  await scaled.start();
  assert.equal(scaled.condition('ScalingActive'), 'False ScalingDisabled');
});

const times = { nowMs: 1_000_000, downscaleStabilizationMs: 300_000 };
const autoscaler = (spec: Partial<HorizontalPodAutoscalerSpec>) => ({
  metadata: {},
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas: 100, ...spec },
});

const limits: readonly {
  readonly name: string;
  readonly spec: Partial<HorizontalPodAutoscalerSpec>;
  readonly from: number;
  readonly to: number;
  readonly replicas: number;
  readonly reason: string;
}[] = [
  { name: 'at most double at once', spec: {}, from: 10, to: 50, replicas: 20, reason: 'ScaleUpLimit' },
  { name: 'at least four at once', spec: {}, from: 1, to: 50, replicas: 5, reason: 'ScaleUpLimit' },
  {
    name: 'never above the maximum',
    spec: { maxReplicas: 12 },
    from: 10,
    to: 50,
    replicas: 12,
    reason: 'TooManyReplicas',
  },
  { name: 'never below the minimum', spec: { minReplicas: 3 }, from: 10, to: 1, replicas: 3, reason: 'TooFewReplicas' },
  {
    name: 'no faster than a policy',
    spec: { behavior: { scaleDown: { policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }] } } },
    from: 10,
    to: 1,
    replicas: 8,
    reason: 'ScaleDownLimit',
  },
  {
    name: 'not at all when disabled',
    spec: { behavior: { scaleUp: { selectPolicy: 'Disabled' } } },
    from: 5,
    to: 9,
    replicas: 5,
    reason: 'ScaleUpLimit',
  },
];

for (const { name, spec, from, to, replicas, reason } of limits) {
  test(`scaling from ${from} to ${to}: ${name}`, () => {
    const outcome = planReplicas(autoscaler(spec), { current: from, recommended: to }, noHistory, times);
    assert.deepEqual([outcome.replicas, outcome.limited.reason], [replicas, reason]);
  });
}

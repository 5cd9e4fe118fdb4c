import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorsOf } from '../../given.fixture.ts';
import { horizontalPodAutoscalerBehaviour } from './horizontal-pod-autoscaler.ts';

const selector = { matchLabels: { 'not a key': 'not a value' } };
const scaled = (metric: object) => ({
  spec: {
    scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' },
    maxReplicas: 3,
    metrics: [
      {
        type: 'Object',
        object: {
          describedObject: { kind: 'Service', name: 'web', apiVersion: 'v1' },
          metric,
          target: { type: 'Value', value: '1' },
        },
      },
    ],
  },
});

test('a metric has a name, and any selector', () => {
  assert.deepEqual(errorsOf(horizontalPodAutoscalerBehaviour, scaled({ name: 'requests', selector })), []);
  assert.deepEqual(errorsOf(horizontalPodAutoscalerBehaviour, scaled({ selector })), [
    'spec.metrics[0].object.metric.name: Required value: must specify a metric name',
  ]);
});

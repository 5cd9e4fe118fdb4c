/** Versions of one resource: what is written in one can be read in the other, and nothing is lost on the way back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Draft, draft, type KubeObject } from '../apimachinery/meta.ts';
import { conversionTo } from './conversions.ts';
import type * as autoscalingV1 from './gen/autoscaling-v1.ts';
import * as autoscalingV2 from './gen/autoscaling-v2.ts';
import { type Event as CoreEvent, events as coreEvents } from './gen/core-v1.ts';
import { type Event, events } from './gen/events-v1.ts';
import * as resourceV1 from './gen/resource-v1.ts';
import * as resourceV1beta2 from './gen/resource-v1beta2.ts';

test('Events are the same facts under other names', () => {
  const conversion = conversionTo(coreEvents, events);
  const core: CoreEvent = {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: { kind: 'Pod', name: 'p' },
    reason: 'Started',
    message: 'it started',
    source: { component: 'kubelet' },
    firstTimestamp: '2026-01-01T00:00:00Z',
    count: 3,
    type: 'Normal',
    reportingComponent: 'kubelet',
    reportingInstance: 'node-1',
  };
  const served = conversion.fromHub(core) as Event;
  assert.equal(served.apiVersion, 'events.k8s.io/v1');
  assert.equal(served.note, 'it started');
  assert.equal(served.regarding?.name, 'p');
  assert.equal(served.deprecatedCount, 3);
  const back = conversion.toHub(draft(served) as Draft<KubeObject>) as unknown as Draft<CoreEvent>;
  delete back.eventTime;
  assert.deepEqual(back, core);
});

test('an autoscaler of version 1 keeps in annotations what it has no fields for', () => {
  const conversion = conversionTo(autoscalingV2.horizontalPodAutoscalers, {
    ...autoscalingV2.horizontalPodAutoscalers,
    version: 'v1',
  });
  const metrics: autoscalingV2.MetricSpec[] = [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '10' } } },
    {
      type: 'External',
      external: {
        metric: { name: 'queue', selector: { matchLabels: { q: 'a' } } },
        target: { type: 'Value', value: '5' },
      },
    },
    {
      type: 'ContainerResource',
      containerResource: { name: 'memory', container: 'c', target: { type: 'AverageValue', averageValue: '1Gi' } },
    },
    {
      type: 'Object',
      object: {
        describedObject: { kind: 'Ingress', name: 'i' },
        metric: { name: 'rate' },
        target: { type: 'Value', value: '7' },
      },
    },
  ];
  const hub: autoscalingV2.HorizontalPodAutoscaler = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { name: 'h', namespace: 'default', annotations: { mine: 'kept' } },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      maxReplicas: 3,
      metrics,
      behavior: { scaleUp: { stabilizationWindowSeconds: 5 } },
    },
    status: {
      currentReplicas: 1,
      desiredReplicas: 2,
      conditions: [{ type: 'AbleToScale', status: 'True' }],
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 40, averageValue: '400m' } } },
      ],
    },
  };
  const served = conversion.fromHub(hub) as autoscalingV1.HorizontalPodAutoscaler;
  assert.equal(served.spec.targetCPUUtilizationPercentage, 50);
  assert.equal(served.status?.currentCPUUtilizationPercentage, 40);
  assert.equal(served.metadata.annotations?.mine, 'kept');
  assert.deepEqual(conversion.toHub(draft(served) as Draft<KubeObject>), hub);
});

test('versions that differ in nothing else differ in their apiVersion', () => {
  const conversion = conversionTo(resourceV1.deviceClasses, resourceV1beta2.deviceClasses);
  assert.ok(conversion.identity);
  const hub = { kind: 'DeviceClass', apiVersion: 'resource.k8s.io/v1', metadata: { name: 'a' }, spec: {} };
  const served = conversion.fromHub(hub);
  assert.equal(served.apiVersion, 'resource.k8s.io/v1beta2');
  assert.equal(hub.apiVersion, 'resource.k8s.io/v1');
});

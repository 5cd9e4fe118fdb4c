import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { horizontalPodAutoscalerBehaviour } from './autoscaling/v2/horizontal-pod-autoscaler.ts';
import { leaseBehaviour } from './coordination/v1/lease.ts';
import { assertErrors, type BadInput, errorsOf, given, merged, rowOf, updateErrorsOf } from './given.fixture.ts';
import { runtimeClassBehaviour } from './node/v1/runtime-class.ts';
import { podDisruptionBudgetBehaviour } from './policy/v1/pod-disruption-budget.ts';
import { priorityClassBehaviour } from './scheduling/v1/priority-class.ts';

const born = { name: 'a', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' };

describe('a HorizontalPodAutoscaler', () => {
  const autoscaler = {
    metadata: born,
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 5 },
  };
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };

  it('keeps one replica and looks at the CPU, by default', () => {
    const { spec } = given(horizontalPodAutoscalerBehaviour, autoscaler);
    assert.equal(spec.minReplicas, 1);
    assert.deepEqual(spec.metrics, [cpu]);
  });

  it('scales at a usual speed in the direction that it does not speak of', () => {
    const { spec } = given(
      horizontalPodAutoscalerBehaviour,
      merged(autoscaler, { spec: { behavior: { scaleUp: {} } } }),
    );
    assert.deepEqual(spec.behavior, {
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: 'Max',
        policies: [
          { type: 'Pods', value: 4, periodSeconds: 15 },
          { type: 'Percent', value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
    });
  });

  const metric = (changes: object) => ({ spec: { metrics: [changes] } });
  const cases: readonly BadInput[] = [
    {
      title: 'has more at least than at most',
      changes: { spec: { minReplicas: 6 } },
      errors: ['spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
    },
    {
      title: 'has no bound',
      changes: { spec: { maxReplicas: 0 } },
      errors: [
        'spec.maxReplicas: Required value: must be set and greater than 0',
        'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
      ],
    },
    {
      title: 'scales to nothing by a metric of Pods',
      changes: { spec: { minReplicas: 0 } },
      errors: [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    },
    {
      title: 'scales a thing of no group',
      changes: { spec: { scaleTargetRef: { apiVersion: 'v1' } } },
      errors: ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
    },
    {
      title: 'has a metric without its source',
      changes: metric({ type: 'Pods', resource: cpu.resource }),
      errors: ['spec.metrics[0].pods: Required value: must populate information for the given metric source'],
    },
    {
      title: 'aims at two targets',
      changes: metric(merged(cpu, { resource: { target: { averageValue: '1' } } })),
      errors: [
        'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
      ],
    },
    {
      title: 'waits too long and moves by nothing',
      changes: {
        spec: {
          behavior: {
            scaleDown: { stabilizationWindowSeconds: 4000, policies: [{ type: 'Pods', value: 0, periodSeconds: 60 }] },
          },
        },
      },
      errors: [
        'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to 3600',
        'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
      ],
    },
  ];
  it('is good before it is made bad', () =>
    assert.deepEqual(errorsOf(horizontalPodAutoscalerBehaviour, autoscaler), []));
  for (const bad of cases) it(bad.title, () => assertErrors(horizontalPodAutoscalerBehaviour, autoscaler, bad));

  it('shows what it sees of what it wants', () => {
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
    };
    const external = {
      type: 'External',
      external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '30' } },
    };
    const current = {
      type: 'Resource',
      resource: { name: 'cpu', current: { averageUtilization: 12, averageValue: '1' } },
    };
    const changes = {
      spec: { metrics: [cpu, memory, external] },
      status: { currentReplicas: 2, desiredReplicas: 2, currentMetrics: [current] },
    };
    assert.deepEqual(rowOf(horizontalPodAutoscalerBehaviour, merged(autoscaler, changes)), {
      Name: 'a',
      Reference: 'Deployment/web',
      Targets: 'cpu: 12%/80%, memory: <unknown>/1Gi + 1 more...',
      MinPods: '1',
      MaxPods: 5,
      Replicas: 2,
      Age: '60s',
    });
  });
});

describe('a PodDisruptionBudget', () => {
  it('says what must be there or what may be missing, not both', () => {
    const [error = '', ...more] = errorsOf(podDisruptionBudgetBehaviour, {
      spec: { minAvailable: 1, maxUnavailable: '120%' },
    });
    assert.match(error, /^spec: Invalid value: .*: minAvailable and maxUnavailable cannot be both set$/);
    assert.deepEqual(more, ['spec.maxUnavailable: Invalid value: "120%": must not be greater than 100%']);
  });

  it('shows what may be disrupted now', () => {
    const row = rowOf(podDisruptionBudgetBehaviour, {
      metadata: born,
      spec: { minAvailable: '50%' },
      status: { disruptionsAllowed: 2 },
    });
    assert.deepEqual(row, {
      Name: 'a',
      'Min Available': '50%',
      'Max Unavailable': 'N/A',
      'Allowed Disruptions': 2,
      Age: '60s',
    });
  });
});

describe('a PriorityClass', () => {
  it('preempts others, by default', () => {
    assert.equal(given(priorityClassBehaviour, { value: 5 }).preemptionPolicy, 'PreemptLowerPriority');
  });

  it('keeps its value, which users may not choose too high', () => {
    assert.deepEqual(updateErrorsOf(priorityClassBehaviour, { value: 5 }, { value: 6 }), [
      'value: Forbidden: may not be changed in an update.',
    ]);
    assert.deepEqual(errorsOf(priorityClassBehaviour, { value: 2_000_000_000 }), [
      'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
    ]);
  });
});

describe('a Lease', () => {
  it('lasts for some time', () => {
    assert.deepEqual(errorsOf(leaseBehaviour, { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }), [
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ]);
  });

  it('shows its holder', () => {
    const row = rowOf(leaseBehaviour, { metadata: born, spec: { holderIdentity: 'n1' } });
    assert.deepEqual(row, { Name: 'a', Holder: 'n1', Age: '60s' });
  });
});

describe('a RuntimeClass', () => {
  it('keeps its handler', () => {
    assert.deepEqual(updateErrorsOf(runtimeClassBehaviour, { handler: 'runc' }, { handler: 'kata' }), [
      'handler: Invalid value: "kata": field is immutable',
    ]);
    assert.deepEqual(errorsOf(runtimeClassBehaviour, {}), ['handler: Required value']);
  });
});

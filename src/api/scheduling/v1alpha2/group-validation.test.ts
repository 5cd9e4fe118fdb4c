import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { created, errorsOf, updated, updateErrorsOf } from '../../given.fixture.ts';
import { podGroupBehaviour } from './pod-group.ts';
import { workloadBehaviour } from './workload.ts';

const gang = (minCount: number) => ({ schedulingPolicy: { gang: { minCount } } });

describe('a PodGroup', () => {
  const policyAt = 'spec.schedulingPolicy';
  const cases: readonly { what: string; spec: object; errors: readonly string[] }[] = [
    { what: 'of so many Pods at once', spec: gang(2), errors: [] },
    { what: 'of Pods one by one', spec: { schedulingPolicy: { basic: {} } }, errors: [] },
    {
      what: 'without a policy',
      spec: {},
      errors: [`${policyAt}: Invalid value: "": must specify one of: basic, gang`],
    },
    {
      what: 'of both policies, and of no Pods',
      spec: { schedulingPolicy: { basic: {}, gang: { minCount: 0 } } },
      errors: [
        `${policyAt}: Invalid value: "{basic, gang}": must specify exactly one of: basic, gang`,
        `${policyAt}.gang.minCount: Required value`,
      ],
    },
    {
      what: 'of less than no Pods, from a template without names',
      spec: { ...gang(-1), podGroupTemplateRef: { workload: {} } },
      errors: [
        'spec.podGroupTemplateRef.workload.workloadName: Required value',
        'spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value',
        `${policyAt}.gang.minCount: Invalid value: -1: must be greater than or equal to 1`,
      ],
    },
    {
      what: 'with parts whose gates are off, which reach validation only from storage',
      spec: {
        ...gang(1),
        podGroupTemplateRef: {},
        schedulingConstraints: {},
        disruptionMode: 'Pod',
        priorityClassName: 'high',
        priority: 0,
      },
      errors: [
        'spec.podGroupTemplateRef: Invalid value: "": must specify one of: workload',
        'spec.schedulingConstraints: Forbidden: ',
        'spec.disruptionMode: Forbidden: ',
        'spec.priorityClassName: Forbidden: ',
        'spec.priority: Forbidden: ',
      ].map((text) => text.replace(/: $/, '')),
    },
    {
      what: 'with claims that name nothing, or two things, or the same twice',
      spec: {
        ...gang(1),
        resourceClaims: [{ name: 'a' }, { name: 'a', resourceClaimName: 'B', resourceClaimTemplateName: 't' }],
      },
      errors: [
        'spec.resourceClaims[1]: Duplicate value: {"name":"a","resourceClaimName":"B","resourceClaimTemplateName":"t"}',
        'spec.resourceClaims[0]: Invalid value: "": must specify one of: resourceClaimName, resourceClaimTemplateName',
        'spec.resourceClaims[1]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must specify exactly one of: resourceClaimName, resourceClaimTemplateName',
        'spec.resourceClaims[1].resourceClaimName: Invalid value: "B"',
      ],
    },
  ];
  for (const { what, spec, errors } of cases) {
    it(what, () => {
      const found = errorsOf(podGroupBehaviour, { spec }).map((error) => error.replace(/: a lowercase RFC 1123.*/, ''));
      assert.deepEqual(found, errors);
    });
  }

  it('keeps what it was made of, and says so of each part', () => {
    const spec = { ...gang(1), priorityClassName: 'high' };
    assert.deepEqual(updateErrorsOf(podGroupBehaviour, { spec }, { spec }), []);
    assert.deepEqual(
      updateErrorsOf(podGroupBehaviour, { spec }, { spec: { ...gang(0), resourceClaims: [{ name: 'a' }] } }),
      [
        'spec.schedulingPolicy: Invalid value: null: field is immutable',
        'spec.resourceClaims: Invalid value: null: field is immutable',
      ],
    );
  });

  it('is told of claims that it has', () => {
    const spec = { ...gang(1), resourceClaims: [{ name: 'a', resourceClaimName: 'c' }] };
    const status = { resourceClaimStatuses: [{ name: 'b', resourceClaimName: 'C' }], conditions: [{ type: 'Ready' }] };
    const errors = updateErrorsOf(podGroupBehaviour, { spec }, { spec, status }, 'status');
    assert.deepEqual(
      errors
        .filter((error) => error.startsWith('status.resource'))
        .map((error) => error.split(':').slice(0, 3).join(':')),
      [
        'status.resourceClaimStatuses[0].name: Invalid value: "b"',
        'status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "C"',
      ],
    );
    assert.ok(errors.includes('status.conditions[0].reason: Required value: must be set'));
    const without = { spec: gang(1), status };
    assert.equal(updated(podGroupBehaviour, without, without, 'status').status?.resourceClaimStatuses, undefined);
  });
});

describe('a Workload', () => {
  it('has templates, each with a name and a policy', () => {
    assert.deepEqual(errorsOf(workloadBehaviour, { spec: {} }), ['spec.podGroupTemplates: Required value']);
    const podGroupTemplates = [{ name: 'a', ...gang(1) }, { name: 'a', ...gang(0) }, { schedulingPolicy: {} }];
    const controllerRef = { kind: 'a/b', name: '', apiGroup: 'Batch' };
    const found = errorsOf(workloadBehaviour, { spec: { podGroupTemplates, controllerRef } });
    assert.deepEqual(
      found.map((error) => error.replace(/: a lowercase RFC 1123.*/, '')),
      [
        'spec.controllerRef.apiGroup: Invalid value: "Batch"',
        `spec.controllerRef.kind: Invalid value: "a/b": may not contain '/'`,
        'spec.controllerRef.name: Required value',
        'spec.podGroupTemplates[1]: Duplicate value: {"name":"a","schedulingPolicy":{"gang":{"minCount":0}}}',
        'spec.podGroupTemplates[1].schedulingPolicy.gang.minCount: Required value',
        'spec.podGroupTemplates[2].name: Required value',
        'spec.podGroupTemplates[2].schedulingPolicy: Invalid value: "": must specify one of: basic, gang',
      ],
    );
    const many = Array.from({ length: 9 }, (_, index) => ({ name: `t${index}`, ...gang(1) }));
    assert.deepEqual(errorsOf(workloadBehaviour, { spec: { podGroupTemplates: many } }), [
      'spec.podGroupTemplates: Too many: 9: must have at most 8 items',
    ]);
  });

  it('never changes', () => {
    const spec = { podGroupTemplates: [{ name: 'a', ...gang(1) }] };
    assert.deepEqual(updateErrorsOf(workloadBehaviour, { spec }, { spec }), []);
    const next = { podGroupTemplates: [], controllerRef: { kind: 'Job', name: 'a' } };
    assert.deepEqual(updateErrorsOf(workloadBehaviour, { spec }, { spec: next }), [
      'spec.controllerRef: Invalid value: null: field is immutable',
      'spec.podGroupTemplates: Invalid value: null: field is immutable',
    ]);
  });

  it('loses what is behind gates before it is judged', () => {
    const written = { spec: { podGroupTemplates: [{ name: 'a', ...gang(1), priority: 5 }] } };
    assert.equal(created(workloadBehaviour, written).spec.podGroupTemplates?.[0]?.priority, undefined);
  });
});

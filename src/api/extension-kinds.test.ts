import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mutatingAdmissionPolicyBehaviour } from './admissionregistration/v1/mutating-admission-policy.ts';
import { mutatingWebhookConfigurationBehaviour } from './admissionregistration/v1/mutating-webhook-configuration.ts';
import { validatingAdmissionPolicyBehaviour } from './admissionregistration/v1/validating-admission-policy.ts';
import { validatingAdmissionPolicyBindingBehaviour } from './admissionregistration/v1/validating-admission-policy-binding.ts';
import { validatingWebhookConfigurationBehaviour } from './admissionregistration/v1/validating-webhook-configuration.ts';
import { customResourceDefinitionBehaviour } from './apiextensions/v1/custom-resource-definition.ts';
import { apiServiceBehaviour } from './apiregistration/v1/api-service.ts';
import { storageVersionBehaviour } from './apiserverinternal/v1alpha1/storage-version.ts';
import { flowSchemaBehaviour } from './flowcontrol/v1/flow-schema.ts';
import { priorityLevelConfigurationBehaviour } from './flowcontrol/v1/priority-level-configuration.ts';
import {
  assertErrors,
  type BadInput,
  created,
  errorsOf,
  given,
  merged,
  now,
  rowOf,
  updated,
  updateErrorsOf,
} from './given.fixture.ts';
import { resourceClaimBehaviour } from './resource/v1/resource-claim.ts';
import { resourceSliceBehaviour } from './resource/v1/resource-slice.ts';
import { deviceTaintRuleBehaviour } from './resource/v1alpha3/device-taint-rule.ts';
import { resourcePoolStatusRequestBehaviour } from './resource/v1alpha3/resource-pool-status-request.ts';
import { podGroupBehaviour } from './scheduling/v1alpha2/pod-group.ts';
import { storageVersionMigrationBehaviour } from './storagemigration/v1beta1/storage-version-migration.ts';

const born = { name: 'a', creationTimestamp: '2025-12-31T23:59:00Z' };

describe('a webhook', () => {
  const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
  const webhook = {
    name: 'hook.example.com',
    clientConfig: { service: { namespace: 'default', name: 'hook' } },
    rules: [rule],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const configuration = { metadata: { ...born, generation: 1 }, webhooks: [webhook] };
  const withWebhook = (changes: object) => ({ webhooks: [merged(webhook, changes)] });

  it('is waited for and obeyed, by default', () => {
    const { webhooks } = given(mutatingWebhookConfigurationBehaviour, configuration);
    assert.deepEqual(webhooks?.[0], {
      ...webhook,
      clientConfig: { service: { namespace: 'default', name: 'hook', port: 443 } },
      rules: [{ ...rule, scope: '*' }],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      reinvocationPolicy: 'Never',
    });
  });

  const cases: readonly BadInput[] = [
    {
      title: 'has a short name',
      changes: withWebhook({ name: 'hook' }),
      errors: [
        'webhooks[0].name: Invalid value: "hook": should be a domain with at least three segments separated by dots',
      ],
    },
    {
      title: 'has effects that nobody knows',
      changes: withWebhook({ sideEffects: 'Some' }),
      errors: ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
    },
    {
      title: 'is called over plain HTTP',
      changes: withWebhook({ clientConfig: { url: 'http://example.com/#x', service: null } }),
      errors: [
        `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
        'webhooks[0].clientConfig.url: Invalid value: "x": fragments are not permitted in the URL',
      ],
    },
    {
      title: 'is called in two places',
      changes: withWebhook({ clientConfig: { url: 'https://example.com' } }),
      errors: ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    },
    {
      title: 'has time without end',
      changes: withWebhook({ timeoutSeconds: 31 }),
      errors: ['webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds'],
    },
    {
      title: 'matches everything and something',
      changes: withWebhook({ rules: [{ ...rule, operations: ['*', 'CREATE'], resources: ['*/*', 'pods'] }] }),
      errors: [
        `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
        `webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`,
      ],
    },
    {
      title: 'speaks no language of ours',
      changes: withWebhook({ admissionReviewVersions: ['v9'] }),
      errors: ['webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1'],
    },
  ];
  for (const bad of cases)
    it(bad.title, () => assertErrors(validatingWebhookConfigurationBehaviour, configuration, bad));

  it('that is there already may keep its effects', () => {
    const stored = given(
      validatingWebhookConfigurationBehaviour,
      merged(configuration, withWebhook({ sideEffects: 'Some' })),
    );
    assert.deepEqual(validatingWebhookConfigurationBehaviour.validateUpdate?.(stored, stored), []);
  });

  it('counts as a generation when it changes, but labels do not', () => {
    const change = (changes: object) =>
      updated(validatingWebhookConfigurationBehaviour, configuration, merged(configuration, changes)).metadata
        .generation;
    assert.equal(change({ metadata: { labels: { a: 'b' } } }), 1);
    assert.equal(change(withWebhook({ timeoutSeconds: 5 })), 2);
  });

  it('is counted in its row', () => {
    assert.deepEqual(rowOf(validatingWebhookConfigurationBehaviour, configuration), {
      Name: 'a',
      Webhooks: 1,
      Age: '60s',
    });
  });
});

describe('an admission policy', () => {
  const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
  const policy = {
    metadata: born,
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] },
  };

  it('fails closed, by default', () => {
    const { spec } = given(validatingAdmissionPolicyBehaviour, policy);
    assert.equal(spec.failurePolicy, 'Fail');
    assert.deepEqual(spec.matchConstraints, {
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      resourceRules: [{ ...rule, scope: '*' }],
    });
    assert.deepEqual(errorsOf(validatingAdmissionPolicyBehaviour, policy), []);
  });

  it('demands something', () => {
    assert.deepEqual(errorsOf(validatingAdmissionPolicyBehaviour, { spec: {} }), [
      'spec.matchConstraints: Required value',
      'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
      'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
    ]);
  });

  it('that changes objects does not change deletions', () => {
    const resourceRules = [{ ...rule, operations: ['DELETE'] }];
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/x"}]' } }];
    const spec = { matchConstraints: { resourceRules }, mutations, reinvocationPolicy: 'Never' };
    assert.deepEqual(errorsOf(mutatingAdmissionPolicyBehaviour, { spec }), [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ]);
  });

  it('is bound with consequences', () => {
    const spec = {
      policyName: 'a',
      validationActions: ['Deny', 'Warn'],
      paramRef: { name: 'x', parameterNotFoundAction: 'Deny' },
    };
    const [error = ''] = errorsOf(validatingAdmissionPolicyBindingBehaviour, { spec });
    assert.match(
      error,
      /^spec.validationActions: Invalid value: \["Deny","Warn"\]: must not contain both Deny and Warn/,
    );
    assert.equal(rowOf(validatingAdmissionPolicyBindingBehaviour, { spec }).ParamRef, '*/x');
  });

  it('is warned of expressions that it has', () => {
    const warnings = [{ fieldRef: 'spec.validations[0].expression', warning: 'w' }, { fieldRef: '{' }];
    const status = { typeChecking: { expressionWarnings: warnings }, conditions: [{ type: 'A' }] };
    const errors = updateErrorsOf(validatingAdmissionPolicyBehaviour, {}, { status }, 'status');
    const at = 'status.typeChecking.expressionWarnings[1]';
    assert.equal(errors[0], `${at}.warning: Required value`);
    assert.match(errors[1]!, /fieldRef: Invalid value: "\{": invalid JSONPath: /);
    assert.ok(errors.includes('status.conditions[0].reason: Required value: must be set'));
  });
});

describe('flow control', () => {
  const schema = (name: string, matchingPrecedence: number) => ({
    metadata: { ...born, name },
    spec: { matchingPrecedence, priorityLevelConfiguration: { name: 'low' } },
  });

  it('orders schemas by what is looked at first', () => {
    const rows = [schema('b', 5), schema('a', 5), schema('z', 1)].map((one) => given(flowSchemaBehaviour, one));
    const names = rows.toSorted((a, b) => flowSchemaBehaviour.compareRows!(a, b)).map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ['z', 'a', 'b']);
  });

  it('looks at a schema among the last, by default', () => {
    assert.equal(given(flowSchemaBehaviour, schema('a', 0)).spec?.matchingPrecedence, 1000);
  });

  it('keeps the first place for what is exempt', () => {
    assert.deepEqual(errorsOf(flowSchemaBehaviour, schema('a', 1)), [
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    ]);
    const [error, ...others] = errorsOf(flowSchemaBehaviour, schema('exempt', 1));
    assert.match(error ?? '', /^spec: Invalid value: .*: spec of 'exempt' must equal the fixed value$/);
    assert.deepEqual(others, []);
  });

  it('deals requests onto queues', () => {
    const level = { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } };
    const { spec } = given(priorityLevelConfigurationBehaviour, level);
    assert.deepEqual(spec?.limited, {
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    });
    assert.deepEqual(errorsOf(priorityLevelConfigurationBehaviour, level), []);
    const wide = merged(level, { spec: { limited: { limitResponse: { queuing: { queues: 1000, handSize: 10 } } } } });
    assert.deepEqual(errorsOf(priorityLevelConfigurationBehaviour, wide), [
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 10: required entropy bits of deckSize 1000 and handSize 10 should not be greater than 60',
    ]);
  });

  it('keeps out what only v1beta3 could not say', () => {
    const annotations = { 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares': '' };
    const written = {
      metadata: { name: 'a', annotations },
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    };
    assert.deepEqual(errorsOf(priorityLevelConfigurationBehaviour, written), [
      "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
    ]);
  });
});

describe('an APIService', () => {
  const local = {
    metadata: { ...born, name: 'v1.apps' },
    spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 },
  };

  it('of this server is always available', () => {
    assert.deepEqual(created(apiServiceBehaviour, local).status?.conditions, [
      {
        type: 'Available',
        status: 'True',
        lastTransitionTime: now,
        reason: 'Local',
        message: 'Local APIServices are always available',
      },
    ]);
    assert.equal(rowOf(apiServiceBehaviour, local).Service, 'Local');
    assert.equal(rowOf(apiServiceBehaviour, local).Available, 'Unknown');
  });

  it('is named by what it serves', () => {
    assert.deepEqual(errorsOf(apiServiceBehaviour, merged(local, { metadata: { name: 'v2.apps' } })), [
      'metadata.name: Invalid value: "v2.apps": must be `spec.version+"."+spec.group`: "v1.apps"',
    ]);
  });

  it('is told each rule that its group and version break', () => {
    const [group, version] = [`-${'a'.repeat(253)}`, `1${'v'.repeat(63)}`];
    const changes = { metadata: { name: `${version}.${group}` }, spec: { group, version } };
    const errors = errorsOf(apiServiceBehaviour, merged(local, changes));
    assert.equal(errors.length, 4);
    const [groupError, versionError] = ['spec.group: Invalid value: "-a', 'spec.version: Invalid value: "1v'];
    assert.deepEqual(
      [groupError, groupError, versionError, versionError].map((start, index) => errors[index]?.startsWith(start)),
      [true, true, true, true],
    );
    assert.match(errors[0]!, /: must be no more than 253 characters$/);
    assert.match(errors[2]!, /: must be no more than 63 characters$/);
  });

  it('is there, is not, or may be', () => {
    const conditions = [
      { type: 'Available', status: 'Unknown' },
      { type: 'Ready', status: 'Perhaps' },
    ];
    assert.deepEqual(updateErrorsOf(apiServiceBehaviour, local, { ...local, status: { conditions } }, 'status'), [
      'status.conditions[1].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"',
    ]);
  });

  it('of another server says why it is not there', () => {
    const changes = {
      spec: { service: { namespace: 'kube-system', name: 'metrics' } },
      status: { conditions: [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }] },
    };
    const row = rowOf(apiServiceBehaviour, merged(local, changes));
    assert.equal(row.Service, 'kube-system/metrics');
    assert.equal(row.Available, 'False (MissingEndpoints)');
  });
});

describe('a CustomResourceDefinition', () => {
  const definition = {
    metadata: { ...born, name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };

  it('derives names that are not said, and converts nothing', () => {
    const { spec } = given(customResourceDefinitionBehaviour, definition);
    assert.deepEqual(spec.names, { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' });
    assert.deepEqual(spec.conversion, { strategy: 'None' });
    assert.deepEqual(errorsOf(customResourceDefinitionBehaviour, definition), []);
  });

  it('remembers all versions that were ever stored', () => {
    const stored = created(customResourceDefinitionBehaviour, definition);
    assert.deepEqual(stored.status?.storedVersions, ['v1']);
    const version = definition.spec.versions[0]!;
    const versions = [
      { ...version, storage: false },
      { ...version, name: 'v2' },
    ];
    const next = updated(customResourceDefinitionBehaviour, stored, merged(stored, { spec: { versions } }));
    assert.deepEqual(next.status?.storedVersions, ['v1', 'v2']);
  });

  it('is named by plural and group, and stores one version', () => {
    const versions = [{ ...definition.spec.versions[0]!, storage: false }];
    const [name = '', storage = ''] = errorsOf(
      customResourceDefinitionBehaviour,
      merged(definition, { metadata: { name: 'x' }, spec: { versions } }),
    );
    assert.equal(name, 'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group');
    assert.match(storage, /must have exactly one version marked as storage version$/);
  });
});

describe('devices', () => {
  it('are claimed one at a time, by default', () => {
    const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpu', tolerations: [{ key: 'a' }] } }];
    const claim = given(resourceClaimBehaviour, { spec: { devices: { requests } } });
    assert.deepEqual(claim.spec.devices?.requests?.[0]?.exactly, {
      deviceClassName: 'gpu',
      allocationMode: 'ExactCount',
      count: 1,
      tolerations: [{ key: 'a', operator: 'Equal' }],
    });
  });

  it('of a claim that has them no longer are forgotten', () => {
    const device = { driver: 'd', pool: 'p', device: 'x' };
    const allocation = { devices: { results: [{ request: 'gpu', ...device }] } };
    const devices = [device, { ...device, device: 'y' }];
    const held = updated(resourceClaimBehaviour, {}, { status: { allocation, devices } }, 'status');
    assert.deepEqual(held.status?.devices, [device]);
    const released = updated(resourceClaimBehaviour, {}, { status: { devices } }, 'status');
    assert.equal(released.status?.devices, undefined);
  });

  it('of a claim are shown by its state', () => {
    const status = { allocation: {}, reservedFor: [{ resource: 'pods', name: 'a', uid: '1' }] };
    assert.equal(rowOf(resourceClaimBehaviour, { metadata: born }).State, 'pending');
    assert.equal(rowOf(resourceClaimBehaviour, { metadata: born, status }).State, 'allocated,reserved');
  });

  it('are tainted from the moment that somebody says so', () => {
    const taint = { key: 'a', effect: 'NoSchedule' };
    const rule = created(deviceTaintRuleBehaviour, { spec: { taint } });
    assert.equal(rule.spec.taint.timeAdded, now);
    const slice = created(resourceSliceBehaviour, { spec: { devices: [{ name: 'x', taints: [taint] }] } });
    assert.equal(slice.spec.devices?.[0]?.taints?.[0]?.timeAdded, now);
  });

  it('of a pool are counted once the answer is there', () => {
    const request = { metadata: born, spec: { driver: 'd' } };
    assert.equal(rowOf(resourcePoolStatusRequestBehaviour, request).Total, '-');
    const status = {
      poolCount: 2,
      pools: [{ driver: 'd', poolName: 'p', generation: 1, totalDevices: 4, allocatedDevices: 1 }],
      conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: '2025-12-31T23:59:30Z' }],
    };
    const row = rowOf(resourcePoolStatusRequestBehaviour, { ...request, status });
    assert.deepEqual(
      [row.Total, row.Allocated, row.Pools, row.Status, row.Completed],
      ['4', '1', 2, 'Complete (1/2 pools)', '30s'],
    );
  });
});

describe('kinds of early versions', () => {
  it('a PodGroup loses what is not enabled', () => {
    const group = created(podGroupBehaviour, {
      spec: { schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: 'Pod' },
    });
    assert.equal(group.spec.disruptionMode, undefined);
    assert.equal(rowOf(podGroupBehaviour, group).Policy, 'Gang');
    assert.equal(rowOf(podGroupBehaviour, group).Status, 'Pending');
  });

  it('a StorageVersionMigration shows what it migrates, and how far it is', () => {
    const migration = {
      metadata: born,
      spec: { resource: { group: 'apps', resource: 'deployments' } },
      status: { conditions: [{ type: 'Running', status: 'True' }] },
    };
    assert.deepEqual(rowOf(storageVersionMigrationBehaviour, migration), {
      Name: 'a',
      Resource: 'deployments.apps',
      Status: 'Running',
    });
  });

  it('a StorageVersion shows what each server writes', () => {
    const storageVersions = ['a', 'b', 'c', 'd'].map((apiServerID) => ({
      apiServerID,
      encodingVersion: 'v1',
      decodableVersions: [],
    }));
    const row = rowOf(storageVersionBehaviour, { metadata: born, status: { storageVersions } });
    assert.equal(row.StorageVersions, 'a=v1,b=v1,c=v1 + 1 more...');
    assert.equal(row.CommonEncodingVersion, '<unset>');
  });
});

/** Admission policies: their objects, and what they refuse and change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type MatchResources,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../src/api/gen/admissionregistration-v1.ts';
import { type Deployment, deployments } from '../../src/api/gen/apps-v1.ts';
import { isInvalid } from '../../src/client/index.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { startCluster } from './cluster.ts';
import { assertDiscovered, assertOperations } from './operations.ts';

const cluster = await startCluster({ controllers: [], scheduler: false });
const { client } = cluster;

const namespaceOf = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });
const deploymentWrites = (namespace: string): MatchResources => ({
  resourceRules: [
    { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
  ],
  namespaceSelector: namespaceOf(namespace),
});

function deployment(namespace: string, name: string, replicas: number): Deployment {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
  return { metadata: { name, namespace }, spec: { replicas, selector: { matchLabels: labels }, template } };
}

test('[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should validate against a Deployment [Conformance]', async () => {
  const namespace = await cluster.namespace();
  const name = `replicas-${namespace}`;
  const validations = [
    {
      expression: 'object.spec.replicas > 1',
      messageExpression: "'wants more replicas, has ' + string(object.spec.replicas)",
    },
    { expression: 'namespaceObject.metadata.name == object.metadata.namespace', message: 'Internal error!' },
  ];
  const matchConstraints = deploymentWrites(namespace);
  await client.create(validatingAdmissionPolicies, { metadata: { name }, spec: { matchConstraints, validations } });
  await client.create(validatingAdmissionPolicyBindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const refused = await untilRefused(() =>
    client.create(deployments, deployment(namespace, 'one', 1), { dryRun: true }),
  );
  assert.ok(isInvalid(refused));
  assert.match((refused as Error).message, /denied request: wants more replicas, has 1$/);
  const made = await client.create(deployments, deployment(namespace, 'two', 2));
  assert.equal(made.spec?.replicas, 2);
});

test('[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should allow expressions to refer variables. [Conformance]', async () => {
  const namespace = await cluster.namespace();
  const name = `variables-${namespace}`;
  const matchConstraints = deploymentWrites(namespace);
  const variables = [
    { name: 'replicas', expression: 'object.spec.replicas' },
    { name: 'oddReplicas', expression: 'variables.replicas % 2 == 1' },
  ];
  const validations = [
    { expression: 'variables.replicas > 1' },
    { expression: 'variables.oddReplicas', message: 'an odd number, please' },
  ];
  const spec = { matchConstraints, variables, validations };
  await client.create(validatingAdmissionPolicies, { metadata: { name }, spec });
  await client.create(validatingAdmissionPolicyBindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const one = await untilRefused(() => client.create(deployments, deployment(namespace, 'one', 1), { dryRun: true }));
  assert.match(one.message, /denied request: failed expression: variables\.replicas > 1$/);
  const two = await untilRefused(() => client.create(deployments, deployment(namespace, 'two', 2)));
  assert.match(two.message, /denied request: an odd number, please$/);
  await client.create(deployments, deployment(namespace, 'three', 3));
});

test('[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should mutate a Deployment [Conformance]', async () => {
  const namespace = await cluster.namespace();
  await mutating(namespace, 'Object{spec: Object.spec{replicas: object.spec.replicas * 2}}');
  await eventually(async () => {
    const tried = await client.create(deployments, deployment(namespace, 'web', 3), { dryRun: true });
    return tried.spec?.replicas === 6;
  });
  const made = await client.create(deployments, deployment(namespace, 'web', 2));
  assert.equal(made.spec?.replicas, 4);
});

test('[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should mutate a Deployment with annotations [Conformance]', async () => {
  const namespace = await cluster.namespace();
  const annotations = 'Object.metadata{annotations: {"my-annotation": "my-value", "of": object.metadata.name}}';
  await mutating(namespace, `Object{metadata: ${annotations}}`);
  const before = { ...deployment(namespace, 'web', 1) };
  const annotated = { ...before, metadata: { ...before.metadata, annotations: { own: 'kept' } } };
  const wanted = { own: 'kept', 'my-annotation': 'my-value', of: 'web' };
  await eventually(async () => {
    const tried = await client.create(deployments, annotated, { dryRun: true });
    return tried.metadata.annotations?.of === 'web';
  });
  const made = await client.create(deployments, annotated);
  assert.deepEqual(made.metadata.annotations, wanted);
});

async function mutating(namespace: string, expression: string): Promise<void> {
  const name = `mutating-${namespace}`;
  await client.create(mutatingAdmissionPolicies, {
    metadata: { name },
    spec: {
      matchConstraints: deploymentWrites(namespace),
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
  });
  await client.create(mutatingAdmissionPolicyBindings, { metadata: { name }, spec: { policyName: name } });
}

/** A policy is in force some time after it was bound; nothing but a request that it concerns can tell. */
function untilRefused(attempt: () => Promise<unknown>): Promise<Error> {
  return eventually(() =>
    attempt().then(
      () => false as const,
      (error: Error) => error,
    ),
  );
}

const labels = { of: 'operations' };
const named = (name: string) => ({ name, labels });
const nobody: MatchResources = { ...deploymentWrites('nobody') };

test('[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should support ValidatingAdmissionPolicy API operations [Conformance]', async () => {
  await assertDiscovered(client, validatingAdmissionPolicies, ['status']);
  const spec = { matchConstraints: nobody, validations: [{ expression: 'true' }] };
  await assertOperations(client, validatingAdmissionPolicies, {
    objects: ['a', 'b', 'c'].map((name) => ({ metadata: named(`operations-${name}`), spec })),
    labelSelector: 'of=operations',
    async meanwhile({ metadata }) {
      const condition = { type: 'Tried', status: 'True', reason: 'E2E', message: 'm' } as const;
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      const patch = { type: 'merge', body: { status: { conditions } } } as const;
      const at = { name: metadata.name! };
      const patched = await client.patch(validatingAdmissionPolicies, at, patch, { subresource: 'status' });
      assert.equal(patched.status?.conditions?.[0]?.type, 'Tried');
    },
  });
});

test('[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should support ValidatingAdmissionPolicyBinding API operations [Conformance]', async () => {
  await assertDiscovered(client, validatingAdmissionPolicyBindings);
  const spec = { policyName: 'none', validationActions: ['Deny' as const] };
  await assertOperations(client, validatingAdmissionPolicyBindings, {
    objects: ['a', 'b', 'c'].map((name) => ({ metadata: named(`operations-${name}`), spec })),
    labelSelector: 'of=operations',
  });
});

test('[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should support MutatingAdmissionPolicy API operations [Conformance]', async () => {
  await assertDiscovered(client, mutatingAdmissionPolicies);
  const mutation = { patchType: 'ApplyConfiguration' as const, applyConfiguration: { expression: 'Object{}' } };
  const spec = { matchConstraints: nobody, mutations: [mutation], reinvocationPolicy: 'Never' as const };
  await assertOperations(client, mutatingAdmissionPolicies, {
    objects: ['a', 'b', 'c'].map((name) => ({ metadata: named(`operations-${name}`), spec })),
    labelSelector: 'of=operations',
  });
});

test('[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should support MutatingAdmissionPolicyBinding API operations [Conformance]', async () => {
  await assertDiscovered(client, mutatingAdmissionPolicyBindings);
  const spec = { policyName: 'none' };
  await assertOperations(client, mutatingAdmissionPolicyBindings, {
    objects: ['a', 'b', 'c'].map((name) => ({ metadata: named(`operations-${name}`), spec })),
    labelSelector: 'of=operations',
  });
});

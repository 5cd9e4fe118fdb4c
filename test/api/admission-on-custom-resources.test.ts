/**
 * Admission of custom resources: webhooks and policies see them as any other object, policies take them as parameters, and what happens is
 * counted under upstream's names.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  mutatingWebhookConfigurations,
  type RuleWithOperations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  validatingWebhookConfigurations,
} from '../../src/api/gen/admissionregistration-v1.ts';
import type { StatusError } from '../../src/apimachinery/status.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { startCluster } from '../conformance/cluster.ts';
import { type CustomObject, type Defined, define, type Schema } from '../conformance/definitions.ts';

const warnings: string[] = [];
const cluster = await startCluster({ controllers: [], scheduler: false });
const client = cluster.clientWith({ onWarning: (text) => void warnings.push(text) });

const sized: Schema = {
  type: 'object',
  properties: { spec: { type: 'object', properties: { size: { type: 'integer' }, colour: { type: 'string' } } } },
};

/** The calls are told from others by the objects' names alone, so that each test has the server to itself. */
const gadget = (name: string, spec: object): CustomObject => ({ metadata: { name }, spec });

const ruleFor = (defined: Defined): RuleWithOperations => ({
  apiGroups: [defined.type().group],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['gadgets'],
});

/** Tries until a policy or webhook that was just configured is in force: the server hears of it by watching. */
async function untilRefused(attempt: () => Promise<unknown>): Promise<StatusError> {
  return eventually(async () => {
    const outcome = await attempt().catch((error: unknown) => error);
    return outcome instanceof Error && (outcome as StatusError);
  });
}

async function metrics(): Promise<string> {
  return String(await client.raw({ method: 'GET', path: '/metrics' }));
}

/** The value of the series of this name with these labels; 0 when it has not been counted. */
async function counted(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const lines = (await metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = lines.find((one) => wanted.every((label) => one.includes(label)));
  return Number(line?.slice(line.lastIndexOf(' ')) ?? 0);
}

describe('a policy', async () => {
  const defined = await define(client, { schema: sized });
  const limits = await define(client, { kind: 'Limit' });
  const type = defined.type();

  before(async () => {
    await client.create(limits.type(), { metadata: { name: 'limits' }, most: 5 });
    const { group } = limits.type();
    await client.create(validatingAdmissionPolicies, {
      metadata: { name: 'sizes' },
      spec: {
        paramKind: { apiVersion: `${group}/v1`, kind: 'Limit' },
        matchConstraints: { resourceRules: [ruleFor(defined)] },
        matchConditions: [{ name: 'not-free', expression: "object.metadata.name != 'free'" }],
        validations: [
          { expression: 'object.spec.size <= params.most', messageExpression: "'at most ' + string(params.most)" },
        ],
        auditAnnotations: [{ key: 'size', valueExpression: 'string(object.spec.size)' }],
      },
    });
    await client.create(validatingAdmissionPolicyBindings, {
      metadata: { name: 'deny-sizes' },
      spec: {
        policyName: 'sizes',
        validationActions: ['Deny'],
        paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' },
      },
    });
  });

  it('judges custom objects by custom parameters', async () => {
    const refused = await untilRefused(() => client.create(type, gadget('large', { size: 6 }), { dryRun: true }));
    assert.equal(refused.code, 422);
    assert.match(
      refused.message,
      /ValidatingAdmissionPolicy 'sizes' with binding 'deny-sizes' denied request: at most 5$/,
    );
    await client.create(type, gadget('small', { size: 5 }));
    await client.patch(limits.type(), { name: 'limits' }, { type: 'merge', body: { most: 7 } });
    await client.create(type, gadget('seven', { size: 7 }));
  });

  it('is counted when it refuses, and when its conditions keep it out', async () => {
    const labels = {
      policy: 'sizes',
      policy_binding: 'deny-sizes',
      enforcement_action: 'deny',
      error_type: 'no_error',
    };
    const before = await counted('apiserver_validating_admission_policy_check_total', labels);
    await untilRefused(() => client.create(type, gadget('huge', { size: 60 })));
    assert.equal(await counted('apiserver_validating_admission_policy_check_total', labels), before + 1);
    assert.equal(
      await counted('apiserver_validating_admission_policy_check_duration_seconds_count', labels),
      before + 1,
    );
    await client.create(type, gadget('free', { size: 60 }));
    const about = { name: 'sizes', kind: 'policy', type: 'validate', operation: 'CREATE' };
    assert.ok((await counted('apiserver_admission_match_condition_evaluation_seconds_count', about)) >= 1);
  });

  it('that fails to evaluate is counted as what it is', async () => {
    await client.create(validatingAdmissionPolicies, {
      metadata: { name: 'colours' },
      spec: {
        matchConstraints: { resourceRules: [ruleFor(defined)] },
        validations: [{ expression: "object.spec.colour == 'red'" }],
      },
    });
    await client.create(validatingAdmissionPolicyBindings, {
      metadata: { name: 'warn-colours' },
      spec: { policyName: 'colours', validationActions: ['Warn'] },
    });
    await eventually(
      () => client.create(type, gadget('plain', { size: 1 }), { dryRun: true }),
      () => warnings.some((text) => text.includes("ValidatingAdmissionPolicy 'colours' with binding 'warn-colours'")),
    );
    const labels = { policy: 'colours', enforcement_action: 'warn', error_type: 'invalid_error' };
    assert.ok((await counted('apiserver_validating_admission_policy_check_total', labels)) >= 1);
  });

  it('changes custom objects', async () => {
    const painted = await define(client, { schema: sized });
    await client.create(mutatingAdmissionPolicies, {
      metadata: { name: 'paint' },
      spec: {
        matchConstraints: { resourceRules: [ruleFor(painted)] },
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: "Object{spec: Object.spec{colour: 'blue'}}" },
          },
        ],
      },
    });
    await client.create(mutatingAdmissionPolicyBindings, {
      metadata: { name: 'paint' },
      spec: { policyName: 'paint' },
    });
    const made = await eventually(
      () => client.create(painted.type(), gadget('a', { size: 1 }), { dryRun: true }),
      ({ spec }) => (spec as { readonly colour?: string }).colour !== undefined,
    );
    assert.deepEqual(made.spec, { size: 1, colour: 'blue' });
    const labels = { policy: 'paint', policy_binding: 'paint', error_type: 'no_error' };
    assert.ok((await counted('apiserver_mutating_admission_policy_check_total', labels)) >= 1);
  });
});

describe('webhooks', () => {
  it('change, refuse and fail on custom objects, and each is counted', async () => {
    const defined = await define(client, { schema: sized });
    const type = defined.type();
    await using painter = await startWebhookServer(({ apiVersion, kind, request }) => ({
      apiVersion,
      kind,
      response: {
        uid: request.uid,
        allowed: true,
        patchType: 'JSONPatch',
        patch: Buffer.from('[{"op":"add","path":"/spec/colour","value":"green"}]').toString('base64'),
      },
    }));
    await using judge = await startWebhookServer(({ apiVersion, kind, request }) => ({
      apiVersion,
      kind,
      response: {
        uid: request.uid,
        allowed: request.object.spec.colour === 'green' && request.object.spec.size < 10,
        status: { code: 418, message: 'too large' },
      },
    }));
    const common = { rules: [ruleFor(defined)], sideEffects: 'None', admissionReviewVersions: ['v1'] } as const;
    const hook = (name: string, { url, caBundle }: { readonly url: string; readonly caBundle: string }) => ({
      ...common,
      name: `${name}.example.com`,
      clientConfig: { url, caBundle },
    });
    const absent = { url: 'https://127.0.0.1:1', caBundle: judge.caBundle };
    await client.create(mutatingWebhookConfigurations, {
      metadata: { name: 'paint' },
      webhooks: [hook('paint', painter)],
    });
    await client.create(validatingWebhookConfigurations, {
      metadata: { name: 'judge' },
      webhooks: [
        hook('judge', judge),
        { ...hook('absent', absent), failurePolicy: 'Ignore' },
        { ...hook('idle', judge), matchConditions: [{ name: 'never', expression: "object.metadata.name == 'never'" }] },
      ],
    });
    await eventually(
      () => client.create(type, gadget('a', { size: 1 }), { dryRun: true }),
      ({ spec }) => (spec as { readonly colour?: string }).colour === 'green',
    );
    const refused = await untilRefused(() => client.create(type, gadget('large', { size: 10 }), { dryRun: true }));
    assert.equal(refused.code, 418);
    assert.equal(refused.message, 'admission webhook "judge.example.com" denied the request: too large');
    const validating = { type: 'validating', operation: 'CREATE' };
    const sum = (name: string, labels: Readonly<Record<string, string>>) =>
      counted(`apiserver_admission_${name}`, { ...validating, ...labels });
    const rejected = { name: 'judge.example.com', error_type: 'no_error', rejection_code: '418' };
    assert.ok((await sum('webhook_rejection_count', rejected)) >= 1);
    assert.ok((await sum('webhook_request_total', { name: 'judge.example.com', code: '418', rejected: 'true' })) >= 1);
    const failed = { name: 'absent.example.com', type: 'validating' };
    assert.ok((await counted('apiserver_admission_webhook_fail_open_count', failed)) >= 1);
    assert.ok(
      (await sum('webhook_request_total', { name: 'absent.example.com', code: '503', rejected: 'false' })) >= 1,
    );
    assert.ok((await sum('match_condition_exclusions_total', { name: 'idle.example.com', kind: 'webhook' })) >= 1);
    const painted = { name: 'paint.example.com', type: 'admit', code: '200', rejected: 'false' };
    assert.ok((await counted('apiserver_admission_webhook_request_total', painted)) >= 1);
  });
});

/** What webhooks and policies leave in the audit log, under upstream's keys: who changed what, who was passed over, what a policy says. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import {
  mutatingWebhookConfigurations,
  type RuleWithOperations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  validatingWebhookConfigurations,
} from '../../src/api/gen/admissionregistration-v1.ts';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { Auditor } from '../../src/apiserver/audit/auditor.ts';
import type { AuditEvent } from '../../src/apiserver/audit/event.ts';
import { logSink } from '../../src/apiserver/audit/sink.ts';
import { startWebhookServer } from '../../src/apiserver/webhook-client/webhook-server.fixture.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createClient, createHttpTransport } from '../../src/client/index.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { openCluster } from './cluster.ts';

const told: AuditEvent[] = [];
const writer = {
  write: (text: string) =>
    void told.push(
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditEvent),
    ),
  close() {},
};
const auditor = new Auditor({
  policy: { omitStages: ['RequestReceived'], rules: [{ level: 'Request', users: ['admin'] }, { level: 'None' }] },
  sink: logSink(writer, { format: 'json', log: silentLog }),
  clock: systemClock,
});
const cluster = await openCluster({ apiServer: { auditor } });
const { url: server, ca, cert, key } = cluster.admin;
const transport = createHttpTransport({ server, clock: systemClock, tls: { ca, cert, key } });
const client = createClient(transport);
after(async () => {
  await transport.close();
  await cluster.close();
});

const rules: readonly RuleWithOperations[] = [
  { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
];
const named = (name: string) => ({ objectSelector: { matchLabels: { for: name } } });

/** Creates until what was just configured is in force, and answers what the log says of the last time. */
async function annotationsOf(name: string, isThere: (annotations: Readonly<Record<string, string>>) => boolean) {
  let attempts = 0;
  return eventually(async () => {
    const metadata = { namespace: 'default', name: `${name}-${attempts++}`, labels: { for: name } };
    await client.create(configMaps, { metadata, data: { size: '7' } });
    return told.findLast(({ objectRef }) => objectRef?.name === metadata.name)?.annotations ?? {};
  }, isThere);
}

it('a mutating webhook: that it changed the object, how, and what it has to say', async () => {
  await using painter = await startWebhookServer(({ apiVersion, kind, request }) => ({
    apiVersion,
    kind,
    response: {
      uid: request.uid,
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from('[{"op":"add","path":"/data/colour","value":"green"}]').toString('base64'),
      auditAnnotations: { paint: 'dry' },
    },
  }));
  const { url, caBundle } = painter;
  const hook = { name: 'paint.example.com', clientConfig: { url, caBundle }, rules, ...named('paint') };
  await client.create(mutatingWebhookConfigurations, {
    metadata: { name: 'painters' },
    webhooks: [{ ...hook, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
  });
  const annotations = await annotationsOf('paint', (found) => 'paint.example.com/paint' in found);
  assert.equal(annotations['paint.example.com/paint'], 'dry');
  assert.deepEqual(JSON.parse(annotations['mutation.webhook.admission.k8s.io/round_0_index_0']!), {
    configuration: 'painters',
    webhook: 'paint.example.com',
    mutated: true,
  });
  assert.deepEqual(JSON.parse(annotations['patch.webhook.admission.k8s.io/round_0_index_0']!), {
    configuration: 'painters',
    webhook: 'paint.example.com',
    patch: [{ op: 'add', path: '/data/colour', value: 'green' }],
    patchType: 'JSONPatch',
  });
});

it('a webhook that does not answer, and is gone on without', async () => {
  const clientConfig = { url: 'https://127.0.0.1:1' };
  await client.create(validatingWebhookConfigurations, {
    metadata: { name: 'absent' },
    webhooks: [
      {
        name: 'absent.example.com',
        clientConfig,
        rules,
        ...named('absent'),
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const openKey = 'failed-open.validating.webhook.admission.k8s.io/round_0_index_0';
  const annotations = await annotationsOf('absent', (found) => openKey in found);
  assert.equal(annotations[openKey], 'absent.example.com');
});

it('a policy that only tells: its failure, and its own annotations', async () => {
  await client.create(validatingAdmissionPolicies, {
    metadata: { name: 'sizes' },
    spec: {
      matchConstraints: { resourceRules: rules, ...named('policy') },
      validations: [{ expression: "object.data.size == '8'", message: 'eight it must be' }],
      auditAnnotations: [{ key: 'size', valueExpression: 'string(object.data.size)' }],
    },
  });
  await client.create(validatingAdmissionPolicyBindings, {
    metadata: { name: 'tell-sizes' },
    spec: { policyName: 'sizes', validationActions: ['Audit'] },
  });
  const annotations = await annotationsOf('policy', (found) => 'sizes/size' in found);
  assert.equal(annotations['sizes/size'], '7');
  assert.deepEqual(JSON.parse(annotations['validation.policy.admission.k8s.io/validation_failure']!), [
    {
      message: 'eight it must be',
      policy: 'sizes',
      binding: 'tell-sizes',
      expressionIndex: 0,
      validationActions: ['Audit'],
    },
  ]);
});

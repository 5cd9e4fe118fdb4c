/** The objects of API priority and fairness. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FlowSchema,
  flowSchemas,
  type PriorityLevelConfiguration,
  priorityLevelConfigurations,
} from '../../src/api/gen/flowcontrol-v1.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ResourceType } from '../../src/apimachinery/resource.ts';
import { startCluster } from './cluster.ts';
import { assertDiscovered, assertOperations, assertSubresourceRead, change, referenceTo } from './operations.ts';

const { client } = await startCluster();
const labels = { purpose: 'conformance' };
const labelSelector = 'purpose=conformance';

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type?: string | undefined }[] | undefined } | undefined;
}

/** A condition comes with a patch of the status, and another joins it with an update. */
async function assertStatusWrites<T extends WithConditions>(type: ResourceType<T>, object: T): Promise<void> {
  const ref = referenceTo(object);
  const typesOf = ({ status }: WithConditions) => status?.conditions?.map((condition) => condition.type) ?? [];
  await assertSubresourceRead(client, type, object);
  const body = { status: { conditions: [{ type: 'PatchStatusFailed', status: 'False', reason: 'e2e' }] } };
  const patched = await client.patch(type, ref, { type: 'merge', body }, { subresource: 'status' });
  assert.ok(typesOf(patched).includes('PatchStatusFailed'));
  const added = { type: 'StatusUpdateFailed', status: 'False', reason: 'E2E', message: 'Set from an e2e test' };
  const withAdded = (current: T): T => ({
    ...current,
    status: { ...current.status, conditions: [...(current.status?.conditions ?? []), added] },
  });
  await change(client, type, ref, withAdded, 'status');
  assert.deepEqual(
    typesOf(await client.get(type, ref)).filter((name) => name !== 'Dangling'),
    ['PatchStatusFailed', 'StatusUpdateFailed'],
  );
}

test('[sig-api-machinery] API priority and fairness should support FlowSchema API operations [Conformance]', async () => {
  const flowSchema: FlowSchema = {
    metadata: { generateName: 'e2e-example-fs-', labels },
    spec: {
      matchingPrecedence: 10000,
      priorityLevelConfiguration: { name: 'global-default' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'example-e2e-non-existent-user' } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  };
  await assertDiscovered(client, flowSchemas, ['status']);
  await assertOperations(client, flowSchemas, {
    objects: [flowSchema, flowSchema, flowSchema],
    bystander: { ...flowSchema, metadata: { name: 'bystander' } },
    labelSelector,
    async meanwhile(object) {
      const body = { spec: { matchingPrecedence: 9999 } };
      const patched = await client.patch(flowSchemas, referenceTo(object), { type: 'merge', body });
      assert.equal(patched.spec?.matchingPrecedence, 9999);
      const updated = await change(client, flowSchemas, referenceTo(object), (current) => ({
        ...current,
        spec: { ...current.spec!, matchingPrecedence: 9000 },
      }));
      assert.equal(updated.spec?.matchingPrecedence, 9000);
      await assertStatusWrites(flowSchemas, object);
    },
  });
});

test('[sig-api-machinery] API priority and fairness should support PriorityLevelConfiguration API operations [Conformance]', async () => {
  const level: PriorityLevelConfiguration = {
    metadata: { generateName: 'e2e-example-pl-', labels },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 2, limitResponse: { type: 'Reject' } } },
  };
  await assertDiscovered(client, priorityLevelConfigurations, ['status']);
  await assertOperations(client, priorityLevelConfigurations, {
    objects: [level, level, level],
    bystander: { ...level, metadata: { name: 'bystander' } },
    labelSelector,
    async meanwhile(object) {
      const body = { spec: { limited: { nominalConcurrencyShares: 4 } } };
      const patched = await client.patch(priorityLevelConfigurations, referenceTo(object), { type: 'merge', body });
      assert.equal(patched.spec?.limited?.nominalConcurrencyShares, 4);
      const updated = await change(client, priorityLevelConfigurations, referenceTo(object), (current) => ({
        ...current,
        spec: { ...current.spec!, limited: { ...current.spec?.limited, nominalConcurrencyShares: 6 } },
      }));
      assert.equal(updated.spec?.limited?.nominalConcurrencyShares, 6);
      await assertStatusWrites(priorityLevelConfigurations, object);
    },
  });
});

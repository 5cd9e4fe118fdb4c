import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterRoles, type PolicyRule } from '../../api/gen/rbac-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runClusterRoleAggregationController } from './clusterrole-aggregation-controller.ts';

const rule = (resource: string): PolicyRule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });

test('an aggregate has the rules of all that its selectors match, and follows their changes', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runClusterRoleAggregationController);
  const add = (name: string, label: string, rules: PolicyRule[]) =>
    cluster.client.create(clusterRoles, { metadata: { name, labels: { to: label } }, rules });
  await cluster.client.create(clusterRoles, {
    metadata: { name: 'view' },
    rules: [],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'view' } }] },
  });
  await add('b', 'view', [rule('pods')]);
  await add('a', 'view', [rule('services'), rule('pods')]);
  await add('c', 'edit', [rule('secrets')]);
  await cluster.settle();
  const resources = () => cluster.api.find(clusterRoles, 'view')?.rules?.map((one) => one.resources?.[0]);
  assert.deepEqual(resources(), ['services', 'pods']);
  await cluster.client.delete(clusterRoles, { name: 'a' });
  await cluster.settle();
  assert.deepEqual(resources(), ['pods']);
});

test('several selectors add up, each in turn; a role without a rule of aggregation is left alone', async () => {
  await using cluster = new MemoryCluster();
  const roles: readonly [name: string, labels: Record<string, string>, resource: string][] = [
    ['a', { to: 'edit' }, 'secrets'],
    ['b', { to: 'view' }, 'pods'],
    ['c', { to: 'view', also: 'edit' }, 'services'],
  ];
  for (const [name, labels, resource] of roles)
    await cluster.client.create(clusterRoles, { metadata: { name, labels }, rules: [rule(resource)] });
  await cluster.client.create(clusterRoles, {
    metadata: { name: 'edit', labels: { to: 'edit' } },
    rules: [rule('written-by-hand')],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'view' } }, { matchLabels: { to: 'edit' } }] },
  });
  cluster.run(runClusterRoleAggregationController);
  await cluster.settle();
  const resources = (name: string) => cluster.api.find(clusterRoles, name)?.rules?.map((one) => one.resources?.[0]);
  assert.deepEqual(resources('edit'), ['pods', 'services', 'secrets']);
  assert.deepEqual(resources('b'), ['pods']);
  const writes = cluster.api.writes.length;
  await cluster.client.patch(
    clusterRoles,
    { name: 'c' },
    { type: 'merge', body: { metadata: { labels: { x: 'y' } } } },
  );
  await cluster.settle();
  assert.equal(cluster.api.writes.length, writes + 1, 'what is right is not written again');
});

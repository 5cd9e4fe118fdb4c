/** How clients find out what a server serves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from './cluster.ts';

const { client } = await startCluster({ controllers: [], scheduler: false });

interface GroupVersion {
  readonly groupVersion: string;
  readonly version: string;
}
interface Group {
  readonly name: string;
  readonly versions: readonly GroupVersion[];
  readonly preferredVersion: GroupVersion;
}
interface GroupDiscovery {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness: string;
    readonly resources: readonly { readonly resource: string; readonly verbs: readonly string[] }[];
  }[];
}

const read = async <T>(path: string, accept?: string) => (await client.raw({ method: 'GET', path, accept })) as T;

/** Group, version and a resource that must be in it. */
const expected: readonly (readonly [group: string, version: string, resource: string])[] = [
  ['admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations'],
  ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'],
  ['apiregistration.k8s.io', 'v1', 'apiservices'],
  ['apps', 'v1', 'deployments'],
  ['authentication.k8s.io', 'v1', 'tokenreviews'],
  ['authorization.k8s.io', 'v1', 'selfsubjectaccessreviews'],
  ['autoscaling', 'v1', 'horizontalpodautoscalers'],
  ['autoscaling', 'v2', 'horizontalpodautoscalers'],
  ['batch', 'v1', 'jobs'],
  ['certificates.k8s.io', 'v1', 'certificatesigningrequests'],
  ['coordination.k8s.io', 'v1', 'leases'],
  ['discovery.k8s.io', 'v1', 'endpointslices'],
  ['events.k8s.io', 'v1', 'events'],
  ['networking.k8s.io', 'v1', 'ingresses'],
  ['node.k8s.io', 'v1', 'runtimeclasses'],
  ['policy', 'v1', 'poddisruptionbudgets'],
  ['scheduling.k8s.io', 'v1', 'priorityclasses'],
  ['storage.k8s.io', 'v1', 'csinodes'],
];
const legacy = ['', 'v1', 'namespaces'] as const;

test('[sig-api-machinery] Discovery should validate PreferredVersion for each APIGroup [Conformance]', async () => {
  const { groups } = await read<{ readonly groups: readonly Group[] }>('/apis/');
  assert.ok(groups.length > 0);
  for (const { name } of groups) {
    const { versions, preferredVersion } = await read<Group>(`/apis/${name}/`);
    assert.ok(versions.length > 0, name);
    const preferred = versions.filter(({ groupVersion }) => groupVersion === preferredVersion.groupVersion);
    assert.deepEqual(preferred, [preferredVersion]);
  }
});

test('[sig-api-machinery] Discovery should locate the groupVersion and a resource within each APIGroup [Conformance]', async () => {
  for (const [group, version, resource] of [legacy, ...expected]) {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const list = await read<{
      readonly groupVersion: string;
      readonly resources: readonly { readonly name: string }[];
    }>(path);
    assert.equal(list.groupVersion, group === '' ? version : `${group}/${version}`);
    assert.ok(
      list.resources.some(({ name }) => name === resource),
      `${path} has no ${resource}`,
    );
  }
});

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

async function assertAggregated(
  path: string,
  accept: string,
  wanted: readonly (readonly [string, string, string])[],
): Promise<void> {
  const { kind, items } = await read<{ readonly kind: string; readonly items: readonly GroupDiscovery[] }>(
    path,
    accept,
  );
  assert.equal(kind, 'APIGroupDiscoveryList');
  for (const [group, version, resource] of wanted) {
    const found = items
      .find(({ metadata }) => (metadata.name ?? '') === group)
      ?.versions.find((entry) => entry.version === version);
    assert.ok(
      found?.resources.some((entry) => entry.resource === resource && entry.verbs.length > 0),
      `${path} has no ${group}/${version} ${resource}`,
    );
    assert.equal(found?.freshness, 'Current');
  }
}

test('[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers [Conformance]', async () => {
  await assertAggregated('/apis', aggregated, expected);
  await assertAggregated('/api', aggregated, [legacy]);
});

test('[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface [Conformance]', async () => {
  // What client-go asks for: the newest form first, and older ones for older servers.
  const beta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
  const accept = `${aggregated},${beta},application/json`;
  await assertAggregated('/apis', accept, expected);
  await assertAggregated('/api', accept, [legacy]);
});

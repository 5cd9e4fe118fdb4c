/** Gates that the documents name, on the API server: what is there with them, and what is not without. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { openCluster } from './cluster.ts';

/** Of API servers, once all that a server makes at its start is there: the issuer's pages come last. */
async function identityLeases(featureGates: Readonly<Record<string, boolean>>): Promise<readonly string[]> {
  const cluster = await openCluster({ apiServer: { hostname: 'kind-control-plane', featureGates } });
  try {
    const { admin: client } = cluster.controlPlane;
    const selected = async () => {
      const labelSelector = 'k8s.io/component=kube-apiserver';
      const { items } = await client.list(leases, { namespace: 'kube-system', labelSelector });
      return items.map(({ metadata }) => metadata.name ?? '');
    };
    await eventually(() => client.raw({ method: 'GET', path: '/openid/v1/jwks' }));
    return await selected();
  } finally {
    await cluster.close();
  }
}

test('an API server publishes its identity, unless the gate APIServerIdentity is off', async () => {
  assert.deepEqual(await identityLeases({}), ['kube-apiserver-c4vwjftbvpc5os2vvzle4qg27a']);
  assert.deepEqual(await identityLeases({ APIServerIdentity: false }), []);
});

/** Nodes that a manifest makes: a name that is no DNS subdomain is refused, no Pod comes before they are Ready, and their Lease goes with them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { leases } from '../../src/api/gen/coordination-v1.ts';
import { events, type Node, nodes, pods } from '../../src/api/gen/core-v1.ts';
import { isNotFound, StatusError } from '../../src/apimachinery/status.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';

let cluster: EmbeddedControlPlane;
before(async () => {
  cluster = await startControlPlane();
});
after(() => cluster.stop());

const pod = { spec: { containers: [{ name: 'web', image: 'example.com/web:1' }] } };

test('a name that is no DNS subdomain is refused', async () => {
  for (const name of ['Upper', 'under_score', 'end-', `${'a'.repeat(254)}`])
    await assert.rejects(cluster.client.create(nodes, { metadata: { name }, spec: {} }), (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.status.code, 422);
      const [cause] = error.status.details?.causes ?? [];
      assert.equal(cause?.field, 'metadata.name');
      return true;
    });
});

test('one without a kubelet stays, and gets no Pod until somebody says that it is Ready', async () => {
  const { client } = cluster;
  const node: Node = { metadata: { name: 'by-hand.example' }, spec: {} };
  await client.create(nodes, node);
  const ref = { namespace: 'default', name: 'web' };
  await client.create(pods, { metadata: ref, ...pod });
  const refusal = await eventually(async () => {
    const { items } = await client.list(events, { namespace: 'default' });
    const event = items.find(
      ({ reason, involvedObject }) => reason === 'FailedScheduling' && involvedObject.name === 'web',
    );
    assert.ok(event);
    return event.message;
  });
  assert.match(refusal ?? '', /^0\/1 nodes are available: 1 node\(s\) had untolerated taint\(s\)\. /);
  assert.equal((await client.get(pods, ref)).spec?.nodeName, undefined);

  const condition = { type: 'Ready', status: 'True', reason: 'ByHand', message: '' };
  const room = { cpu: '1', memory: '1Gi', pods: '10' };
  await client.updateStatus(nodes, { ...node, status: { capacity: room, allocatable: room, conditions: [condition] } });
  await eventually(async () => assert.equal((await client.get(pods, ref)).spec?.nodeName, 'by-hand.example'));
});

test('the Lease of a Node that is deleted goes with it', async () => {
  const { client } = cluster;
  const { metadata } = await client.create(nodes, { metadata: { name: 'leaves' }, spec: {} });
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'leaves', uid: metadata.uid ?? '' };
  const ref = { namespace: 'kube-node-lease', name: 'leaves' };
  await client.create(leases, { metadata: { ...ref, ownerReferences: [owner] }, spec: {} });
  await client.delete(nodes, { name: 'leaves' });
  await eventually(() => assert.rejects(client.get(leases, ref), isNotFound));
});

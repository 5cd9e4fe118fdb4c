/** A test with a control plane of its own: run it with `node --test examples/03-embedded/embedded.test.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments } from 'coracle/api/apps-v1';
import { pods } from 'coracle/api/core-v1';
import { startControlPlane } from 'coracle/testing';

test('a Deployment of two becomes two Pods', async () => {
  await using cluster = await startControlPlane();
  const labels = { app: 'web' };
  await cluster.client.create(deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.org/web:1' }] } },
    },
  });
  const seen = new Set<string>();
  for await (const event of cluster.client.watch(pods, { namespace: 'default', labelSelector: 'app=web' })) {
    if (event.type === 'ADDED') seen.add(event.object.metadata.name ?? '');
    if (seen.size === 2) break;
  }
  assert.equal(seen.size, 2);
});

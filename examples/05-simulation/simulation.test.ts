/** A test of an operator's worry on virtual time: run it with `node --test examples/05-simulation/simulation.test.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments } from 'coracle/api/apps-v1';
import { services } from 'coracle/api/core-v1';
import type { EndpointSlice } from 'coracle/api/discovery-v1';
import { simulate } from 'coracle/sim';

const labels = { app: 'web' };

test('a Service stops leading to a node that is cut off before the Pods there are replaced', async () => {
  await using cluster = await simulate({ seed: 1, nodes: 3 });
  await cluster.client.create(services, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: labels, ports: [{ port: 80 }] },
  });
  await cluster.client.create(deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.org/web:1' }] } },
    },
  });
  const addresses = async () => {
    const slices = await cluster.stored<EndpointSlice>('endpointslices');
    return slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready).length;
  };
  await cluster.until(async () => (await addresses()) === 3, { withinMs: 60_000, what: 'three ready addresses' });

  const [first] = cluster.runningPods();
  const node = cluster.node(first?.pod.spec.nodeName ?? '');
  const there = [...node.runs()].length;
  node.cutNetwork();
  await cluster.advance(60_000);
  assert.equal(await addresses(), 3 - there, 'a minute later it is known to be unreachable');
  assert.equal(cluster.runningPods().length, 3, 'but what ran there still runs');

  await cluster.until(async () => (await addresses()) === 3, { withinMs: 400_000, what: 'a replacement' });
  assert.equal(cluster.runningPods().length, 3 + there, 'and goes on beside its replacement while nobody can reach it');
});

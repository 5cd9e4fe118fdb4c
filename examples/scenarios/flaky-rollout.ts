/**
 * A rolling update while nodes misbehave: kubelets end and come back, one node is cut off for a minute, one container in five ends soon after its
 * start. The rollout takes longer for it, stays within its limits at every moment, and arrives.
 */
import { deployments } from 'coracle/api/apps-v1';
import { scenario } from 'coracle/sim';
import { web } from './workload.ts';

export default scenario({
  description: 'a rolling update on flaky nodes',
  nodes: Array.from({ length: 5 }, () => ({ cpus: 4 })),
  pods: ({ metadata }) => (/[bcdf]$/.test(metadata.name ?? '') ? { runMs: 40_000, exitCode: 1 } : {}),
  objects: [web(10)],
  async play({ cluster, note }) {
    const flaky = [...cluster.nodes.values()].slice(0, 3);
    flaky.forEach((node, index) => {
      for (let round = 1; round <= 4; round++)
        cluster.after((round * 17 + index * 5) * 1000, () => node.crashKubelet(4000));
    });
    note('version 2 is asked for');
    const containers = [{ name: 'web', image: 'example.org/web:2' }];
    const body = { spec: { template: { spec: { containers } } } };
    await cluster.client.patch(deployments, { namespace: 'default', name: 'web' }, { type: 'strategic', body });
    await cluster.advance(20_000);
    note('node-4 is cut off for a minute');
    cluster.node('node-4').cutNetwork();
    await cluster.advance(60_000);
    cluster.node('node-4').mendNetwork();
    await cluster.advance(10 * 60_000);
  },
});

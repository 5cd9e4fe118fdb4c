/**
 * The whole network fails. When every node of every zone is silent the fault is likely the control plane's own: nothing is evicted, and nodes
 * that were about to be emptied are left alone. Once somebody is heard again everyone's silence counts from then.
 */
import { scenario } from 'coracle/sim';
import { web } from './workload.ts';

export default scenario({
  description: 'every node of every zone is cut off for a quarter of an hour',
  nodes: ['a', 'a', 'b', 'b', 'c', 'c'].map((zone) => ({ zone, cpus: 4 })),
  objects: [web(12)],
  async play({ cluster, note }) {
    note('the network fails');
    for (const node of cluster.nodes.values()) node.cutNetwork();
    await cluster.advance(15 * 60_000);
    note('the network is mended');
    for (const node of cluster.nodes.values()) node.mendNetwork();
    await cluster.advance(5 * 60_000);
  },
});

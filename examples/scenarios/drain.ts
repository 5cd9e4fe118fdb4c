/**
 * A node is drained while a budget asks for three of four Pods at any time. Evictions that would break it are refused and asked for again, as
 * `kubectl drain` does; each replacement has to be ready before the next Pod may go.
 */
import { drain, scenario } from 'coracle/sim';
import { web, webBudget } from './workload.ts';

export default scenario({
  description: 'a drain against a disruption budget',
  // The first node has room for all Pods but one.
  nodes: [{ cpus: 8 }, { cpus: 4 }, { cpus: 4 }],
  // Slow to become ready, so that the budget is felt.
  pods: () => ({ readyMs: 12_000 }),
  objects: [web(4, { spread: false }), webBudget(3)],
  async play({ cluster, note }) {
    const counts = new Map<string, number>();
    for (const { pod } of cluster.runningPods()) {
      const { nodeName = '' } = pod.spec;
      counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
    }
    const [fullest = ''] = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
    note(`${fullest} is drained of ${counts.get(fullest)} pods`);
    await drain(cluster, fullest);
    note('nothing is left on it');
    await cluster.advance(60_000);
  },
});

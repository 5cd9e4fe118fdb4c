/**
 * Two zones fail, each in its way. Zone `b` loses all of its nodes: it is emptied at the normal rate, one node every ten seconds, for the
 * other zones have room. Zone `c` loses three of five: that looks like a fault of the network, and as the zone is small nobody is evicted.
 */
import { scenario } from 'coracle/sim';
import { web } from './workload.ts';

const zone = (name: string, count: number) => Array.from({ length: count }, () => ({ zone: name, cpus: 4 }));

export default scenario({
  description: 'a whole zone is lost, then most of another',
  nodes: [...zone('a', 4), ...zone('b', 4), ...zone('c', 5)],
  objects: [web(26)],
  async play({ cluster, note }) {
    const nodesOf = (name: string) => [...cluster.nodes.values()].filter((node) => node.zone === name);
    note('zone b loses its power');
    for (const node of nodesOf('b')) node.powerOff();
    await cluster.advance(8 * 60_000);
    note('three of five nodes of zone c are cut off');
    for (const node of nodesOf('c').slice(0, 3)) node.cutNetwork();
    await cluster.advance(10 * 60_000);
    note('all is mended');
    for (const node of cluster.nodes.values()) {
      node.mendNetwork();
      node.powerOn();
    }
    await cluster.advance(2 * 60_000);
  },
});

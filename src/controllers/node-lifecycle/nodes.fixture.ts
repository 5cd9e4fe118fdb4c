/** Nodes that live and die under a fake clock, and what the node lifecycle controller makes of them. */
import { leases } from '../../api/gen/coordination-v1.ts';
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { formatMicroTime, formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { type NodeLifecycleOptions, runNodeLifecycleController } from './node-lifecycle-controller.ts';

export async function addNode(cluster: MemoryCluster, name: string, zone?: string): Promise<void> {
  const labels = { 'kubernetes.io/os': 'linux', ...(zone ? { 'topology.kubernetes.io/zone': zone } : {}) };
  await cluster.client.create(nodes, { metadata: { name, labels }, spec: {} });
  await cluster.client.create(leases, {
    metadata: { namespace: 'kube-node-lease', name },
    spec: { holderIdentity: name, renewTime: formatMicroTime(cluster.clock.now()) },
  });
  report(cluster, name, 'True');
}

export function report(cluster: MemoryCluster, name: string, status: 'True' | 'False'): void {
  const now = formatTime(cluster.clock.now());
  cluster.api.alter(nodes, name, (node) => {
    const ready = { type: 'Ready', status, reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now };
    node.status = { ...node.status, conditions: [ready] };
  });
}

/** Lets time pass while the kubelets of these Nodes renew their Leases. */
export async function pass(cluster: MemoryCluster, seconds: number, alive: readonly string[]): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    for (const name of alive) {
      cluster.api.alter(leases, `kube-node-lease/${name}`, (lease) => {
        lease.spec = { ...lease.spec, renewTime: formatMicroTime(cluster.clock.now()) };
      });
    }
    await cluster.clock.advance(Math.min(10, left) * 1000);
  }
}

export const node = (cluster: MemoryCluster, name: string) => cluster.api.find(nodes, name)!;
export const ready = (cluster: MemoryCluster, name: string) =>
  node(cluster, name).status?.conditions?.find(({ type }) => type === 'Ready');
export const taints = (of: Node) =>
  (of.spec.taints ?? []).map(({ key, effect }) => `${key.split('/')[1]}:${effect}`).sort();
export const tainted = (cluster: MemoryCluster) =>
  cluster.api
    .all(nodes)
    .filter((one) => taints(one).some((taint) => taint.endsWith('NoExecute')))
    .map(({ metadata }) => metadata.name);

export async function start(
  names: readonly string[],
  zoneOf: (name: string) => string | undefined = () => undefined,
  options: NodeLifecycleOptions = {},
): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  for (const name of names) await addNode(cluster, name, zoneOf(name));
  cluster.run((context) => runNodeLifecycleController(context, options));
  await cluster.settle();
  return cluster;
}

export const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

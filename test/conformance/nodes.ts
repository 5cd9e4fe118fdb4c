/**
 * Nodes for the conformance tests that need Pods to run: kubelets with the rights of nodes, on machines and a runtime that are not
 * there. What a container does is said by its Pod (see `kubelet/runtime/simulated/behaviour.ts`) or by the test, which may end any of them.
 */
import { nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type SimulatedKubeletOptions, startSimulatedKubelet } from '../../src/kubelet/simulated-kubelet.ts';
import { componentContext } from '../../src/reconcile/component.ts';
import { type TestCluster, when } from './cluster.ts';
import { referenceTo } from './operations.ts';

export interface TestNode {
  readonly name: string;
  /** Waits until the Pod runs, and ends one of its containers if it still does; default the first. */
  end(pod: Pod, exitCode: number, container?: string): Promise<void>;
  /** Falls silent: what ran there is not heard of any more. */
  stop(): Promise<void>;
}

/** Starts a node and waits until Pods can come to it. It ends with the cluster. */
export async function startNode(
  cluster: TestCluster,
  nodeName: string,
  options: Omit<SimulatedKubeletOptions, 'nodeName'> & { readonly clock?: Clock } = {},
): Promise<TestNode> {
  const { clock = systemClock, ...kubeletOptions } = options;
  const stop = new AbortController();
  const context = componentContext({
    client: cluster.clientOf(`system:node:${nodeName}`, ['system:nodes']),
    clock,
    random: systemRandom,
    log: silentLog,
    signal: stop.signal,
  });
  const kubelet = await startSimulatedKubelet(context, { ...kubeletOptions, nodeName });
  const end = async () => {
    stop.abort();
    await kubelet.done;
  };
  cluster.beforeEnd(end);
  await when(cluster.client, nodes, { name: nodeName }, (node) => hasCondition(node, 'Ready') && !node?.spec?.taints);
  return {
    name: nodeName,
    stop: end,
    async end(pod, exitCode, container = pod.spec.containers[0]!.name) {
      const ref = referenceTo(pod);
      await when(cluster.client, pods, ref, (current) => current?.status?.phase !== 'Pending');
      const id = kubelet.runningContainer(ref.namespace!, ref.name, container);
      if (id) kubelet.runtime.crash(id, exitCode);
    },
  };
}

interface WithConditions {
  readonly status?:
    | { readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined }
    | undefined;
}

export function hasCondition(object: WithConditions | undefined, type: string, status = 'True'): boolean {
  return (
    object?.status?.conditions?.some((condition) => condition.type === type && condition.status === status) ?? false
  );
}

export const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running' && !pod.metadata.deletionTimestamp;
export const isReady = (pod: Pod): boolean => isRunning(pod) && hasCondition(pod, 'Ready');

/** What must hold once faults have ended and the dust has settled: everything as asked, nothing left over. Each problem is a sentence. */
import { isPodReady, isPodTerminal, isPodTerminating } from '../../api/core/v1/pod-status.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import { controllerOf, type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import { prefixEnd } from '../../storage/store.ts';
import type { Simulation } from '../simulation.ts';

type Problems = string[];

/** All that is not as it should be now; empty: the cluster has arrived. */
export async function problemsOf(cluster: Simulation): Promise<Problems> {
  const { entries } = await cluster.store.range({ start: '/registry/', end: prefixEnd('/registry/') });
  const world = new World(entries.map(({ key, value }) => ({ key, object: value })));
  return [
    ...(cluster.isApiServerUp ? [] : ['the API server is down']),
    ...ownership(world),
    ...nodesAreWell(world),
    ...podsAreWell(world, cluster),
    ...deploymentsAreDone(world),
    ...setsAreDone(world),
    ...jobsAreDone(world),
    ...servicesLead(world),
    ...budgetsAreCounted(world),
    ...world.all
      .filter(({ object }) => object.metadata.deletionTimestamp)
      .map(({ key }) => `${key} is still terminating`),
  ];
}

class World {
  readonly all: readonly { readonly key: string; readonly object: KubeObject }[];

  constructor(all: readonly { readonly key: string; readonly object: KubeObject }[]) {
    this.all = all;
  }

  of<T extends KubeObject>(resource: string): readonly T[] {
    const prefix = `/registry/${resource}/`;
    return this.all.filter(({ key }) => key.startsWith(prefix)).map(({ object }) => object as unknown as T);
  }
}

/** No orphan: whoever has an owner has one that exists. */
function* ownership(world: World): Iterable<string> {
  const uids = new Set(world.all.map(({ object }) => object.metadata.uid));
  for (const { key, object } of world.all) {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length > 0 && !owners.some(({ uid }) => uids.has(uid))) yield `${key} outlived its owner`;
  }
}

function* nodesAreWell(world: World): Iterable<string> {
  const leases = new Set(world.of('leases/kube-node-lease').map(({ metadata }) => metadata.name));
  for (const node of world.of<Node>('minions')) {
    const name = node.metadata.name ?? '';
    if (!isConditionTrue(node.status?.conditions, 'Ready')) yield `node ${name} is not Ready`;
    for (const { key, effect } of node.spec?.taints ?? []) yield `node ${name} still has the taint ${key}:${effect}`;
    if (!node.spec?.podCIDR) yield `node ${name} has no range of addresses`;
    if (!leases.has(name)) yield `node ${name} has no Lease`;
  }
}

function* podsAreWell(world: World, cluster: Simulation): Iterable<string> {
  const nodes = new Set(world.of<Node>('minions').map(({ metadata }) => metadata.name));
  const pods = world.of<Pod>('pods');
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec;
    if (nodeName === '') yield `pod ${keyOf(pod)} has no node`;
    else if (!nodes.has(nodeName)) yield `pod ${keyOf(pod)} is on the node ${nodeName}, which does not exist`;
    if (isPodTerminal(pod)) continue;
    if (!isPodReady(pod)) yield `pod ${keyOf(pod)} is not ready`;
    const run = [...(cluster.nodes.get(nodeName)?.runs() ?? [])].find(
      (one) => one.pod.metadata.uid === pod.metadata.uid,
    );
    if (!run?.isRunning) yield `pod ${keyOf(pod)} does not run on its node`;
  }
  for (const node of cluster.nodes.values())
    for (const { pod, isOver } of node.runs())
      if (!isOver && !byUid.has(pod.metadata.uid)) yield `${node.name} runs ${keyOf(pod)}, which does not exist`;
}

function* deploymentsAreDone(world: World): Iterable<string> {
  const replicaSets = world.of<ReplicaSet>('replicasets');
  const pods = world.of<Pod>('pods');
  for (const deployment of world.of<Deployment>('deployments')) {
    const { metadata, spec, status } = deployment;
    const wanted = spec?.replicas ?? 1;
    const counts = [status?.replicas, status?.updatedReplicas, status?.readyReplicas, status?.availableReplicas];
    if (status?.observedGeneration !== metadata.generation) yield `deployment ${metadata.name} is not observed`;
    if (counts.some((count) => (count ?? 0) !== wanted))
      yield `deployment ${metadata.name} counts ${counts.map((count) => count ?? 0).join(', ')} of ${wanted} replicas`;
    const own = replicaSets.filter((set) => controllerOf(set)?.uid === metadata.uid);
    if (wanted > 0 && own.filter((set) => (set.spec?.replicas ?? 1) > 0).length !== 1)
      yield `deployment ${metadata.name} has more or less than one ReplicaSet in use`;
  }
  for (const set of replicaSets) {
    const own = pods.filter((pod) => controllerOf(pod)?.uid === set.metadata.uid && !isPodTerminal(pod));
    const wanted = set.spec?.replicas ?? 1;
    if (own.length !== wanted) yield `replicaset ${set.metadata.name} has ${own.length} pods of ${wanted}`;
  }
}

function* setsAreDone(world: World): Iterable<string> {
  const pods = world.of<Pod>('pods');
  for (const { metadata, spec, status } of world.of<StatefulSet>('statefulsets')) {
    const wanted = Array.from({ length: spec?.replicas ?? 1 }, (_, ordinal) => `${metadata.name}-${ordinal}`);
    const own = pods.filter((pod) => controllerOf(pod)?.uid === metadata.uid).map((pod) => pod.metadata.name ?? '');
    if (own.sort().join() !== wanted.sort().join()) yield `statefulset ${metadata.name} has the pods ${own.join(', ')}`;
    if ((status?.readyReplicas ?? 0) !== wanted.length)
      yield `statefulset ${metadata.name} counts ${status?.readyReplicas} ready`;
  }
  const nodes = world.of<Node>('minions').map(({ metadata }) => metadata.name ?? '');
  for (const { metadata, status } of world.of<DaemonSet>('daemonsets')) {
    const places = pods
      .filter((pod) => controllerOf(pod)?.uid === metadata.uid && !isPodTerminal(pod))
      .map(({ spec: { nodeName = '' } }) => nodeName);
    if (places.sort().join() !== nodes.sort().join()) yield `daemonset ${metadata.name} is on ${places.join(', ')}`;
    if (status?.numberReady !== nodes.length) yield `daemonset ${metadata.name} counts ${status?.numberReady} ready`;
  }
}

function* jobsAreDone(world: World): Iterable<string> {
  for (const { metadata, spec, status } of world.of<Job>('jobs')) {
    if (!isConditionTrue(status?.conditions, 'Complete')) yield `job ${metadata.name} is not complete`;
    else if ((status?.succeeded ?? 0) < (spec?.completions ?? 1))
      yield `job ${metadata.name} counts ${status?.succeeded} of ${spec?.completions}`;
    if ((status?.active ?? 0) > 0) yield `job ${metadata.name} still counts active pods`;
  }
}

function* servicesLead(world: World): Iterable<string> {
  const pods = world.of<Pod>('pods');
  const slices = world.of<EndpointSlice>('endpointslices');
  for (const { metadata, spec } of world.of<Service>('services/specs')) {
    if (!spec?.selector) continue;
    const { app } = spec.selector;
    const wanted = pods.filter((pod) => pod.metadata.labels?.app === app && isPodReady(pod) && !isPodTerminating(pod));
    const told = slices
      .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === metadata.name)
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready)
      .flatMap(({ addresses }) => addresses);
    if (
      told.sort().join() !==
      wanted
        .map(({ status }) => status?.podIP)
        .sort()
        .join()
    )
      yield `service ${metadata.name} leads to ${told.join(', ')}`;
  }
}

function* budgetsAreCounted(world: World): Iterable<string> {
  const pods = world.of<Pod>('pods');
  for (const { metadata, spec, status } of world.of<PodDisruptionBudget>('poddisruptionbudgets')) {
    const healthy = pods.filter(
      (pod) => pod.metadata.labels?.app === spec?.selector?.matchLabels?.app && isPodReady(pod),
    );
    if (status?.observedGeneration !== metadata.generation || (status?.currentHealthy ?? 0) !== healthy.length)
      yield `budget ${metadata.name} counts ${status?.currentHealthy} healthy pods of ${healthy.length}`;
  }
}

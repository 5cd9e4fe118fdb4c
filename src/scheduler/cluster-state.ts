/**
 * What the scheduler knows of the cluster: every Node with the Pods on it and the sums that plugins ask for, kept up to date by
 * informers and by the scheduler's own decisions. A Pod counts on its node from the moment it is assumed there, before the API
 * server has heard of it, so that two Pods never get the same room (row N12: the sum of requests never exceeds allocatable).
 */
import { add, amountsOf, type ResourceAmounts } from '../api/core/v1/pod-resources.ts';
import type { Node, Pod, Taint } from '../api/gen/core-v1.ts';
import type { LabelMatcher } from '../apimachinery/labels.ts';
import { PodIndex } from './pod-index.ts';
import { type PodInfo, podInfoOf, podKeyOf, standsAsBefore } from './pod-info.ts';

/**
 * One Node and what is on it. What every attempt asks of every node stands here itself: in the Node's own object it lies several steps away, and in a
 * large cluster each step is one into cold memory.
 */
export class NodeInfo {
  readonly name: string;
  node!: Node;
  labels: Readonly<Record<string, string>> | undefined;
  isUnschedulable = false;
  /** Those that keep Pods away. */
  hardTaints: readonly Taint[] = noTaints;
  /** Those that only let the node be preferred less. */
  softTaints: readonly Taint[] = noTaints;
  allocatable!: ResourceAmounts;
  readonly pods = new Map<string, PodInfo>();
  readonly requested: Record<string, number> = {};
  readonly scoredRequested: Record<string, number> = {};
  /** Size in bytes of each image on the node, by name. */
  images!: ReadonlyMap<string, number>;

  constructor(node: Node) {
    this.name = node.metadata.name ?? '';
    this.replaceNode(node);
  }

  label(key: string): string | undefined {
    return this.labels?.[key];
  }

  replaceNode(node: Node): void {
    const { metadata, spec, status } = node;
    this.node = node;
    this.labels = metadata.labels;
    this.isUnschedulable = spec?.unschedulable ?? false;
    this.hardTaints = spec?.taints?.filter(({ effect }) => effect !== 'PreferNoSchedule') ?? noTaints;
    this.softTaints = spec?.taints?.filter(({ effect }) => effect === 'PreferNoSchedule') ?? noTaints;
    this.allocatable = amountsOf(status?.allocatable ?? status?.capacity);
    this.images = imagesOf(node);
  }

  addPod(info: PodInfo): void {
    this.removePod(info.key);
    this.pods.set(info.key, info);
    add(this.requested, info.requests);
    add(this.scoredRequested, info.scoredRequests);
  }

  removePod(key: string): PodInfo | undefined {
    const info = this.pods.get(key);
    if (!info) return undefined;
    this.pods.delete(key);
    subtract(this.requested, info.requests);
    subtract(this.scoredRequested, info.scoredRequests);
    return info;
  }
}

const none: readonly PodInfo[] = [];
const noTaints: readonly Taint[] = [];

export class ClusterState {
  readonly #nodes = new Map<string, NodeInfo>();
  /** Node name of every Pod that counts somewhere, by Pod key. */
  readonly #places = new Map<string, string>();
  /** Pods whose Node is not known (yet): they count as soon as it is. */
  readonly #waiting = new Map<string, Map<string, PodInfo>>();
  readonly #assumed = new Map<string, PodInfo>();
  /** Pods that preemption makes room for, by Pod key, with the node that they wait for. */
  readonly #nominated = new Map<string, { readonly info: PodInfo; readonly nodeName: string }>();
  readonly #index = new PodIndex();
  /** How many nodes have an image, by its name: there are thousands of nodes and every attempt asks. */
  readonly #imageHolders = new Map<string, number>();
  #list: readonly NodeInfo[] | undefined;
  #withAffinity = 0;
  /** Of Pods that are being placed: several plugins ask, and so does the placement. */
  readonly #infos = new WeakMap<Pod, PodInfo>();

  /** What is worked out about a Pod. */
  infoOf(pod: Pod): PodInfo {
    let info = this.#infos.get(pod);
    if (!info) {
      info = podInfoOf(pod);
      this.#infos.set(pod, info);
    }
    return info;
  }

  get nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#nodes.values()];
    return this.#list;
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  /** Whether any Pod in the cluster has affinity terms: if not, looking for them can be skipped. */
  get hasPodsWithAffinity(): boolean {
    return this.#withAffinity > 0;
  }

  /** How many placed Pods of the namespace match, by node; Pods on their way out do not count. */
  matchingByNode(selector: LabelMatcher, namespace: string | undefined): ReadonlyMap<string, number> {
    return this.#index.countByNode(selector, namespace);
  }

  nodesWithImage(name: string): number {
    return this.#imageHolders.get(name) ?? 0;
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? '';
    const known = this.#nodes.get(name);
    if (known) {
      this.#countImages(known, -1);
      known.replaceNode(node);
      this.#countImages(known, 1);
      return;
    }
    const info = new NodeInfo(node);
    this.#countImages(info, 1);
    for (const pod of this.#waiting.get(name)?.values() ?? []) info.addPod(pod);
    this.#waiting.delete(name);
    this.#nodes.set(name, info);
    this.#list = undefined;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (!info) return;
    // Its Pods still exist until someone deletes them, and count again should the Node come back.
    if (info.pods.size > 0) this.#waiting.set(name, new Map(info.pods));
    this.#countImages(info, -1);
    this.#nodes.delete(name);
    this.#list = undefined;
  }

  /** A Pod that is bound to a node, as the API server says. Confirms an assumption, or corrects it. */
  setPod(pod: Pod): void {
    const known = this.#nodes.get(pod.spec.nodeName ?? '')?.pods.get(podKeyOf(pod));
    if (known && standsAsBefore(pod, known.pod)) {
      this.#assumed.delete(known.key);
      known.pod = pod;
      return;
    }
    const info = podInfoOf(pod);
    this.#assumed.delete(info.key);
    this.#place(info, pod.spec.nodeName ?? '');
  }

  removePod(key: string): void {
    this.#assumed.delete(key);
    this.#nominated.delete(key);
    this.#unplace(key);
  }

  /** Counts the Pod on the node although nobody else knows of it yet. */
  assume(pod: Pod, nodeName: string): void {
    const info = { ...this.infoOf(pod), pod: { ...pod, spec: { ...pod.spec, nodeName } } };
    this.#assumed.set(info.key, info);
    this.#place(info, nodeName);
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  /** Takes an assumption back, unless the API server has confirmed it meanwhile. */
  forget(key: string): void {
    if (this.#assumed.delete(key)) this.#unplace(key);
  }

  /** The room that is made on the node is this Pod's: nobody of less importance may take it. Without a node: no longer. */
  nominate(info: PodInfo, nodeName: string | undefined): void {
    if (nodeName) this.#nominated.set(info.key, { info, nodeName });
    else this.#nominated.delete(info.key);
  }

  nominatedOn(nodeName: string): readonly PodInfo[] {
    if (this.#nominated.size === 0) return none;
    return [...this.#nominated.values()].filter((one) => one.nodeName === nodeName).map(({ info }) => info);
  }

  #countImages({ images }: NodeInfo, change: 1 | -1): void {
    for (const name of images.keys()) {
      const count = this.nodesWithImage(name) + change;
      if (count > 0) this.#imageHolders.set(name, count);
      else this.#imageHolders.delete(name);
    }
  }

  #place(info: PodInfo, nodeName: string): void {
    this.#unplace(info.key);
    this.#nominated.delete(info.key);
    this.#places.set(info.key, nodeName);
    this.#index.set(info, nodeName);
    if (info.hasAffinity) this.#withAffinity++;
    const node = this.#nodes.get(nodeName);
    if (node) return node.addPod(info);
    const waiting = this.#waiting.get(nodeName) ?? new Map<string, PodInfo>();
    this.#waiting.set(nodeName, waiting.set(info.key, info));
  }

  #unplace(key: string): void {
    const nodeName = this.#places.get(key);
    if (nodeName === undefined) return;
    this.#places.delete(key);
    this.#index.delete(key);
    const waiting = this.#waiting.get(nodeName);
    const info = this.#nodes.get(nodeName)?.removePod(key) ?? waiting?.get(key);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#waiting.delete(nodeName);
    if (info?.hasAffinity) this.#withAffinity--;
  }
}

function subtract(total: Record<string, number>, less: ResourceAmounts): void {
  for (const resource in less) total[resource] = (total[resource] ?? 0) - less[resource]!;
}

function imagesOf(node: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>();
  for (const image of node.status?.images ?? [])
    for (const name of image.names ?? []) images.set(name, image.sizeBytes ?? 0);
  return images;
}

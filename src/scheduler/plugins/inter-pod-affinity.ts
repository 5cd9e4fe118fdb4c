/**
 * Near to some Pods, away from others. Required terms filter, in both directions: the new Pod's own, and the anti-affinity of Pods
 * that are there already. Preferred terms score. Counts are kept by topology pair (key and value of the node's label).
 */
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '../../api/gen/core-v1.ts';
import { type LabelMatcher, type Labels, labelMatcherOf, nothing } from '../../apimachinery/labels.ts';
import type { ClusterState, NodeInfo } from '../cluster-state.ts';
import { maxNodeScore, type Rejection, type SchedulingPlugin } from '../framework.ts';

/** Weight of an existing Pod's required affinity when a Pod that it wants near is scored (upstream's hardPodAffinityWeight). */
const hardPodAffinityWeight = 1;

interface Term {
  readonly topologyKey: string;
  readonly weight: number;
  matches(pod: Pod): boolean;
}

/** Labels of a namespace, for terms that select namespaces. */
export type NamespaceLabels = (namespace: string) => Labels | undefined;

export function interPodAffinity(namespaceLabels: NamespaceLabels): SchedulingPlugin {
  return {
    name: 'InterPodAffinity',
    weight: 2,
    helpedBy: ['NodeAdded', 'NodeChanged', 'PodAdded', 'PodChanged', 'PodRemoved', 'NamespaceChanged'],
    prepare(pod, state) {
      const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
      if (!podAffinity && !podAntiAffinity && !state.hasPodsWithAffinity) return undefined;
      const terms = (list: readonly PodAffinityTerm[] | undefined, owner: Pod) =>
        (list ?? []).map((term) => termOf(term, owner, 1, namespaceLabels));
      const weighted = (list: readonly WeightedPodAffinityTerm[] | undefined, owner: Pod) =>
        (list ?? []).map(({ weight, podAffinityTerm }) => termOf(podAffinityTerm, owner, weight, namespaceLabels));
      return {
        ...hardTerms(
          pod,
          state,
          terms(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod),
          terms(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod),
          terms,
        ),
        ...softTerms(
          pod,
          state,
          weighted(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, pod),
          weighted(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, pod),
          terms,
          weighted,
        ),
      };
    },
  };
}

function termOf(term: PodAffinityTerm, owner: Pod, weight: number, namespaceLabels: NamespaceLabels): Term {
  const selector = term.labelSelector ? labelMatcherOf(term.labelSelector) : nothing;
  const spaces = term.namespaceSelector ? labelMatcherOf(term.namespaceSelector) : undefined;
  const named = term.namespaces ?? [];
  const inScope = (namespace: string): boolean => {
    if (named.length === 0 && !spaces) return namespace === owner.metadata.namespace;
    return named.includes(namespace) || (spaces !== undefined && selectsNamespace(spaces, namespace, namespaceLabels));
  };
  return {
    topologyKey: term.topologyKey,
    weight,
    matches: (pod) => inScope(pod.metadata.namespace ?? '') && selector.matches(pod.metadata.labels),
  };
}

function selectsNamespace(selector: LabelMatcher, namespace: string, namespaceLabels: NamespaceLabels): boolean {
  if (selector.empty) return true;
  const labels = namespaceLabels(namespace);
  return labels !== undefined && selector.matches(labels);
}

type TermsOf = (list: readonly PodAffinityTerm[] | undefined, owner: Pod) => readonly Term[];
type WeightedTermsOf = (list: readonly WeightedPodAffinityTerm[] | undefined, owner: Pod) => readonly Term[];

/** Counts by topology pair, as `key\nvalue`. */
class PairCounts {
  readonly #counts = new Map<string, number>();

  add(node: NodeInfo, key: string, amount: number): void {
    const value = node.label(key);
    if (value !== undefined) this.#counts.set(`${key}\n${value}`, (this.#counts.get(`${key}\n${value}`) ?? 0) + amount);
  }

  at(node: NodeInfo, key: string): number {
    const value = node.label(key);
    return value === undefined ? 0 : (this.#counts.get(`${key}\n${value}`) ?? 0);
  }

  sumAt(node: NodeInfo): number {
    let sum = 0;
    for (const [pair, count] of this.#counts) {
      const newline = pair.indexOf('\n');
      if (node.label(pair.slice(0, newline)) === pair.slice(newline + 1)) sum += count;
    }
    return sum;
  }

  get size(): number {
    return this.#counts.size;
  }
}

function hardTerms(
  pod: Pod,
  state: ClusterState,
  affinity: readonly Term[],
  antiAffinity: readonly Term[],
  termsOf: TermsOf,
) {
  const reject = (reason: string, resolvable: boolean): Rejection => ({
    plugin: 'InterPodAffinity',
    reasons: [reason],
    resolvable,
  });
  const wanted = new PairCounts();
  const unwanted = new PairCounts();
  const refusedByOthers = new PairCounts();
  for (const node of state.nodes) {
    for (const other of node.pods.values()) {
      // A Pod must match all affinity terms to count for any of them.
      if (affinity.length > 0 && affinity.every((term) => term.matches(other.pod)))
        for (const term of affinity) wanted.add(node, term.topologyKey, 1);
      for (const term of antiAffinity) if (term.matches(other.pod)) unwanted.add(node, term.topologyKey, 1);
      if (other.requiredAntiAffinity.length > 0)
        for (const term of termsOf(other.requiredAntiAffinity, other.pod))
          if (term.matches(pod)) refusedByOthers.add(node, term.topologyKey, 1);
    }
  }
  // The first of a group that wants to be near itself has nobody to be near to.
  const firstOfItsKind = wanted.size === 0 && affinity.length > 0 && affinity.every((term) => term.matches(pod));
  return {
    filter(node: NodeInfo): Rejection | undefined {
      if (affinity.length > 0) {
        const labelled = affinity.every((term) => node.label(term.topologyKey) !== undefined);
        const near = labelled && affinity.every((term) => wanted.at(node, term.topologyKey) > 0);
        if (!near && !(labelled && firstOfItsKind)) return reject("node(s) didn't match pod affinity rules", false);
      }
      if (antiAffinity.some((term) => unwanted.at(node, term.topologyKey) > 0))
        return reject("node(s) didn't match pod anti-affinity rules", true);
      if (refusedByOthers.size > 0 && refusedByOthers.sumAt(node) > 0)
        return reject("node(s) didn't satisfy existing pods anti-affinity rules", true);
      return undefined;
    },
  };
}

function softTerms(
  pod: Pod,
  state: ClusterState,
  near: readonly Term[],
  away: readonly Term[],
  termsOf: TermsOf,
  weightedOf: WeightedTermsOf,
) {
  const counts = new PairCounts();
  return {
    prepareScores(): boolean {
      const asks = near.length > 0 || away.length > 0;
      for (const node of state.nodes) {
        for (const other of node.pods.values()) {
          if (asks) {
            for (const term of near) if (term.matches(other.pod)) counts.add(node, term.topologyKey, term.weight);
            for (const term of away) if (term.matches(other.pod)) counts.add(node, term.topologyKey, -term.weight);
          }
          if (!other.hasAffinity) continue;
          const { podAffinity, podAntiAffinity } = other.pod.spec.affinity ?? {};
          for (const term of termsOf(other.requiredAffinity, other.pod))
            if (term.matches(pod)) counts.add(node, term.topologyKey, hardPodAffinityWeight);
          for (const term of weightedOf(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, other.pod))
            if (term.matches(pod)) counts.add(node, term.topologyKey, term.weight);
          for (const term of weightedOf(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, other.pod))
            if (term.matches(pod)) counts.add(node, term.topologyKey, -term.weight);
        }
      }
      return counts.size > 0;
    },
    score: (node: NodeInfo) => counts.sumAt(node),
    normalize(scores: readonly { readonly node: NodeInfo; score: number }[]): void {
      const values = scores.map(({ score }) => score);
      const least = Math.min(...values);
      const most = Math.max(...values);
      for (const entry of scores)
        entry.score = most > least ? Math.floor((maxNodeScore * (entry.score - least)) / (most - least)) : 0;
    },
  };
}

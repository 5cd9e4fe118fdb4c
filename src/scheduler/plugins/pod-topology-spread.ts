/**
 * Spreads like Pods over zones, nodes and other topology. A constraint with DoNotSchedule filters: after placement no domain may hold
 * more than `maxSkew` matching Pods above the emptiest one. ScheduleAnyway scores. A Pod without constraints whose controller or
 * Service selects it is spread by upstream's default: over hosts (maxSkew 3) and zones (5), as a preference.
 */
import { matchesNodeSelection } from '../../api/core/v1/node-affinity.ts';
import { isTolerated } from '../../api/core/v1/tolerations.ts';
import type { Pod, TopologySpreadConstraint } from '../../api/gen/core-v1.ts';
import { type LabelMatcher, labelMatcherOf, nothing } from '../../apimachinery/labels.ts';
import type { ClusterState, NodeInfo } from '../cluster-state.ts';
import { maxNodeScore, type PreparedPlugin, type SchedulingPlugin } from '../framework.ts';

const hostname = 'kubernetes.io/hostname';
const zone = 'topology.kubernetes.io/zone';

interface Constraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly minDomains: number;
  readonly selector: LabelMatcher;
  /** Whether a node takes part: affinity honoured and taints ignored unless the constraint says otherwise. */
  counts(node: NodeInfo): boolean;
}

/** Finds the selector that spreads a Pod without constraints of its own: its Services' and its controller's, joined. */
export type DefaultSpreadSelector = (pod: Pod) => LabelMatcher | undefined;

export function podTopologySpread(defaultSelector: DefaultSpreadSelector): SchedulingPlugin {
  return {
    name: 'PodTopologySpread',
    weight: 2,
    helpedBy: ['NodeAdded', 'NodeChanged', 'PodAdded', 'PodChanged', 'PodRemoved'],
    prepare(pod, state) {
      const own = pod.spec.topologySpreadConstraints ?? [];
      const hard = own
        .filter((constraint) => constraint.whenUnsatisfiable === 'DoNotSchedule')
        .map((c) => constraintOf(c, pod));
      const soft = own
        .filter((constraint) => constraint.whenUnsatisfiable === 'ScheduleAnyway')
        .map((c) => constraintOf(c, pod));
      const selector = own.length === 0 ? defaultSelector(pod) : undefined;
      if (selector) {
        soft.push({ maxSkew: 3, topologyKey: hostname, minDomains: 1, selector, counts: () => true });
        soft.push({ maxSkew: 5, topologyKey: zone, minDomains: 1, selector, counts: () => true });
      }
      if (hard.length === 0 && soft.length === 0) return undefined;
      return { ...filterBy(hard, pod, state), ...scoreBy(soft, pod, state, own.length > 0) };
    },
  };
}

function constraintOf(constraint: TopologySpreadConstraint, pod: Pod): Constraint {
  const labels = pod.metadata.labels ?? {};
  const base = constraint.labelSelector ? labelMatcherOf(constraint.labelSelector) : nothing;
  const pinned = (constraint.matchLabelKeys ?? []).filter((key) => labels[key] !== undefined);
  const selector = pinned.length === 0 ? base : withPinned(constraint, pinned, labels);
  return {
    maxSkew: constraint.maxSkew,
    topologyKey: constraint.topologyKey,
    minDomains: constraint.minDomains ?? 1,
    selector,
    counts(node) {
      if ((constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor' && !matchesNodeSelection(pod, node.node)) return false;
      if ((constraint.nodeTaintsPolicy ?? 'Ignore') === 'Ignore') return true;
      return node.hardTaints.every((taint) => isTolerated(taint, pod.spec.tolerations));
    },
  };
}

function withPinned(
  constraint: TopologySpreadConstraint,
  keys: readonly string[],
  labels: Readonly<Record<string, string>>,
): LabelMatcher {
  const pins = keys.map((key) => ({ key, operator: 'In' as const, values: [labels[key]!] }));
  const selector = constraint.labelSelector ?? {};
  return labelMatcherOf({ ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...pins] });
}

function matchingPods(node: NodeInfo, selector: LabelMatcher, namespace: string | undefined): number {
  let count = 0;
  for (const { pod } of node.pods.values()) {
    if (pod.metadata.deletionTimestamp || pod.metadata.namespace !== namespace) continue;
    if (selector.matches(pod.metadata.labels)) count++;
  }
  return count;
}

function filterBy(constraints: readonly Constraint[], pod: Pod, state: ClusterState): PreparedPlugin {
  if (constraints.length === 0) return {};
  const reject = (missing: boolean) => ({
    plugin: 'PodTopologySpread',
    reasons: [`node(s) didn't match pod topology spread constraints${missing ? ' (missing required label)' : ''}`],
    resolvable: !missing,
  });
  const counts = constraints.map((constraint) => {
    const byDomain = new Map<string, number>();
    for (const node of state.nodes) {
      if (!constraints.every((other) => node.label(other.topologyKey) !== undefined)) continue;
      if (!constraint.counts(node)) continue;
      const domain = node.label(constraint.topologyKey)!;
      byDomain.set(
        domain,
        (byDomain.get(domain) ?? 0) + matchingPods(node, constraint.selector, pod.metadata.namespace),
      );
    }
    // Fewer domains than asked for: the emptiest one is one that does not exist yet.
    const least = byDomain.size < constraint.minDomains ? 0 : Math.min(...byDomain.values());
    return { constraint, byDomain, least, self: constraint.selector.matches(pod.metadata.labels) ? 1 : 0 };
  });
  return {
    filter(node) {
      for (const { constraint, byDomain, least, self } of counts) {
        const domain = node.label(constraint.topologyKey);
        if (domain === undefined) return reject(true);
        const skew = (byDomain.get(domain) ?? 0) + self - (Number.isFinite(least) ? least : 0);
        if (skew > constraint.maxSkew) return reject(false);
      }
      return undefined;
    },
  };
}

function scoreBy(
  constraints: readonly Constraint[],
  pod: Pod,
  state: ClusterState,
  needAllLabels: boolean,
): PreparedPlugin {
  if (constraints.length === 0) return {};
  const namespace = pod.metadata.namespace;
  const ignored = new Set<NodeInfo>();
  let domains: readonly {
    readonly constraint: Constraint;
    readonly weight: number;
    /** By domain; for hostnames by node. */
    readonly counts: ReadonlyMap<string, number>;
  }[] = [];
  return {
    prepareScores(feasible) {
      ignored.clear();
      if (needAllLabels)
        for (const node of feasible)
          if (constraints.some(({ topologyKey }) => node.label(topologyKey) === undefined)) ignored.add(node);
      const taking = ignored.size === 0 ? feasible : feasible.filter((node) => !ignored.has(node));
      const counted = new Map<LabelMatcher, ReadonlyMap<string, number>>();
      domains = constraints.map((constraint) => {
        const { selector } = constraint;
        const onNodes = counted.get(selector) ?? state.matchingByNode(selector, namespace);
        counted.set(selector, onNodes);
        if (constraint.topologyKey === hostname)
          return { constraint, counts: onNodes, weight: Math.log(taking.length + 2) };
        const counts = countByDomain(constraint, { taking, onNodes, state });
        return { constraint, counts, weight: Math.log(counts.size + 2) };
      });
      return true;
    },
    score(node) {
      if (ignored.size > 0 && ignored.has(node)) return 0;
      let score = 0;
      for (const { constraint, weight, counts } of domains) {
        const domain = node.label(constraint.topologyKey);
        if (domain === undefined) continue;
        const count = counts.get(constraint.topologyKey === hostname ? node.name : domain) ?? 0;
        score += count * weight + constraint.maxSkew - 1;
      }
      return Math.round(score);
    },
    normalize(scores) {
      const scored = ignored.size === 0 ? scores : scores.filter(({ node }) => !ignored.has(node));
      let least = Number.POSITIVE_INFINITY;
      let most = 0;
      for (const { score } of scored) {
        least = Math.min(least, score);
        most = Math.max(most, score);
      }
      for (const entry of scores) {
        if (ignored.size > 0 && ignored.has(entry.node)) entry.score = 0;
        else entry.score = most === 0 ? maxNodeScore : Math.floor((maxNodeScore * (most + least - entry.score)) / most);
      }
    },
  };
}

/** Of the domains that the nodes in question are in: how many matching Pods are there, on whichever node. */
function countByDomain(
  constraint: Constraint,
  {
    taking,
    onNodes,
    state,
  }: {
    readonly taking: readonly NodeInfo[];
    readonly onNodes: ReadonlyMap<string, number>;
    readonly state: ClusterState;
  },
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of taking) {
    const domain = node.label(constraint.topologyKey);
    if (domain !== undefined && !counts.has(domain)) counts.set(domain, 0);
  }
  for (const [name, count] of onNodes) {
    const node = state.node(name);
    const domain = node?.label(constraint.topologyKey);
    const before = domain === undefined ? undefined : counts.get(domain);
    if (node && domain !== undefined && before !== undefined && constraint.counts(node))
      counts.set(domain, before + count);
  }
  return counts;
}

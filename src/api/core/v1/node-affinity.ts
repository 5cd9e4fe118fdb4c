/**
 * Whether a Node is one that a Pod's nodeSelector and node affinity ask for: the terms of a NodeSelector against a Node's labels
 * and its name. Shared by the scheduler, the kubelet's admission, the DaemonSet controller and volume binding; pure.
 */
import type { Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../gen/core-v1.ts';

/** What of a Node the terms can look at. */
export interface NodeLike {
  readonly metadata: Pick<Node['metadata'], 'name' | 'labels'>;
}

/** Both the plain nodeSelector and the required node affinity must hold. */
export function matchesNodeSelection(pod: Pod, node: NodeLike): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required ? matchesNodeSelector(required, node) : true;
}

/** Terms are alternatives. A term that asks nothing, like a selector without terms, matches no Node. */
export function matchesNodeSelector(selector: NodeSelector, node: NodeLike): boolean {
  return selector.nodeSelectorTerms?.some((term) => matchesNodeSelectorTerm(term, node)) ?? false;
}

export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: NodeLike): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  const fields = { 'metadata.name': node.metadata.name ?? '' };
  return (
    matchExpressions.every((requirement) => matchesRequirement(requirement, labels)) &&
    matchFields.every((requirement) => matchesRequirement(requirement, fields))
  );
}

/** Sum of the weights of the preferred terms that the Node satisfies. A preferred term that asks nothing adds nothing. */
export function preferredNodeWeight(pod: Pod, node: NodeLike): number {
  let sum = 0;
  for (const { weight, preference } of pod.spec.affinity?.nodeAffinity
    ?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (matchesNodeSelectorTerm(preference, node)) sum += weight;
  }
  return sum;
}

/**
 * Names that the required affinity pins a Pod to by `matchFields` on `metadata.name`, as DaemonSet Pods have it; undefined when
 * some term leaves the name open, so that every Node must be looked at.
 */
export function pinnedNodeNames(pod: Pod): ReadonlySet<string> | undefined {
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (!terms || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const term of terms) {
    const pins = (term.matchFields ?? []).filter(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (pins.length === 0) return undefined;
    const [first, ...others] = pins.map((pin) => pin.values ?? []);
    for (const name of first ?? []) if (others.every((values) => values.includes(name))) names.add(name);
  }
  return names;
}

function matchesRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  from: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(from, key) ? from[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      // A missing label is not one of the values either.
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt': {
      const actual = integer(value);
      const limit = integer(values[0]);
      if (actual === undefined || limit === undefined || values.length !== 1) return false;
      return operator === 'Gt' ? actual > limit : actual < limit;
    }
    default:
      return false;
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}

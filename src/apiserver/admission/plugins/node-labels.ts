/** Which of its own labels a node may set: what it knows about itself, and nothing by which workloads are steered to it. */

const restricted = /(^|\.)(kubernetes|k8s)\.io$/;
const neverAllowed = /(^|\.)node-restriction\.kubernetes\.io$/;
const allowedNamespaces = /(^|\.)(kubelet|node)\.kubernetes\.io$/;
const allowedKeys: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

/** Keys that were added, removed or changed and must not be, sorted. */
export function forbiddenNodeLabels(
  labels: Readonly<Record<string, string>> | undefined,
  oldLabels: Readonly<Record<string, string>> | undefined,
): readonly string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(oldLabels ?? {})]);
  return [...keys].filter((key) => labels?.[key] !== oldLabels?.[key] && !nodeMaySet(key)).sort();
}

function nodeMaySet(key: string): boolean {
  const slash = key.indexOf('/');
  const namespace = slash < 0 ? '' : key.slice(0, slash);
  if (neverAllowed.test(namespace)) return false;
  return !restricted.test(namespace) || allowedKeys.has(key) || allowedNamespaces.test(namespace);
}

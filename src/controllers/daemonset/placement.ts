/**
 * Which Nodes a DaemonSet wants a Pod on, and the Pod it makes for one: pure. Its Pods go through the scheduler, pinned to their Node
 * by name, and tolerate what ails a Node short of being shut to everybody.
 */
import { matchesNodeSelection } from '../../api/core/v1/node-affinity.ts';
import { untoleratedTaint, wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import { type DaemonSet, daemonSets } from '../../api/gen/apps-v1.ts';
import type { Node, Pod, PodSpec, Toleration } from '../../api/gen/core-v1.ts';
import { type Draft, draft } from '../../apimachinery/meta.ts';
import { revisionHashLabel } from '../common/history.ts';
import { podFromTemplate } from '../common/pod-template.ts';

export interface Placement {
  /** A Pod should be there. */
  readonly run: boolean;
  /** One that is there may stay. */
  readonly keep: boolean;
}

const templateGenerationAnnotation = 'deprecated.daemonset.template.generation';
const templateGenerationLabel = 'pod-template-generation';

export function placementOn(daemonSet: DaemonSet, node: Node): Placement {
  const nowhere = { run: false, keep: false };
  const spec = daemonSet.spec.template.spec;
  if (spec.nodeName && spec.nodeName !== node.metadata.name) return nowhere;
  if (!matchesNodeSelection({ metadata: {}, spec }, node)) return nowhere;
  const tolerations = tolerationsOf(spec);
  if (untoleratedTaint(node.spec.taints, tolerations, ['NoExecute'])) return nowhere;
  // A taint that only keeps new Pods away leaves those that run.
  return { run: !untoleratedTaint(node.spec.taints, tolerations, ['NoSchedule']), keep: true };
}

export function podForNode(daemonSet: DaemonSet, nodeName: string, hash: string): Draft<Pod> {
  const pod = podFromTemplate(daemonSet.spec.template, daemonSet, daemonSets);
  const generation = daemonSet.metadata.annotations?.[templateGenerationAnnotation];
  pod.metadata.labels = {
    ...pod.metadata.labels,
    ...(generation ? { [templateGenerationLabel]: generation } : {}),
    [revisionHashLabel]: hash,
  };
  pod.spec.tolerations = draft(tolerationsOf(daemonSet.spec.template.spec)) as Draft<Toleration>[];
  const affinity = pod.spec.affinity ?? {};
  const terms = [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [nodeName] }] }];
  pod.spec.affinity = {
    ...affinity,
    nodeAffinity: {
      ...affinity.nodeAffinity,
      // Whether the DaemonSet's own terms hold was decided already: the name is all that is left to ask for.
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    },
  };
  return pod;
}

function tolerationsOf(spec: PodSpec): readonly Toleration[] {
  const added: Toleration[] = [
    { key: wellKnownTaints.notReady, operator: 'Exists', effect: 'NoExecute' },
    { key: wellKnownTaints.unreachable, operator: 'Exists', effect: 'NoExecute' },
    { key: wellKnownTaints.diskPressure, operator: 'Exists', effect: 'NoSchedule' },
    { key: wellKnownTaints.memoryPressure, operator: 'Exists', effect: 'NoSchedule' },
    { key: wellKnownTaints.pidPressure, operator: 'Exists', effect: 'NoSchedule' },
    { key: wellKnownTaints.unschedulable, operator: 'Exists', effect: 'NoSchedule' },
    ...(spec.hostNetwork
      ? [{ key: wellKnownTaints.networkUnavailable, operator: 'Exists' as const, effect: 'NoSchedule' as const }]
      : []),
  ];
  const same = (a: Toleration, b: Toleration) =>
    a.key === b.key &&
    a.effect === b.effect &&
    (a.operator ?? 'Equal') === (b.operator ?? 'Equal') &&
    !a.value &&
    !b.value;
  const own = (spec.tolerations ?? []).filter((toleration) => !added.some((other) => same(other, toleration)));
  return [...own, ...added];
}

/** The Node that a Pod runs on or, not yet bound, is pinned to. */
export function targetNodeOf(pod: Pod): string | undefined {
  if (pod.spec.nodeName) return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields } of terms) {
    const field = matchFields?.find(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (field?.values?.length === 1) return field.values[0];
  }
  return undefined;
}

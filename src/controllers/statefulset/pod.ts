/**
 * The Pods of a StatefulSet: pure. Each has a number, and with it a name, a hostname and claims that stay the same however often the
 * Pod itself is made anew.
 */
import { type StatefulSet, statefulSets } from '../../api/gen/apps-v1.ts';
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, Volume } from '../../api/gen/core-v1.ts';
import { type Draft, draft } from '../../apimachinery/meta.ts';
import { revisionHashLabel } from '../common/history.ts';
import { podFromTemplate } from '../common/pod-template.ts';

export const podNameLabel = 'statefulset.kubernetes.io/pod-name';
export const podIndexLabel = 'apps.kubernetes.io/pod-index';

export function startOrdinal({ spec }: StatefulSet): number {
  return spec.ordinals?.start ?? 0;
}

/** The number at the end of the name, if the rest is the set's. */
export function ordinalOf(set: StatefulSet, { metadata }: Pod): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const name = metadata.name ?? '';
  const rest = name.slice(prefix.length);
  return name.startsWith(prefix) && /^(0|[1-9]\d*)$/.test(rest) ? Number(rest) : undefined;
}

export function podNameFor(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`;
}

export function podForOrdinal(
  set: StatefulSet,
  template: PodTemplateSpec,
  ordinal: number,
  revision: string,
): Draft<Pod> {
  const pod = podFromTemplate(template, set, statefulSets);
  const name = podNameFor(set, ordinal);
  delete pod.metadata.generateName;
  pod.metadata.name = name;
  pod.metadata.labels = {
    ...pod.metadata.labels,
    [podNameLabel]: name,
    [podIndexLabel]: String(ordinal),
    [revisionHashLabel]: revision,
  };
  pod.spec.hostname = name;
  pod.spec.subdomain = set.spec.serviceName;
  pod.spec.volumes = draft(volumesFor(set, ordinal, pod.spec.volumes ?? [])) as Draft<Volume>[];
  return pod;
}

/** A claim of the set's takes the place of a volume of the same name. */
function volumesFor(set: StatefulSet, ordinal: number, own: readonly Volume[]): readonly Volume[] {
  const templates = set.spec.volumeClaimTemplates ?? [];
  const claimed = templates.map(({ metadata }) => ({
    name: metadata.name ?? '',
    persistentVolumeClaim: { claimName: claimNameFor(set, metadata.name ?? '', ordinal) },
  }));
  const names = new Set(claimed.map(({ name }) => name));
  return [...claimed, ...own.filter(({ name }) => !names.has(name))];
}

function claimNameFor(set: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

export function claimsFor(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    metadata: {
      name: claimNameFor(set, template.metadata.name ?? '', ordinal),
      namespace: set.metadata.namespace,
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
      annotations: template.metadata.annotations,
    },
    spec: template.spec,
  }));
}

/** Whether the Pod has the name, labels and claims that its number calls for. */
export function hasIdentity(set: StatefulSet, pod: Pod): boolean {
  const ordinal = ordinalOf(set, pod);
  if (ordinal === undefined || pod.metadata.labels?.[podNameLabel] !== pod.metadata.name) return false;
  if (pod.metadata.labels?.[podIndexLabel] !== String(ordinal)) return false;
  return (set.spec.volumeClaimTemplates ?? []).every(({ metadata }) => {
    const volume = pod.spec.volumes?.find(({ name }) => name === metadata.name);
    return volume?.persistentVolumeClaim?.claimName === claimNameFor(set, metadata.name ?? '', ordinal);
  });
}

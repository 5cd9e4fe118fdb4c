/** Makes the Pod that a template describes, owned by its controller. */
import type { Pod, PodTemplateSpec } from '../../api/gen/core-v1.ts';
import { controllerReference, type Draft, draft, type KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind } from '../../apimachinery/resource.ts';

/** The Pod has a `generateName` from its owner; controllers that name their Pods overwrite it. */
export function podFromTemplate(template: PodTemplateSpec, owner: KubeObject, gvk: GroupVersionKind): Draft<Pod> {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: owner.metadata.namespace,
      generateName: generateNamePrefix(owner.metadata.name ?? ''),
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [draft(controllerReference(owner, gvk))],
    },
    spec: draft(template.spec),
  };
}

/** The dash is left out where the name would then not be a valid Pod name (a trailing dot before it). */
function generateNamePrefix(name: string): string {
  return name.endsWith('.') ? name : `${name}-`;
}

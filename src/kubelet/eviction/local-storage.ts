/**
 * Whether a Pod keeps its own promises about disks: the size limit of its emptyDir volumes, and the limits on `ephemeral-storage` of the Pod
 * and of each container. Who breaks one is evicted, however much the node has left. Pure; messages are upstream's.
 */
import { podLimits } from '../../api/core/v1/pod-resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { parseQuantity, quantityOf } from '../../apimachinery/quantity.ts';
import type { PodUse } from './measurement.ts';
import { isLocalEphemeral, podDiskUse } from './ranking.ts';

export interface LocalStorageViolation {
  /** As the metric of evictions names it. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

/** Whether there is any limit to watch. */
export function limitsLocalStorage(pod: Pod): boolean {
  return (
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    podLimits(pod)['ephemeral-storage'] !== undefined
  );
}

export function localStorageViolation(
  pod: Pod,
  use: PodUse,
  dedicatedImageFs: boolean,
): LocalStorageViolation | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseQuantity(emptyDir.sizeLimit);
    const used = use.volumes.get(name);
    if (limit && used && limit.sign > 0 && quantityOf(used.bytes).compare(limit) > 0)
      return {
        signal: 'emptydirfs.limit',
        message: `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `,
      };
  }
  const podLimit = podLimits(pod)['ephemeral-storage'];
  if (podLimit !== undefined && podUse(pod, use) > podLimit) {
    const limit = quantityOf(podLimit, 'BinarySI');
    return {
      signal: 'ephemeralpodfs.limit',
      message: `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `,
    };
  }
  for (const { name, layer, logs } of use.containers) {
    const text = pod.spec.containers.find((container) => container.name === name)?.resources?.limits?.[
      'ephemeral-storage'
    ];
    const limit = text === undefined ? undefined : parseQuantity(text);
    const bytes = (logs?.bytes ?? 0) + (dedicatedImageFs ? 0 : (layer?.bytes ?? 0));
    if (limit && !limit.isZero && quantityOf(bytes).compare(limit) > 0)
      return {
        signal: 'ephemeralcontainerfs.limit',
        message: `Container ${name} exceeded its local ephemeral storage limit "${limit}". `,
      };
  }
  return undefined;
}

/** What others put under a hostPath is not the Pod's. */
function podUse(pod: Pod, use: PodUse): number {
  const volumes = (pod.spec.volumes ?? []).filter(isLocalEphemeral);
  return podDiskUse({ ...pod, spec: { ...pod.spec, volumes } }, use).bytes;
}

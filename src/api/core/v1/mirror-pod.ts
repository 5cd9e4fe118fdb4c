/** Mirror Pods: what a kubelet shows of the Pods it runs from files of its own. */
import type { Pod } from '../../gen/core-v1.ts';

/** Its value is the hash of the Pod's source, by which the kubelet knows whether the mirror still shows what runs. */
export const mirrorPodAnnotation = 'kubernetes.io/config.mirror';

export function isMirrorPod({ metadata }: Pod): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, mirrorPodAnnotation);
}

/**
 * Keeps a claim from vanishing under the Pods that use it: a finalizer while it lives, taken off when it is being deleted and no Pod
 * that may still run refers to it.
 */
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import { type Pod, persistentVolumeClaims, pods as podType } from '../../api/gen/core-v1.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { setFinalizer } from '../shared/finalizers.ts';

export const claimFinalizer = 'kubernetes.io/pvc-protection';
const byClaim = 'pvc-protection/claim';

export async function runPersistentVolumeClaimProtectionController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const claims = informers.of(persistentVolumeClaims);
  const pods = informers.of(podType);
  pods.addIndex(byClaim, claimKeysOf);
  const controller = createController(context, {
    name: 'persistentvolumeclaim-protection-controller',
    workers: 1,
    waitFor: [claims, pods],
    async reconcile(key: string) {
      const claim = claims.get(key);
      if (!claim) return;
      if (!claim.metadata.deletionTimestamp)
        return await setFinalizer(client, persistentVolumeClaims, claim, claimFinalizer, true);
      if (isUsed(pods.byIndex(byClaim, key)) || !claim.metadata.finalizers?.includes(claimFinalizer)) return;
      // A Pod that the informer has not shown yet would lose its claim for good.
      const live = await client.list(podType, { namespace: claim.metadata.namespace });
      const using = live.items.filter((pod) => claimKeysOf(pod).includes(key));
      if (!isUsed(using)) await setFinalizer(client, persistentVolumeClaims, claim, claimFinalizer, false);
    },
  });
  controller.watch(claims);
  controller.watchMapped(pods, (pod, previous) => [...claimKeysOf(pod), ...(previous ? claimKeysOf(previous) : [])]);
  await controller.run();
}

/** A Pod that ended, and one that no node has taken on, uses nothing. */
function isUsed(pods: readonly Pod[]): boolean {
  return pods.some((pod) => pod.spec.nodeName && !isPodTerminal(pod));
}

function claimKeysOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const name =
      volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${metadata.name}-${volume.name}` : undefined);
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  });
}

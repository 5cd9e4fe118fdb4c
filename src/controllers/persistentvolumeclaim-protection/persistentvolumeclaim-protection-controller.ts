/**
 * Keeps a claim from vanishing under the Pods that use it: a finalizer while it lives, taken off when it is being deleted and no Pod
 * that may still run refers to it.
 */
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import { type Pod, persistentVolumeClaims, pods as podType } from '../../api/gen/core-v1.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { setFinalizer } from '../common/finalizers.ts';
import { claimKeysOf } from '../common/pod-claims.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const byClaim = 'pvc-protection/claim';

export async function runPersistentVolumeClaimProtectionController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const claims = informers.of(persistentVolumeClaims);
  const pods = informers.of(podType);
  pods.addIndex(byClaim, claimKeysOf);
  const controller = createController(context, {
    name: 'persistentvolumeclaim-protection-controller',
    queue: 'pvcprotection',
    workers: 1,
    waitFor: [claims, pods],
    async reconcile(key: string): Promise<ReconcileResult | undefined> {
      const claim = claims.get(key);
      if (!claim) return undefined;
      if (!claim.metadata.deletionTimestamp) {
        await setFinalizer(client, {
          type: persistentVolumeClaims,
          object: claim,
          finalizer: claimFinalizer,
          present: true,
        });
        return undefined;
      }
      if (!claim.metadata.finalizers?.includes(claimFinalizer)) return undefined;
      const known = pods.byIndex(byClaim, key).filter(uses);
      if (known.length > 0) return { causes: [inUse(known)] };
      // A Pod that the informer has not shown yet would lose its claim for good.
      const live = await client.list(podType, { namespace: claim.metadata.namespace });
      const using = live.items.filter((pod) => claimKeysOf(pod).includes(key) && uses(pod));
      if (using.length > 0) return { causes: [inUse(using)] };
      await setFinalizer(client, {
        type: persistentVolumeClaims,
        object: claim,
        finalizer: claimFinalizer,
        present: false,
      });
      return undefined;
    },
  });
  controller.watch(claims);
  controller.watchMapped(pods, (pod, previous) => [...claimKeysOf(pod), ...(previous ? claimKeysOf(previous) : [])]);
  await controller.run();
}

/** A Pod that ended, and one that no node has taken on, uses nothing. */
function uses(pod: Pod): boolean {
  return Boolean(pod.spec.nodeName) && !isPodTerminal(pod);
}

function inUse(pods: readonly Pod[]): CauseNote {
  return {
    reason: 'InUse',
    message: `it is used by ${pods.length === 1 ? 'a Pod' : `${pods.length} Pods`} and goes when they have ended`,
    waitsFor: pods.map((pod) => subjectOf(podType, pod)),
  };
}

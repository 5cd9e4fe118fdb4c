/** Keeps a volume from vanishing while a claim is bound to it: a finalizer, taken off when it is being deleted and not Bound. */
import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { type CauseNote, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { setFinalizer } from '../common/finalizers.ts';

const volumeFinalizer = 'kubernetes.io/pv-protection';

export async function runPersistentVolumeProtectionController(context: ComponentContext): Promise<void> {
  const volumes = context.informers.of(persistentVolumes);
  const controller = createController(context, {
    name: 'persistentvolume-protection-controller',
    queue: 'pvprotection',
    workers: 1,
    waitFor: [volumes],
    async reconcile(name: string): Promise<ReconcileResult | undefined> {
      const volume = volumes.get(name);
      if (!volume) return undefined;
      const wanted = !volume.metadata.deletionTimestamp;
      if (!wanted && volume.status?.phase === 'Bound') return { causes: [bound(volume)] };
      await setFinalizer(context.client, {
        type: persistentVolumes,
        object: volume,
        finalizer: volumeFinalizer,
        present: wanted,
      });
      return undefined;
    },
  });
  controller.watch(volumes);
  await controller.run();
}

function bound({ spec }: PersistentVolume): CauseNote {
  const { namespace, name } = spec?.claimRef ?? {};
  const waitsFor = [subjectOf(persistentVolumeClaims, { metadata: { namespace, name } })];
  return { reason: 'InUse', message: 'a claim is bound to it, and it goes when that claim is gone', waitsFor };
}

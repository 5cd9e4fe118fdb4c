/** Keeps a volume from vanishing while a claim is bound to it: a finalizer, taken off when it is being deleted and not Bound. */
import { persistentVolumes } from '../../api/gen/core-v1.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { setFinalizer } from '../common/finalizers.ts';

const volumeFinalizer = 'kubernetes.io/pv-protection';

export async function runPersistentVolumeProtectionController(context: ComponentContext): Promise<void> {
  const volumes = context.informers.of(persistentVolumes);
  const controller = createController(context, {
    name: 'persistentvolume-protection-controller',
    workers: 1,
    waitFor: [volumes],
    async reconcile(name: string) {
      const volume = volumes.get(name);
      if (!volume) return;
      const wanted = !volume.metadata.deletionTimestamp;
      if (!wanted && volume.status?.phase === 'Bound') return;
      await setFinalizer(context.client, persistentVolumes, volume, volumeFinalizer, wanted);
    },
  });
  controller.watch(volumes);
  await controller.run();
}

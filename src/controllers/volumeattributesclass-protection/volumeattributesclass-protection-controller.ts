/**
 * Keeps a VolumeAttributesClass from vanishing under the volumes and claims that name it: a finalizer while it lives, taken off when
 * it is being deleted and nothing refers to it. As upstream's, it trusts its informers: a claim that names a class in the very moment of
 * its deletion may be left without it.
 */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/gen/core-v1.ts';
import { volumeAttributesClasses } from '../../api/gen/storage-v1.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { setFinalizer } from '../common/finalizers.ts';

const classFinalizer = 'kubernetes.io/vac-protection';
const byClass = 'vac-protection/class';

export async function runVolumeAttributesClassProtectionController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const classes = informers.of(volumeAttributesClasses);
  const volumes = informers.of(persistentVolumes);
  const claims = informers.of(persistentVolumeClaims);
  volumes.addIndex(byClass, classesOfVolume);
  claims.addIndex(byClass, classesOfClaim);
  const controller = createController(context, {
    name: 'volumeattributesclass-protection-controller',
    workers: 1,
    waitFor: [classes, volumes, claims],
    async reconcile(name: string) {
      const subject = classes.get(name);
      if (!subject) return;
      const wanted = !subject.metadata.deletionTimestamp;
      if (!wanted && (volumes.byIndex(byClass, name).length > 0 || claims.byIndex(byClass, name).length > 0)) return;
      await setFinalizer(client, volumeAttributesClasses, subject, classFinalizer, wanted);
    },
  });
  controller.watch(classes);
  controller.watchMapped(volumes, (volume, previous) => [
    ...classesOfVolume(volume),
    ...(previous ? classesOfVolume(previous) : []),
  ]);
  controller.watchMapped(claims, (claim, previous) => [
    ...classesOfClaim(claim),
    ...(previous ? classesOfClaim(previous) : []),
  ]);
  await controller.run();
}

function classesOfVolume({ spec }: PersistentVolume): string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}

/** The class asked for, the one in force, and the one that a change is under way to. */
function classesOfClaim({ spec, status }: PersistentVolumeClaim): string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.flatMap((name) => (name ? [name] : [])))];
}

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
import { subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
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
    queue: 'vacprotection',
    workers: 1,
    waitFor: [classes, volumes, claims],
    async reconcile(name: string): Promise<ReconcileResult | undefined> {
      const subject = classes.get(name);
      if (!subject) return undefined;
      const wanted = !subject.metadata.deletionTimestamp;
      const users = [
        ...volumes.byIndex(byClass, name).map((volume) => subjectOf(persistentVolumes, volume)),
        ...claims.byIndex(byClass, name).map((claim) => subjectOf(persistentVolumeClaims, claim)),
      ];
      if (!wanted && users.length > 0) {
        const message = `${users.length === 1 ? 'a volume or claim names' : `${users.length} volumes and claims name`} it`;
        return { causes: [{ reason: 'InUse', message, waitsFor: users.slice(0, 3) }] };
      }
      await setFinalizer(client, {
        type: volumeAttributesClasses,
        object: subject,
        finalizer: classFinalizer,
        present: wanted,
      });
      return undefined;
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

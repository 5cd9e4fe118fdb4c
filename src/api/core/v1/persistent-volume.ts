/** PersistentVolumes: storage that outlives Pods. */
import { accessModesText, ageColumn, nameColumn, text } from '../../columns.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { type PersistentVolume, persistentVolumes } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateVolume, validateVolumeUpdate } from './persistent-volume-validation.ts';
import { roundToMilli } from './resource-defaults.ts';
import { quantityOrZero } from './resource-validation.ts';
import { storageClassText } from './storage-class-name.ts';
import { defaultSharedSources } from './volume-defaults.ts';

export const persistentVolumeBehaviour: KindBehaviour<PersistentVolume> = {
  resource: persistentVolumes,
  defaults(volume) {
    const spec = partOf(volume, 'spec');
    fillEmpty(partOf(volume, 'status'), 'phase', 'Pending');
    fillEmpty(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    fillAbsent(spec, 'volumeMode', 'Filesystem');
    defaultSharedSources(spec);
    roundToMilli(spec.capacity);
  },
  countsGeneration: false,
  prepareForCreate(volume, { now }) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: now };
  },
  validate: validateVolume,
  validateUpdate: validateVolumeUpdate,
  subresources: {
    status: {
      prepareForUpdate(volume, previous, { now }) {
        const status = partOf(volume, 'status');
        const stored = previous.status ?? {};
        const time = stored.lastPhaseTransitionTime;
        if (status.phase === stored.phase) {
          if (status.lastPhaseTransitionTime == null && time !== undefined) status.lastPhaseTransitionTime = time;
        } else if (status.lastPhaseTransitionTime == null || status.lastPhaseTransitionTime === time) {
          status.lastPhaseTransitionTime = now;
        }
      },
    },
  },
  columns: [
    nameColumn,
    text('Capacity', ({ spec }) => quantityOrZero(spec.capacity?.storage).toString()),
    text('Access Modes', ({ spec }) => accessModesText(spec.accessModes)),
    text('Reclaim Policy', ({ spec }) => spec.persistentVolumeReclaimPolicy ?? ''),
    text('Status', ({ metadata, status }) =>
      metadata.deletionTimestamp != null ? 'Terminating' : (status?.phase ?? ''),
    ),
    text('Claim', ({ spec }) => (spec.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '')),
    text('StorageClass', storageClassText, { description: 'StorageClass of the pv' }),
    text('VolumeAttributesClass', ({ spec }) => spec.volumeAttributesClassName ?? '<unset>', {
      description: 'VolumeAttributesClass of the pv',
    }),
    text('Reason', ({ status }) => status?.reason ?? ''),
    ageColumn,
    text('VolumeMode', ({ spec }) => spec.volumeMode ?? '<unset>', { wide: true }),
  ],
};

/**
 * Which volume a claim should get: pure. One that was made for the claim first; else the smallest free one that is large enough and
 * alike in class, mode, access and labels.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import { labelMatcherOf } from '../../apimachinery/labels.ts';
import { parseQuantity, quantityOf } from '../../apimachinery/quantity.ts';

const classAnnotation = 'volume.beta.kubernetes.io/storage-class';

export function classOf(of: PersistentVolume | PersistentVolumeClaim): string {
  return of.metadata.annotations?.[classAnnotation] ?? of.spec.storageClassName ?? '';
}

/** Whether the volume's reference names this claim (and no other that had its name before). */
export function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (!claimRef || claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

/** Why the volume cannot serve the claim; undefined when it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const requested = parseQuantity(claim.spec.resources?.requests?.storage ?? '0');
  if (capacityOf(volume).compare(requested) < 0) return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  if (!hasModes(volume, claim)) return 'incompatible accessMode';
  return undefined;
}

const modeOf = ({ spec }: PersistentVolume | PersistentVolumeClaim) => spec.volumeMode ?? 'Filesystem';
const capacityOf = ({ spec }: PersistentVolume) =>
  spec.capacity?.storage ? parseQuantity(spec.capacity.storage) : quantityOf(0);

function hasModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode));
}

/** `onlyPrebound`: the claim waits for its first consumer, so only a volume made for it will do. */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  onlyPrebound: boolean,
): PersistentVolume | undefined {
  const selector = claim.spec.selector ? labelMatcherOf(claim.spec.selector) : undefined;
  const fitting = volumes.filter(
    (volume) => !volume.metadata.deletionTimestamp && mismatch(volume, claim) === undefined,
  );
  const prebound = fitting.find((volume) => volume.spec.claimRef && isBoundTo(volume, claim));
  if (prebound || onlyPrebound) return prebound;
  return fitting
    .filter(({ spec, status }) => !spec.claimRef && (status?.phase === undefined || status.phase === 'Available'))
    .filter(({ metadata }) => selector === undefined || selector.matches(metadata.labels))
    .sort(
      (a, b) => capacityOf(a).compare(capacityOf(b)) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )[0];
}

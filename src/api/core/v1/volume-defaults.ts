/**
 * Defaults of a Pod's volumes and of the volume sources that a PersistentVolume shares with them. A volume without any source is
 * an empty directory.
 */
import type { Draft } from '../../../apimachinery/meta.ts';
import { fillAbsent, fillEmpty } from '../../defaulting.ts';
import type {
  DownwardAPIVolumeFile,
  PersistentVolumeClaimSpec,
  PersistentVolumeSource,
  ProjectedVolumeSource,
  Volume,
} from '../../gen/core-v1.ts';
import { defaultPullPolicy } from './image-reference.ts';
import { roundToMilli } from './resource-defaults.ts';

const defaultMode = 0o644;
const tokenExpirationSeconds = 60 * 60;

export function defaultVolume(volume: Draft<Volume>): void {
  const hasSource = Object.entries(volume).some(([field, source]) => field !== 'name' && source != null);
  if (!hasSource) volume.emptyDir = {};
  if (volume.secret) fillAbsent(volume.secret, 'defaultMode', defaultMode);
  if (volume.configMap) fillAbsent(volume.configMap, 'defaultMode', defaultMode);
  if (volume.downwardAPI) {
    fillAbsent(volume.downwardAPI, 'defaultMode', defaultMode);
    volume.downwardAPI.items?.forEach(defaultDownwardFile);
  }
  if (volume.projected) defaultProjected(volume.projected);
  if (volume.image) fillEmpty(volume.image, 'pullPolicy', defaultPullPolicy(volume.image.reference ?? ''));
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim) defaultClaimSpec(claim);
  defaultSharedSources(volume);
}

/** Sources that are declared alike for Pods and for PersistentVolumes. */
export function defaultSharedSources(source: Draft<Volume> | Draft<PersistentVolumeSource>): void {
  if (source.hostPath) fillAbsent(source.hostPath, 'type', '');
  if (source.iscsi) fillEmpty(source.iscsi, 'iscsiInterface', 'default');
  if (source.rbd) {
    fillEmpty(source.rbd, 'pool', 'rbd');
    fillEmpty(source.rbd, 'user', 'admin');
    fillEmpty(source.rbd, 'keyring', '/etc/ceph/keyring');
  }
  if (source.azureDisk) {
    fillAbsent(source.azureDisk, 'cachingMode', 'ReadWrite');
    fillAbsent(source.azureDisk, 'kind', 'Shared');
    fillAbsent(source.azureDisk, 'fsType', 'ext4');
    fillAbsent(source.azureDisk, 'readOnly', false);
  }
  if (source.scaleIO) {
    fillEmpty(source.scaleIO, 'storageMode', 'ThinProvisioned');
    fillEmpty(source.scaleIO, 'fsType', 'xfs');
  }
}

export function defaultClaimSpec(spec: Draft<PersistentVolumeClaimSpec>): void {
  fillAbsent(spec, 'volumeMode', 'Filesystem');
  roundToMilli(spec.resources?.limits);
  roundToMilli(spec.resources?.requests);
}

function defaultProjected(projected: Draft<ProjectedVolumeSource>): void {
  fillAbsent(projected, 'defaultMode', defaultMode);
  for (const source of projected.sources ?? []) {
    source.downwardAPI?.items?.forEach(defaultDownwardFile);
    if (source.serviceAccountToken) fillAbsent(source.serviceAccountToken, 'expirationSeconds', tokenExpirationSeconds);
  }
}

function defaultDownwardFile(file: Draft<DownwardAPIVolumeFile>): void {
  if (file.fieldRef) fillEmpty(file.fieldRef, 'apiVersion', 'v1');
}

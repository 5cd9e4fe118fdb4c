/** A CSI volume as a Pod of this node uses it: from a PersistentVolume, or made for the Pod alone and gone with it. */
import { createHash } from 'node:crypto';
import type {
  CSIVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  SecretReference,
} from '../../api/gen/core-v1.ts';

export type LifecycleMode = 'Persistent' | 'Ephemeral';

export interface CsiVolume {
  readonly driver: string;
  /** What the driver knows the volume by. */
  readonly handle: string;
  /** Of the PersistentVolume; of an ephemeral volume, in its Pod. Folders and messages have it. */
  readonly specName: string;
  /** In the Pod. */
  readonly podVolumeName: string;
  readonly mode: LifecycleMode;
  readonly isBlock: boolean;
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Empty for an ephemeral volume. */
  readonly accessModes: readonly string[];
  readonly mountOptions: readonly string[];
  readonly stageSecret?: SecretReference | undefined;
  readonly publishSecret?: SecretReference | undefined;
  /** Where it comes from; absent for an ephemeral volume. */
  readonly bound?: { readonly volume: PersistentVolume; readonly claim: PersistentVolumeClaim } | undefined;
}

export function persistentCsiVolume(
  podVolumeName: string,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  readOnly: boolean,
): CsiVolume {
  const { csi, volumeMode, accessModes = [], mountOptions = [] } = volume.spec;
  const { driver, volumeHandle, fsType = '', volumeAttributes = {} } = csi!;
  return {
    driver,
    handle: volumeHandle,
    specName: volume.metadata.name ?? '',
    podVolumeName,
    mode: 'Persistent',
    isBlock: volumeMode === 'Block',
    readOnly,
    fsType,
    attributes: volumeAttributes,
    accessModes,
    mountOptions,
    stageSecret: csi!.nodeStageSecretRef,
    publishSecret: csi!.nodePublishSecretRef,
    bound: { volume, claim },
  };
}

export function ephemeralCsiVolume(pod: Pod, name: string, source: CSIVolumeSource): CsiVolume {
  const { namespace, uid = '' } = pod.metadata;
  const { driver, fsType = '', readOnly = false, volumeAttributes = {}, nodePublishSecretRef } = source;
  return {
    driver,
    handle: `csi-${sha256(`${uid}${name}`)}`,
    specName: name,
    podVolumeName: name,
    mode: 'Ephemeral',
    isBlock: false,
    readOnly,
    fsType,
    attributes: volumeAttributes,
    accessModes: [],
    mountOptions: [],
    publishSecret: nodePublishSecretRef && { namespace, name: nodePublishSecretRef.name },
  };
}

/** Tells volumes of the node apart; for a persistent one it is its name in the Node's status. */
export function csiVolumeKey({ driver, handle }: Pick<CsiVolume, 'driver' | 'handle'>): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** Of the VolumeAttachment, as upstream derives it. */
export function attachmentName(volume: Pick<CsiVolume, 'driver' | 'handle'>, nodeName: string): string {
  return `csi-${sha256(`${volume.handle}${volume.driver}${nodeName}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

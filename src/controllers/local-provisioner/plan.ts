/** What a machine's provisioner does about claims and volumes: pure. It makes folders of its own nodes only, for claims whose Pod comes there. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';

export const provisionerName = 'coracle.io/local';

const selectedNode = 'volume.kubernetes.io/selected-node';
const askedOf = 'volume.kubernetes.io/storage-provisioner';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
const hostnameLabel = 'kubernetes.io/hostname';

/** Where the volumes of a node of this machine are, absolute; undefined for all others. */
export type VolumeRoots = (nodeName: string) => string | undefined;

/** The node that the claim's Pod comes to, and where its volumes are; undefined where nothing is asked of this machine. */
export function askedPlace({ metadata, spec }: PersistentVolumeClaim, rootOf: VolumeRoots): Place | undefined {
  const { annotations, deletionTimestamp } = metadata;
  if (deletionTimestamp || spec?.volumeName || annotations?.[askedOf] !== provisionerName) return undefined;
  const nodeName = annotations[selectedNode] ?? '';
  const root = rootOf(nodeName);
  return root === undefined ? undefined : { nodeName, root };
}

export interface Place {
  readonly nodeName: string;
  readonly root: string;
}

export function volumeName({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/** A folder of that name below `root`. */
export function volumeFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  { nodeName, root }: Place,
): PersistentVolume {
  const { namespace, name, uid } = claim.metadata;
  const { accessModes, resources, volumeMode } = claim.spec ?? {};
  const onlyHere = { key: hostnameLabel, operator: 'In' as const, values: [nodeName] };
  return {
    metadata: { name: volumeName(claim), annotations: { [provisionedBy]: provisionerName } },
    spec: {
      capacity: { storage: resources?.requests?.storage ?? '0' },
      accessModes,
      volumeMode,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      mountOptions: storageClass.mountOptions,
      local: { path: `${root}/${volumeName(claim)}` },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onlyHere] }] } },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
    },
  };
}

/** What of a claim a folder cannot be. */
export function refusal({ spec }: PersistentVolumeClaim): string | undefined {
  if (spec?.volumeMode === 'Block') return 'a folder is no block device';
  if (spec?.dataSource || spec?.dataSourceRef) return 'a folder begins empty: it has no data source';
  return undefined;
}

/** The folder to be removed with a volume that was made here and is given back; undefined when there is none. */
export function folderToRemove({ metadata, spec, status }: PersistentVolume, rootOf: VolumeRoots): string | undefined {
  const ours = metadata.annotations?.[provisionedBy] === provisionerName;
  const hosts = spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0];
  const root = hosts?.key === hostnameLabel ? rootOf(hosts.values?.join() ?? '') : undefined;
  const path = spec?.local?.path ?? '';
  // Whatever an object says, nothing but what this provisioner made may go.
  const isFolder =
    root !== undefined && path === `${root}/${metadata.name}` && /^pvc-[0-9a-f-]+$/.test(metadata.name ?? '');
  const givenBack = status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete';
  return ours && isFolder && givenBack ? path : undefined;
}

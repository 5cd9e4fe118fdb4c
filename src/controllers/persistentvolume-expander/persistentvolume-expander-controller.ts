/**
 * Tells who is to make a volume larger that its claim asks more of. As upstream's since the last driver left the tree, it expands nothing:
 * for volumes of drivers that moved to CSI it names the resizer in the claim, and for all others it says that somebody outside is waited for.
 */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/gen/core-v1.ts';
import { parseQuantity } from '../../apimachinery/quantity.ts';
import { type CauseNote, subjectOf, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { withKind } from '../common/events.ts';

const resizerAnnotation = 'volume.kubernetes.io/storage-resizer';
const preResizeAnnotation = 'volume.alpha.kubernetes.io/pre-resize-capacity';

/** Sources in a volume's spec whose drivers moved out of the tree: their old names, and the CSI drivers that took over. */
const migrated: readonly {
  readonly source: keyof NonNullable<PersistentVolume['spec']>;
  readonly plugin: string;
  readonly driver: string;
}[] = [
  { source: 'awsElasticBlockStore', plugin: 'kubernetes.io/aws-ebs', driver: 'ebs.csi.aws.com' },
  { source: 'azureDisk', plugin: 'kubernetes.io/azure-disk', driver: 'disk.csi.azure.com' },
  { source: 'azureFile', plugin: 'kubernetes.io/azure-file', driver: 'file.csi.azure.com' },
  { source: 'cinder', plugin: 'kubernetes.io/cinder', driver: 'cinder.csi.openstack.org' },
  { source: 'gcePersistentDisk', plugin: 'kubernetes.io/gce-pd', driver: 'pd.csi.storage.gke.io' },
  { source: 'portworxVolume', plugin: 'kubernetes.io/portworx-volume', driver: 'pxd.portworx.com' },
  { source: 'vsphereVolume', plugin: 'kubernetes.io/vsphere-volume', driver: 'csi.vsphere.vmware.com' },
];

export async function runPersistentVolumeExpanderController(context: ComponentContext): Promise<void> {
  const { client, informers } = context;
  const claims = informers.of(persistentVolumeClaims);
  const events = context.eventRecorder('volume_expand');

  async function reconcile(key: string): Promise<ReconcileResult | undefined> {
    const claim = claims.get(key);
    if (!claim) return undefined;
    const volume = await client.get(persistentVolumes, { name: claim.spec.volumeName ?? '' });
    const { namespace, uid } = volume.spec.claimRef ?? {};
    if (namespace !== claim.metadata.namespace || uid !== claim.metadata.uid)
      throw new Error(`persistent Volume is not bound to PVC being updated : ${key}`);
    if (!isLarger(requested(claim), granted(claim)) && !volume.metadata.annotations?.[preResizeAnnotation])
      return undefined;
    const tell = (message: string) =>
      events.record(withKind(persistentVolumeClaims, claim), 'Normal', 'ExternalExpanding', message);
    const moved = migrated.find(({ source }) => volume.spec[source] !== undefined);
    if (!moved) {
      tell('waiting for an external controller to expand this PVC');
      return { causes: [expanding(volume, volume.spec.csi?.driver)] };
    }
    tell(`CSI migration enabled for ${moved.plugin}; waiting for external resizer to expand the pvc`);
    await nameResizer(claim, moved.driver);
    return { causes: [expanding(volume, moved.driver)] };
  }

  async function nameResizer({ metadata }: PersistentVolumeClaim, driver: string): Promise<void> {
    if (metadata.annotations?.[resizerAnnotation] === driver) return;
    const { namespace, name = '', uid } = metadata;
    const body = { metadata: { uid, annotations: { [resizerAnnotation]: driver } } };
    await client.patch(
      persistentVolumeClaims,
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
  }

  const controller = createController(context, {
    name: 'persistentvolume-expander-controller',
    workers: 10,
    reconcile,
    about: (key) => subjectOfKey(persistentVolumeClaims, key),
  });
  controller.watchMapped(claims, (claim, previous) => {
    if (claim.status?.phase !== 'Bound') return [];
    const { namespace, name } = claim.metadata;
    const isNews =
      previous === undefined ||
      isLarger(requested(claim), requested(previous)) ||
      isLarger(granted(claim), granted(previous));
    return isNews ? [`${namespace}/${name}`] : [];
  });
  await controller.run();
}

function requested({ spec }: PersistentVolumeClaim): string {
  return spec.resources?.requests?.storage ?? '0';
}

function granted({ status }: PersistentVolumeClaim): string {
  return status?.capacity?.storage ?? '0';
}

function isLarger(a: string, b: string): boolean {
  return parseQuantity(a).compare(parseQuantity(b)) > 0;
}

function expanding(volume: PersistentVolume, driver: string | undefined): CauseNote {
  const who = driver === undefined ? 'somebody outside the cluster' : `the resizer of ${driver}`;
  const message = `it asks for more than it has, and ${who} has not made the volume larger yet`;
  return { reason: 'ExternalExpanding', message, waitsFor: [subjectOf(persistentVolumes, volume)] };
}

/**
 * The provisioner of a machine: gives claims of class `coracle.io/local` a folder of it, once a Pod that uses them is to run on one of its nodes,
 * and takes it back when the claim is gone, unless its class retains it. The folder is there before the volume is, and goes before it.
 */
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '../../api/gen/core-v1.ts';
import { storageClasses } from '../../api/gen/storage-v1.ts';
import { isAlreadyExists, isNotFound, messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import { withKind } from '../common/events.ts';
import {
  askedPlace,
  folderToRemove,
  type Place,
  provisionerName,
  refusal,
  type VolumeRoots,
  volumeFor,
  volumeName,
} from './plan.ts';

export interface LocalProvisionerOptions {
  /** The node that reports. */
  readonly nodeName: string;
  readonly rootOf: VolumeRoots;
  readonly folders: {
    /** Makes it, and those above it; writable for every user of a container. */
    make(path: string): Promise<void>;
    /** With all that is in it; nothing is there: nothing to do. */
    remove(path: string): Promise<void>;
  };
}

const byVolume = 'volume/';
const byClaim = 'claim/';

/** Runs until the context's signal is aborted. */
export async function runLocalProvisioner(context: ComponentContext, options: LocalProvisionerOptions): Promise<void> {
  const { client, informers } = context;
  const { nodeName, folders, rootOf } = options;
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const events = context.eventRecorder(provisionerName, nodeName);

  async function provision(claim: PersistentVolumeClaim, place: Place): Promise<ReconcileResult | undefined> {
    const about = withKind(persistentVolumeClaims, claim);
    const name = volumeName(claim);
    const storageClass = classes.get(claim.spec?.storageClassName ?? '');
    if (volumes.get(name) || storageClass?.provisioner !== provisionerName) return undefined;
    const why = refusal(claim);
    if (why) {
      const message = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}: ${why}`;
      events.record(about, 'Warning', 'ProvisioningFailed', message);
      return { causes: [{ reason: 'ProvisioningFailed', message: why }] };
    }
    const { namespace } = claim.metadata;
    const asked = `External provisioner is provisioning volume for claim ${JSON.stringify(`${namespace}/${claim.metadata.name}`)}`;
    events.record(about, 'Normal', 'Provisioning', asked);
    const volume = volumeFor(claim, storageClass, place);
    try {
      await folders.make(volume.spec!.local!.path);
      await client.create(persistentVolumes, volume);
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      const message = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}: ${messageOf(error)}`;
      events.record(about, 'Warning', 'ProvisioningFailed', message);
      throw error;
    }
    events.record(about, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${name}`);
    return undefined;
  }

  async function takeBack(name: string): Promise<void> {
    const volume = volumes.get(name);
    const folder = volume && folderToRemove(volume, rootOf);
    if (!folder) return;
    try {
      await folders.remove(folder);
      await client.delete(persistentVolumes, { name }, { preconditions: { uid: volume.metadata.uid } });
    } catch (error) {
      if (isNotFound(error)) return;
      events.record(withKind(persistentVolumes, volume), 'Warning', 'VolumeFailedDelete', messageOf(error));
      throw error;
    }
  }

  const controller = createController(context, {
    name: 'local-provisioner',
    workers: 2,
    async reconcile(key) {
      if (key.startsWith(byVolume)) return takeBack(key.slice(byVolume.length));
      const claim = claims.get(key.slice(byClaim.length));
      const place = claim && askedPlace(claim, rootOf);
      return place ? provision(claim, place) : undefined;
    },
  });
  const askedKeys = (all: readonly PersistentVolumeClaim[]) =>
    all
      .filter((claim) => askedPlace(claim, rootOf))
      .map(({ metadata }) => `${byClaim}${metadata.namespace}/${metadata.name}`);
  controller.watchMapped(claims, (claim) => askedKeys([claim]));
  controller.watchMapped(volumes, ({ metadata }) => [`${byVolume}${metadata.name}`]);
  controller.watchMapped(classes, () => askedKeys(claims.list()));
  await controller.run();
}

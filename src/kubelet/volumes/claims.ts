/**
 * From a Pod's claim to the volume it is bound to. A Pod may only have what is really bound to its claim, and of claims that are made
 * for ephemeral volumes only its own; anything else is refused in upstream's words.
 */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  type Volume,
} from '../../api/gen/core-v1.ts';
import { controllerOf } from '../../apimachinery/meta.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';

/** A claim that leads to no volume that the Pod can have; `volume` names the Pod's volume. */
export class ClaimError extends Error {
  constructor(volume: string, message: string, options?: ErrorOptions) {
    super(
      `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${message}`,
      options,
    );
    this.name = 'ClaimError';
  }
}

const protection = 'kubernetes.io/pvc-protection';

/** The claim that a volume names, or for an ephemeral one the claim that a controller makes for it. */
export function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  return volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
}

export interface BoundVolume {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

export async function boundVolume(client: Client, pod: Pod, volume: Volume): Promise<BoundVolume> {
  const { namespace, uid } = pod.metadata;
  const name = claimNameOf(pod, volume)!;
  try {
    const claim = await get(
      client.get(persistentVolumeClaims, { namespace, name }),
      'failed to fetch PVC from API server',
    );
    if (claim.metadata.deletionTimestamp && !claim.metadata.finalizers?.includes(protection))
      throw new Error('PVC is being deleted');
    if (claim.status?.phase !== 'Bound') throw new Error('PVC is not bound');
    const { volumeName } = claim.spec;
    if (!volumeName) throw new Error('PVC has empty pvc.Spec.VolumeName');
    if (volume.ephemeral && controllerOf(claim)?.uid !== uid) {
      const who = `${namespace}/${pod.metadata.name}`;
      throw new ClaimError(volume.name, `PVC ${namespace}/${name} was not created for pod ${who} (pod is not owner)`);
    }
    const found = await get(
      client.get(persistentVolumes, { name: volumeName }),
      `failed to fetch PV ${volumeName} from API server`,
    );
    const { claimRef } = found.spec;
    const object = `found PV object ${volumeName} but`;
    if (!claimRef)
      throw new Error(`${object} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`);
    if (claimRef.uid !== claim.metadata.uid)
      throw new Error(
        `${object} its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid}`,
      );
    checkMode(pod, volume, found);
    return { volume: found, claim };
  } catch (error) {
    if (error instanceof ClaimError) throw error;
    throw new ClaimError(volume.name, `error processing PVC ${namespace}/${name}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function get<T>(request: Promise<T>, failure: string): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw new Error(`${failure}: ${messageOf(error)}`, { cause: error });
  }
}

/** A disk cannot be mounted as a folder, nor a folder be given as a device. */
function checkMode(pod: Pod, { name }: Volume, { spec }: PersistentVolume): void {
  const mode = spec.volumeMode ?? 'Filesystem';
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const wrong = (place: string) =>
    new ClaimError(name, `volume ${name} has volumeMode ${mode}, but is specified in ${place}`);
  if (mode !== 'Filesystem' && all.some(({ volumeMounts = [] }) => volumeMounts.some((mount) => mount.name === name)))
    throw wrong('volumeMounts');
  if (mode !== 'Block' && all.some(({ volumeDevices = [] }) => volumeDevices.some((device) => device.name === name)))
    throw wrong('volumeDevices');
}

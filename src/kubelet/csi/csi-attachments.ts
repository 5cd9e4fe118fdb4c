/**
 * Whether a volume that must be attached to its node is. First the Node's status says that the volume is in use here, so that nobody
 * takes it away; then the attach-detach controller writes that it is attached, and the VolumeAttachment says so too.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { volumeAttachments } from '../../api/gen/storage-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { VolumeError } from '../volumes/resolve.ts';
import { attachmentName, type CsiVolume, csiVolumeKey } from './csi-volume.ts';

/** The volume is not there yet and nothing has failed: there is nothing to tell anybody, unless it takes too long. */
export class VolumePending extends Error {
  readonly isOverdue: boolean;

  constructor(message: string, { isOverdue = false }: { readonly isOverdue?: boolean } = {}) {
    super(message);
    this.name = 'VolumePending';
    this.isOverdue = isOverdue;
  }
}

export interface CsiAttachmentsOptions {
  readonly client: Client;
  readonly nodeName: string;
  node(): Node | undefined;
  /** Posts the Node's status as it is now. */
  reportNode(): Promise<void>;
}

export class CsiAttachments {
  readonly #options: CsiAttachmentsOptions;

  constructor(options: CsiAttachmentsOptions) {
    this.#options = options;
  }

  /** What the attacher has to say to the driver. Throws `VolumePending` as long as the volume is not attached. */
  async publishContext(volume: CsiVolume): Promise<Readonly<Record<string, string>>> {
    const { client, nodeName, reportNode } = this.#options;
    const key = csiVolumeKey(volume);
    if (!this.#isInUse(key)) await reportNode();
    const message = (what: string) => `${what} for volume "${volume.specName}" (UniqueName: "${key}")`;
    if (!this.#isInUse(key))
      throw new VolumePending(
        message("Volume has not been added to the list of VolumesInUse in the node's volume status"),
      );
    const attached = this.#options.node()?.status?.volumesAttached ?? [];
    if (!attached.some(({ name }) => name === key))
      throw new VolumePending(message('Volume not attached according to node status'));
    const name = attachmentName(volume, nodeName);
    const operation = 'MountVolume.WaitForAttach';
    const { handle, specName } = volume;
    const { metadata, status } = await client.get(volumeAttachments, { name }).catch((error) => {
      const what = `volume ${handle} has GET error for volume attachment ${name}: ${messageOf(error)}`;
      throw new VolumeError(specName, what, { operation, cause: error });
    });
    if (metadata.deletionTimestamp)
      throw new VolumeError(specName, 'volume attachment is being deleted', { operation });
    if (status?.attached) return status.attachmentMetadata ?? {};
    const why = status?.attachError?.message ?? `volume ${handle} is not attached for volume attachment ${name}`;
    throw new VolumeError(specName, why, { operation });
  }

  #isInUse(key: string): boolean {
    return this.#options.node()?.status?.volumesInUse?.includes(key) ?? false;
  }
}

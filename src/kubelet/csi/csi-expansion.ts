/**
 * Lets a driver grow a volume on the node once its PersistentVolume is larger than what its claim has, and has the claim say so. What
 * the driver says cannot be done is marked in the claim, for its controller to see; a Pod that has its volume keeps it in any case.
 */

import { amountOf } from '../../api/core/v1/pod-resources.ts';
import { type PersistentVolumeClaim, type Pod, persistentVolumeClaims } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import { GrpcError, grpcCodes } from '../../base/grpc/index.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { isFinal, volumeCapability } from './csi-driver.ts';
import { credentials } from './csi-inputs.ts';
import type { CsiVolume } from './csi-volume.ts';
import type { ExpansionPlace } from './csi-volumes.ts';

export interface CsiExpansionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: EventRecorder;
  readonly nodeName: string;
}

/** Sizes are quantities. */
interface Growth {
  readonly volume: CsiVolume;
  readonly claim: PersistentVolumeClaim;
  readonly size: string;
  /** A controller follows how it goes; older ones only look at the claim's capacity. */
  readonly isFollowed: boolean;
  /** Another node has grown it, and had the claim say so: this one still has to see it grow. */
  readonly isTold: boolean;
}

/** With the Pod on whose behalf it grows. */
type Wish = Growth & { readonly pod: Pod };

const resizeConditions = new Set(['FileSystemResizePending', 'Resizing', 'ControllerResizeError', 'NodeResizeError']);
const infeasibleCodes: ReadonlySet<number> = new Set([
  grpcCodes.invalidArgument,
  grpcCodes.outOfRange,
  grpcCodes.notFound,
]);

export class CsiExpansion {
  readonly #options: CsiExpansionOptions;
  /** Volumes that their drivers will not grow while they are in use here, and the size that was asked for. */
  readonly #refused = new Map<string, string>();
  /** As this node has seen volumes: one that many nodes write has to grow on each of them. */
  readonly #seen = new Map<string, string>();

  constructor(options: CsiExpansionOptions) {
    this.#options = options;
  }

  mayGrow(volume: CsiVolume): boolean {
    return growthOf(volume, this.#seen.get(volume.handle)) !== undefined;
  }

  /** Never rejects. */
  async expand(pod: Pod, volume: CsiVolume, place: ExpansionPlace): Promise<void> {
    const present = volume.bound?.claim.status?.capacity?.storage;
    if (present !== undefined && !this.#seen.has(volume.handle)) this.#seen.set(volume.handle, present);
    const growth = growthOf(volume, this.#seen.get(volume.handle));
    if (!growth || this.#refused.get(volume.handle) === growth.size) return;
    const wish = { pod, ...growth };
    if (volume.readOnly) {
      const message = `MountVolume.NodeExpandVolume failed for volume "${volume.specName}" requested read-only file system`;
      this.#tell(wish, 'Warning', 'FileSystemResizeFailed', message);
      return;
    }
    try {
      await this.#expand(wish, place);
    } catch (error) {
      const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.specName}" : ${messageOf(error)}`;
      this.#record(pod, 'Pod', 'Warning', 'VolumeResizeFailed', message);
    }
  }

  async #expand(wish: Wish, { driver, capabilities, publishPath, stagingPath = '' }: ExpansionPlace): Promise<void> {
    const { volume, size, isFollowed, isTold } = wish;
    const { client, log, nodeName } = this.#options;
    if (!capabilities.has('EXPAND_VOLUME')) {
      // An older controller waits for nobody here: it takes the volume for grown.
      if (!isFollowed) return;
      throw new Error(`NodeExpand is not supported by the CSI driver ${volume.driver}`);
    }
    if (isFollowed) await this.#patch(wish, { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } });
    const secret = volume.bound?.volume.spec.csi?.nodeExpandSecretRef;
    const failure = `expander.NodeExpand failed to get NodeExpandSecretRef ${secret?.namespace}/${secret?.name}`;
    try {
      await driver.call('NodeExpandVolume', {
        volumeId: volume.handle,
        volumePath: publishPath,
        capacityRange: { requiredBytes: amountOf('memory', size) },
        stagingTargetPath: stagingPath,
        volumeCapability: volumeCapability(volume, capabilities),
        secrets: await credentials(client, secret, failure),
      });
    } catch (error) {
      if (isFollowed && isFinal(error)) await this.#markFailed(wish, error as GrpcError);
      if (error instanceof GrpcError && error.code === grpcCodes.failedPrecondition) {
        this.#refused.set(volume.handle, size);
        log.error('a CSI volume cannot grow while it is in use', { volume: volume.specName, error: messageOf(error) });
        return;
      }
      throw new Error(`Expander.NodeExpand failed to expand the volume ${separator(error)}${messageOf(error)}`, {
        cause: error,
      });
    }
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.specName}" ${nodeName}`;
    this.#tell(wish, 'Normal', 'FileSystemResizeSuccessful', message);
    this.#seen.set(volume.handle, size);
    if (isTold) return;
    const { status } = wish.claim;
    await this.#patch(wish, {
      capacity: { storage: size },
      ...(status?.allocatedResourceStatuses?.storage ? { allocatedResourceStatuses: { storage: null } } : {}),
      conditions: (status?.conditions ?? []).filter(({ type }) => !resizeConditions.has(type)),
    });
  }

  async #markFailed(wish: Wish, error: GrpcError): Promise<void> {
    const now = formatTime(this.#options.clock.now());
    const message = `failed to expand pvc with ${error.message}`;
    const failed = { type: 'NodeResizeError', status: 'True', lastTransitionTime: now, message };
    const others = (wish.claim.status?.conditions ?? []).filter(({ type }) => type !== 'NodeResizeError');
    const isInfeasible = infeasibleCodes.has(error.code);
    await this.#patch(wish, {
      conditions: [...others, failed],
      ...(isInfeasible ? { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } } : {}),
    });
  }

  async #patch({ claim }: Wish, status: Readonly<Record<string, unknown>>): Promise<void> {
    const { namespace, name, uid } = claim.metadata;
    const body = { metadata: { uid }, status };
    await this.#options.client.patch(
      persistentVolumeClaims,
      { namespace, name: name ?? '' },
      { type: 'merge', body },
      { subresource: 'status' },
    );
  }

  #tell({ pod, claim }: Wish, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#record(pod, 'Pod', type, reason, message);
    this.#record(claim, 'PersistentVolumeClaim', type, reason, message);
  }

  #record(
    object: Pod | PersistentVolumeClaim,
    kind: string,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.#options.recorder.record({ ...object, apiVersion: 'v1', kind }, type, reason, message);
  }
}

/** What the driver itself refuses is no sentence of its own in upstream's messages. */
function separator(error: unknown): string {
  return error instanceof GrpcError && infeasibleCodes.has(error.code) ? '' : ': ';
}

/** Undefined where nothing has to grow. */
function growthOf(volume: CsiVolume, seen: string | undefined): Growth | undefined {
  const { claim, volume: source } = volume.bound ?? {};
  const present = claim?.status?.capacity?.storage;
  const wanted = source?.spec.capacity?.storage;
  if (!claim || present === undefined || wanted === undefined) return undefined;
  const isLess = (a: string, b: string) => amountOf('memory', a) < amountOf('memory', b);
  const isShared = source?.spec.accessModes?.includes('ReadWriteMany') ?? false;
  if (isShared && seen !== undefined && isLess(seen, wanted) && !isLess(present, wanted))
    return { volume, claim, size: wanted, isFollowed: false, isTold: true };
  const state = claim.status?.allocatedResourceStatuses?.storage;
  const allocated = claim.status?.allocatedResources?.storage;
  const isFollowed = state !== undefined || allocated !== undefined;
  const size = isFollowed ? (allocated ?? wanted) : wanted;
  if (!isLess(present, size)) return undefined;
  if (isFollowed && state !== 'NodeResizePending' && state !== 'NodeResizeInProgress') return undefined;
  return { volume, claim, size, isFollowed, isTold: false };
}

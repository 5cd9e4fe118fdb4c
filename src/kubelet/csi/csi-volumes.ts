/**
 * The CSI volumes of this node. A persistent volume is staged once for the node and published to each Pod that uses it; when the last
 * of them has let go of it, it is unstaged. One thing at a time happens to one volume. What lies in the volumes' folders is the truth: a
 * kubelet that starts anew learns from there who uses what, and publishes again what its Pods still want, which drivers must bear.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { CSIDriver } from '../../api/gen/storage-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { VolumeError } from '../volumes/resolve.ts';
import { type CsiAttachments, VolumePending } from './csi-attachments.ts';
import { type CsiCapabilities, type CsiDriver, isFinal, volumeCapability } from './csi-driver.ts';
import type { CsiDrivers } from './csi-drivers.ts';
import type { CsiFolders, Publication } from './csi-folders.ts';
import { credentials, type InputSources, publishInputs } from './csi-inputs.ts';
import type { PublishedVolume } from './csi-stats.ts';
import { attachmentName, type CsiVolume, csiVolumeKey } from './csi-volume.ts';

export interface CsiVolumesOptions extends InputSources {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly drivers: CsiDrivers;
  readonly folders: CsiFolders;
  readonly attachments: CsiAttachments;
  /** How often a volume is published again whose driver asks for it. */
  readonly republishMs: number;
  /** What is said of a driver in the cluster; undefined where nothing is. */
  driverObject(name: string): Promise<CSIDriver | undefined>;
  /** Whether a volume that is there has to grow. */
  mayGrow(volume: CsiVolume): boolean;
  /** After a volume is there for its Pod: it may have to grow. */
  expand(pod: Pod, volume: CsiVolume, place: ExpansionPlace): Promise<void>;
  /** The volumes in use are others now. */
  onInUseChange(): void;
}

export interface ExpansionPlace {
  readonly driver: CsiDriver;
  readonly capabilities: CsiCapabilities;
  readonly publishPath: string;
  readonly stagingPath: string | undefined;
}

export interface MountedCsiVolume {
  /** Where containers have it from. */
  readonly path: string;
  readonly renewAtMs?: number | undefined;
}

type Place = Pick<CsiVolume, 'driver' | 'handle' | 'specName' | 'isBlock'>;

interface Use {
  place: Place;
  /** Uids of those that have it or want it. */
  readonly pods: Set<string>;
  /** Those of them that have it, or may have it. */
  readonly holders: Set<string>;
  /** When it was last published to which Pod; absent: not by this kubelet. */
  readonly publishedMs: Map<string, number>;
  /** What its Pods call it. */
  readonly podNames: Map<string, string>;
  isStaged: boolean;
  /** Undefined as long as no Pod has asked this kubelet for it. */
  isAttachable: boolean | undefined;
  turn: Promise<unknown>;
}

/** As long as upstream waits before it tells a Pod's reader that volumes are missing. */
const longestSilenceMs = 123_000;

export class CsiVolumes {
  readonly #options: CsiVolumesOptions;
  readonly #uses = new Map<string, Use>();
  /** Since when Pods wait for a volume to be attached, by Pod and volume. */
  readonly #waitingSinceMs = new Map<string, number>();
  #isRestored = false;

  constructor(options: CsiVolumesOptions) {
    this.#options = options;
  }

  /** Finds what an earlier kubelet left. */
  async restore(): Promise<void> {
    const { folders } = this.#options;
    for (const { podUid, specName, isBlock, data } of await folders.publications()) {
      if (!data) continue;
      const use = this.#use({ driver: data.driverName, handle: data.volumeHandle, specName, isBlock });
      use.pods.add(podUid);
      use.holders.add(podUid);
    }
    this.#isRestored = true;
  }

  /** What the Node's status says is in use, given what it said before. */
  inUse(before: readonly string[]): readonly string[] {
    if (!this.#isRestored) return before;
    const isNamed = ([key, { isAttachable }]: [string, Use]) => isAttachable ?? before.includes(key);
    return [...this.#uses]
      .filter(isNamed)
      .map(([key]) => key)
      .sort();
  }

  /** Pods that wait for volumes to be attached. */
  get waitingPods(): readonly string[] {
    return [...new Set([...this.#waitingSinceMs.keys()].map((key) => key.split('/')[0]!))];
  }

  /** Throws a `VolumeError`, or `VolumePending`. What was done so far is undone by `unmountPod`. */
  async mount(pod: Pod, volume: CsiVolume): Promise<MountedCsiVolume> {
    const use = this.#use(volume);
    use.place = placeOf(volume);
    use.pods.add(uidOf(pod));
    return this.#inTurn(use, async () => {
      try {
        return await this.#mount(pod, volume, use);
      } catch (error) {
        if (error instanceof VolumeError || error instanceof VolumePending) throw error;
        throw new VolumeError(volume.specName, messageOf(error), { cause: error });
      }
    });
  }

  /** Nothing of the Pod runs any more. Rejects, and can be called again, when a driver is not there or does not let go. */
  async unmountPod(podUid: string): Promise<void> {
    const { folders } = this.#options;
    for (const publication of await folders.publications(podUid)) {
      const { specName, isBlock, data } = publication;
      if (!data) {
        await folders.removeUnknown(publication);
        continue;
      }
      const use = this.#use({ driver: data.driverName, handle: data.volumeHandle, specName, isBlock });
      await this.#inTurn(use, () => this.#unpublish(use, publication));
    }
    const own = [...this.#uses.values()].filter(({ pods }) => pods.has(podUid));
    for (const use of own) await this.#inTurn(use, () => this.#release(use, podUid));
    for (const key of this.#waitingSinceMs.keys()) if (key.startsWith(`${podUid}/`)) this.#waitingSinceMs.delete(key);
  }

  /** What is staged though no Pod uses it: its last user's kubelet ended in between. */
  async unstageUnused(): Promise<void> {
    for (const place of await this.#options.folders.staged()) {
      const use = this.#use(place);
      if (use.pods.size > 0) continue;
      await this.#inTurn(use, () => this.#release(use, ''));
    }
  }

  /** Volumes that this kubelet has published to a Pod. */
  publishedTo(podUid: string): readonly PublishedVolume[] {
    return [...this.#uses.values()].flatMap(({ place, podNames }) => {
      const name = podNames.get(podUid);
      const path = this.#options.folders.publishPath(place, podUid);
      return name === undefined ? [] : [{ driver: place.driver, handle: place.handle, name, path }];
    });
  }

  async #mount(pod: Pod, volume: CsiVolume, use: Use): Promise<MountedCsiVolume> {
    const { clock, folders, republishMs } = this.#options;
    const uid = uidOf(pod);
    const object = await this.#options.driverObject(volume.driver);
    use.isAttachable = volume.mode === 'Persistent' && object?.spec.attachRequired !== false;
    const stagingPath = folders.stagingPath(use.place);
    const publishPath = folders.publishPath(use.place, uid);
    const path = folders.containerPath(use.place, uid);
    const publishedMs = use.publishedMs.get(uid);
    const republishes = object?.spec.requiresRepublish === true;
    const isDue = publishedMs === undefined || (republishes && clock.monotonic() - publishedMs >= republishMs);
    const renewAtMs = republishes ? clock.now() + republishMs : undefined;
    if (!isDue && !this.#options.mayGrow(volume)) return { path, renewAtMs };
    const publishContext = isDue && use.isAttachable ? await this.#attached(pod, volume) : {};
    const driver = this.#driver(volume, use);
    const capabilities = await driver.capabilities();
    const stages = volume.mode === 'Persistent' && capabilities.has('STAGE_UNSTAGE_VOLUME');
    if (isDue) {
      checkLifecycleMode(volume, object);
      checkExclusive(volume, uid, use.holders);
      const context = { pod, use, driver, capabilities, publishContext, object };
      if (stages && !use.isStaged) await this.#stage(volume, context);
      await this.#publish(volume, { ...context, stagingPath: stages ? stagingPath : undefined });
      use.publishedMs.set(uid, clock.monotonic());
      use.podNames.set(uid, volume.podVolumeName);
    }
    const place = { driver, capabilities, publishPath, stagingPath: stages ? stagingPath : undefined };
    await this.#options.expand(pod, volume, place);
    return { path, renewAtMs };
  }

  /** In upstream's words it is missed by whichever step comes first. */
  #driver({ driver, isBlock, mode, specName }: CsiVolume, { isStaged }: Use): CsiDriver {
    const needsStaging = mode === 'Persistent' && !isStaged;
    const { operation, purpose } = missedBy[isBlock ? 'disk' : needsStaging ? 'staging' : 'publication'];
    try {
      return this.#options.drivers.get(driver, purpose);
    } catch (error) {
      throw new VolumeError(specName, messageOf(error), { operation, cause: error });
    }
  }

  async #attached(pod: Pod, volume: CsiVolume): Promise<Readonly<Record<string, string>>> {
    const { attachments, clock } = this.#options;
    const key = `${uidOf(pod)}/${csiVolumeKey(volume)}`;
    try {
      const context = await attachments.publishContext(volume);
      this.#waitingSinceMs.delete(key);
      return context;
    } catch (error) {
      if (!(error instanceof VolumePending)) throw error;
      const sinceMs = this.#waitingSinceMs.get(key) ?? clock.monotonic();
      const isLong = clock.monotonic() - sinceMs >= longestSilenceMs;
      this.#waitingSinceMs.set(key, isLong ? clock.monotonic() : sinceMs);
      if (!isLong) throw error;
      throw new VolumePending(overdue(volume.podVolumeName), { isOverdue: true });
    }
  }

  async #stage(volume: CsiVolume, { pod, use, driver, capabilities, publishContext }: MountContext): Promise<void> {
    const { client, folders } = this.#options;
    const operation = volume.isBlock ? 'MapVolume.SetUpDevice' : 'MountVolume.MountDevice';
    const { stageSecret } = volume;
    try {
      const failure = `fetching NodeStageSecretRef ${stageSecret?.namespace}/${stageSecret?.name} failed`;
      const secrets = await credentials(client, stageSecret, failure);
      const place = use.place;
      await folders.prepareStaging(place, { driverName: volume.driver, volumeHandle: volume.handle });
      try {
        await driver.call('NodeStageVolume', {
          volumeId: volume.handle,
          publishContext,
          stagingTargetPath: folders.stagingPath(place),
          volumeCapability: volumeCapability(volume, capabilities, mountGroup(pod, capabilities)),
          secrets,
          volumeContext: volume.attributes,
        });
      } catch (error) {
        if (isFinal(error)) await folders.removeStaging(place).catch((cleanup) => this.#warn(volume, cleanup));
        // It may have been staged after all.
        else use.isStaged = false;
        throw error;
      }
    } catch (error) {
      throw new VolumeError(volume.specName, messageOf(error), { operation, cause: error });
    }
    use.isStaged = true;
  }

  async #publish(
    volume: CsiVolume,
    context: MountContext & { readonly stagingPath: string | undefined },
  ): Promise<void> {
    const { pod, use, driver, capabilities, publishContext, object, stagingPath = '' } = context;
    const { folders, nodeName } = this.#options;
    const uid = uidOf(pod);
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    const inputs = await publishInputs(pod, volume, object, this.#options);
    const publishPath = folders.publishPath(use.place, uid);
    await folders.preparePublication(use.place, uid, {
      driverName: volume.driver,
      volumeHandle: volume.handle,
      specVolID: volume.specName,
      nodeName,
      attachmentID: attachmentName(volume, nodeName),
      ...(volume.isBlock ? {} : { volumeLifecycleMode: volume.mode }),
    });
    // A Pod keeps what it has, even if its driver fails to renew it.
    const isFirst = !use.holders.has(uid);
    use.holders.add(uid);
    try {
      await driver.call('NodePublishVolume', {
        volumeId: volume.handle,
        publishContext,
        stagingTargetPath: stagingPath,
        targetPath: publishPath,
        volumeCapability: volumeCapability(volume, capabilities, mountGroup(pod, capabilities)),
        readonly: volume.readOnly,
        secrets: inputs.secrets,
        volumeContext: inputs.volumeContext,
      });
    } catch (error) {
      if (isFirst && isFinal(error)) {
        use.holders.delete(uid);
        await folders.removePublication(use.place, uid).catch((cleanup) => this.#warn(volume, cleanup));
      }
      throw error;
    }
    await folders.holdDisk(use.place, uid);
    if (fsGroup !== undefined && !capabilities.has('VOLUME_MOUNT_GROUP') && givesToGroup(volume, object)) {
      await folders.giveToGroup(publishPath, fsGroup, fsGroupChangePolicy === 'OnRootMismatch').catch((error) => {
        throw new Error(`applyFSGroup failed for vol ${volume.handle}: ${messageOf(error)}`, { cause: error });
      });
    }
  }

  async #unpublish(use: Use, { podUid, specName, isBlock }: Publication): Promise<void> {
    const { drivers, folders } = this.#options;
    const { handle } = use.place;
    const [operation, who] = isBlock
      ? ['UnmapVolume.UnmapPodDevice', 'blockMapper.unpublishVolumeForBlock']
      : ['UnmountVolume.TearDown', 'Unmounter.TearDownAt'];
    try {
      const driver = drivers.get(use.place.driver, `${who} failed to get CSI client`);
      const targetPath = folders.publishPath(use.place, podUid);
      await folders.releaseDisk(use.place, podUid);
      await driver.call('NodeUnpublishVolume', { volumeId: handle, targetPath }).catch((error) => {
        throw new Error(`kubernetes.io/csi: ${who} failed: ${messageOf(error)}`, { cause: error });
      });
      await folders.removePublication(use.place, podUid);
    } catch (error) {
      throw new VolumeError(specName, messageOf(error), { operation, cause: error });
    }
    use.holders.delete(podUid);
    use.publishedMs.delete(podUid);
    use.podNames.delete(podUid);
    await this.#release(use, podUid);
  }

  /** The last one unstages. */
  async #release(use: Use, podUid: string): Promise<void> {
    const { drivers, folders } = this.#options;
    const { driver: name, handle, specName, isBlock } = use.place;
    const isLast = [...use.pods].every((uid) => uid === podUid);
    const isOnDisk = isLast && (await folders.stagedData(use.place)) !== undefined;
    if (isLast && (use.isStaged || isOnDisk)) {
      const who = isBlock ? 'blockMapper.unstageVolumeForBlock' : 'attacher.UnmountDevice';
      try {
        const driver = drivers.get(name, `${who} failed to create newCsiDriverClient`);
        const stagingTargetPath = folders.stagingPath(use.place);
        if ((await driver.capabilities()).has('STAGE_UNSTAGE_VOLUME'))
          await driver.call('NodeUnstageVolume', { volumeId: handle, stagingTargetPath });
        await folders.removeStaging(use.place);
      } catch (error) {
        const operation = isBlock ? 'UnmapVolume.TearDownDevice' : 'UnmountDevice';
        throw new VolumeError(specName, `kubernetes.io/csi: ${who} failed: ${messageOf(error)}`, { operation });
      }
    } else if (isLast && isBlock) await folders.removeStaging(use.place);
    use.isStaged &&= !isLast;
    use.pods.delete(podUid);
    if (use.pods.size > 0) return;
    this.#uses.delete(csiVolumeKey(use.place));
    this.#options.onInUseChange();
  }

  #use(place: Place): Use {
    const key = csiVolumeKey(place);
    let use = this.#uses.get(key);
    if (!use) {
      use = {
        place: placeOf(place),
        pods: new Set(),
        holders: new Set(),
        publishedMs: new Map(),
        podNames: new Map(),
        isStaged: false,
        isAttachable: undefined,
        turn: Promise.resolve(),
      };
      this.#uses.set(key, use);
    }
    return use;
  }

  #inTurn<T>(use: Use, work: () => Promise<T>): Promise<T> {
    const result = use.turn.then(work);
    use.turn = result.catch(() => undefined);
    return result;
  }

  #warn({ specName }: CsiVolume, error: unknown): void {
    this.#options.log.warn('could not remove the folder of a CSI volume', {
      volume: specName,
      error: messageOf(error),
    });
  }
}

function overdue(name: string): string {
  const lists = `unmounted volumes=[${name}], unattached volumes=[${name}], failed to process volumes=[]`;
  return `Unable to attach or mount volumes: ${lists}: context deadline exceeded`;
}

interface MountContext {
  readonly pod: Pod;
  readonly use: Use;
  readonly driver: CsiDriver;
  readonly capabilities: CsiCapabilities;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly object: CSIDriver | undefined;
}

const missedBy = {
  disk: { operation: 'MapVolume.SetUpDevice', purpose: 'blockMapper.SetUpDevice failed to get CSI client' },
  staging: {
    operation: 'MountVolume.MountDevice',
    purpose: 'attacher.MountDevice failed to create newCsiDriverClient',
  },
  publication: { operation: 'MountVolume.SetUp', purpose: 'mounter.SetUpAt failed to get CSI client' },
} as const;

function placeOf({ driver, handle, specName, isBlock }: Place): Place {
  return { driver, handle, specName, isBlock };
}

function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? '';
}

/** Drivers that can, give their files to the group themselves. */
function mountGroup(pod: Pod, capabilities: CsiCapabilities): number | undefined {
  return capabilities.has('VOLUME_MOUNT_GROUP') ? pod.spec.securityContext?.fsGroup : undefined;
}

function checkLifecycleMode({ driver, mode }: CsiVolume, object: CSIDriver | undefined): void {
  const failed = `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode ${quote(mode)} not supported by driver ${driver}`;
  if (!object) {
    if (mode === 'Persistent') return;
    throw new Error(`${failed} (no CSIDriver object)`);
  }
  const modes = object.spec.volumeLifecycleModes ?? ['Persistent'];
  if (!modes.includes(mode)) throw new Error(`${failed} (only supports [${modes.map(quote).join(' ')}])`);
}

/** The scheduler sees to it as well. */
function checkExclusive({ accessModes }: CsiVolume, uid: string, holders: ReadonlySet<string>): void {
  const isExclusive = accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod';
  if (isExclusive && [...holders].some((holder) => holder !== uid))
    throw new Error('volume uses the ReadWriteOncePod access mode and is already in use by another pod');
}

/** By the driver's policy; without one, only volumes with a file system that one node writes. */
function givesToGroup(
  { accessModes, fsType, isBlock, mode, readOnly }: CsiVolume,
  object: CSIDriver | undefined,
): boolean {
  const policy = object?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (policy === 'None' || readOnly || isBlock) return false;
  if (policy === 'File') return true;
  if (fsType === '') return false;
  return mode === 'Ephemeral' || accessModes.some((one) => one === 'ReadWriteOnce' || one === 'ReadWriteOncePod');
}

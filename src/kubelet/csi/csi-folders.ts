/**
 * Where CSI volumes lie on the node, and the small files that say whose they are: upstream's layout, so that a kubelet that starts anew,
 * ours or another, finds what its predecessor had mounted.
 *
 *     pods/UID/volumes/kubernetes.io~csi/NAME/mount              a volume as its Pod sees it; vol_data.json beside it
 *     plugins/kubernetes.io/csi/DRIVER/SHA256/globalmount        the volume as the node has it; vol_data.json beside it
 *     pods/UID/volumeDevices/kubernetes.io~csi/NAME              a link to the disk that the driver published for the Pod
 *     plugins/kubernetes.io/csi/volumeDevices/publish/NAME/UID   that disk
 *     plugins/kubernetes.io/csi/volumeDevices/staging/NAME       the disk as the node has it
 *     plugins/kubernetes.io/csi/volumeDevices/NAME/data          vol_data.json of a disk
 *     plugins/kubernetes.io/csi/volumeDevices/NAME/dev/UID       the disk held for the Pod (`host/block-maps.ts`)
 */
import { mkdir, readdir, readFile, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { goJson } from '../../apimachinery/go-text.ts';
import { type BlockMap, type BlockMaps, linuxBlockMaps } from '../host/block-maps.ts';
import { isMountPoint, unmount } from '../host/mounts.ts';
import { ownByGroup } from '../host/ownership.ts';
import { type CsiVolume, type LifecycleMode, sha256 } from './csi-volume.ts';

/** What `vol_data.json` holds; of a staged volume only the first two. */
export interface CsiVolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: LifecycleMode;
}

/** A volume of a Pod as it is found on the node. */
export interface Publication {
  readonly podUid: string;
  readonly specName: string;
  readonly isBlock: boolean;
  /** Undefined where nobody can tell whose it is. */
  readonly data: CsiVolumeData | undefined;
}

type Place = Pick<CsiVolume, 'driver' | 'handle' | 'specName' | 'isBlock'>;

const dataFile = 'vol_data.json';
const plugin = 'kubernetes.io~csi';

export class CsiFolders {
  readonly #pods: string;
  readonly #plugin: string;
  readonly #maps: BlockMaps;

  constructor(rootDirectory: string, maps: BlockMaps = linuxBlockMaps) {
    this.#maps = maps;
    this.#pods = join(rootDirectory, 'pods');
    this.#plugin = join(rootDirectory, 'plugins', 'kubernetes.io', 'csi');
  }

  stagingPath({ driver, handle, specName, isBlock }: Place): string {
    return isBlock
      ? join(this.#plugin, 'volumeDevices', 'staging', specName)
      : join(this.#plugin, driver, sha256(handle), 'globalmount');
  }

  publishPath({ specName, isBlock }: Pick<Place, 'specName' | 'isBlock'>, podUid: string): string {
    return isBlock
      ? join(this.#plugin, 'volumeDevices', 'publish', specName, podUid)
      : join(this.#pods, podUid, 'volumes', plugin, specName, 'mount');
  }

  /** Where containers have the volume from. */
  containerPath(place: Place, podUid: string): string {
    return place.isBlock
      ? join(this.#pods, podUid, 'volumeDevices', plugin, place.specName)
      : this.publishPath(place, podUid);
  }

  async prepareStaging(place: Place, data: CsiVolumeData): Promise<void> {
    const path = this.stagingPath(place);
    await mkdir(path, { recursive: true, mode: 0o750 });
    await saveData(place.isBlock ? this.#deviceData(place.specName) : dirname(path), data);
  }

  /** The parent of what the driver publishes, and the record of whose it is. */
  async preparePublication(place: Place, podUid: string, data: CsiVolumeData): Promise<void> {
    const parent = dirname(this.publishPath(place, podUid));
    await mkdir(parent, { recursive: true, mode: 0o750 });
    await saveData(place.isBlock ? this.#deviceData(place.specName) : parent, data);
    if (!place.isBlock) return;
    const link = this.containerPath(place, podUid);
    await mkdir(dirname(link), { recursive: true, mode: 0o750 });
    await rm(link, { force: true });
    await symlink(this.publishPath(place, podUid), link);
  }

  /** What the driver published is the Pod's, and stays the same disk until `releaseDisk`. */
  async holdDisk(place: Place, podUid: string): Promise<void> {
    if (place.isBlock) await this.#maps.hold(this.publishPath(place, podUid), this.#map(place, podUid));
  }

  /** Before the driver lets go of it. */
  async releaseDisk(place: Pick<Place, 'specName' | 'isBlock'>, podUid: string): Promise<void> {
    if (place.isBlock) await this.#maps.release(this.#map(place, podUid));
  }

  /** After the driver has let go of it; drivers that leave an empty folder behind are forgiven. Nothing that is mounted is touched. */
  async removePublication(place: Pick<Place, 'specName' | 'isBlock'>, podUid: string): Promise<void> {
    const path = this.publishPath(place, podUid);
    if (place.isBlock) {
      await rm(join(this.#pods, podUid, 'volumeDevices', plugin, place.specName), { force: true });
      await rm(path, { force: true });
    } else await removeMountFolder(path);
  }

  /** The same for what was staged, and of a disk all that is left of it. */
  async removeStaging(place: Place): Promise<void> {
    const path = this.stagingPath(place);
    if (!place.isBlock) return removeMountFolder(path);
    const devices = join(this.#plugin, 'volumeDevices');
    await removeIfEmpty(join(devices, 'publish', place.specName));
    await rm(path, { recursive: true, force: true });
    await rm(join(devices, place.specName), { recursive: true, force: true });
  }

  /** Undefined where the volume is not staged. */
  async stagedData(place: Place): Promise<CsiVolumeData | undefined> {
    if (!place.isBlock) return loadData(dirname(this.stagingPath(place)));
    const isThere = await stat(this.stagingPath(place)).catch(() => undefined);
    return isThere && loadData(this.#deviceData(place.specName));
  }

  /** Of all Pods, or of one. */
  async publications(podUid?: string): Promise<readonly Publication[]> {
    const found: Publication[] = [];
    for (const uid of podUid === undefined ? await names(this.#pods) : [podUid]) {
      const volumes = join(this.#pods, uid, 'volumes', plugin);
      for (const specName of await names(volumes))
        found.push({ podUid: uid, specName, isBlock: false, data: await loadData(join(volumes, specName)) });
      for (const specName of await names(join(this.#pods, uid, 'volumeDevices', plugin)))
        found.push({ podUid: uid, specName, isBlock: true, data: await loadData(this.#deviceData(specName)) });
    }
    return found;
  }

  /** Volumes that the node has, whether a Pod uses them or not. */
  async staged(): Promise<readonly Place[]> {
    const found: Place[] = [];
    for (const driver of await names(this.#plugin)) {
      const isBlock = driver === 'volumeDevices';
      for (const folder of await names(join(this.#plugin, driver))) {
        const data = await loadData(isBlock ? this.#deviceData(folder) : join(this.#plugin, driver, folder));
        const specName = isBlock ? folder : (data?.volumeHandle ?? '');
        if (data) found.push({ driver: data.driverName, handle: data.volumeHandle, specName, isBlock });
      }
    }
    return found;
  }

  /** Without knowing the driver nothing better can be done. */
  async removeUnknown(publication: Publication): Promise<void> {
    const path = this.publishPath(publication, publication.podUid);
    await this.releaseDisk(publication, publication.podUid);
    if (await isMountPoint(path)) await unmount(path);
    await this.removePublication(publication, publication.podUid);
  }

  giveToGroup(path: string, fsGroup: number, onRootMismatch: boolean): Promise<void> {
    return ownByGroup(path, { fsGroup, fsGroupOnRootMismatch: onRootMismatch });
  }

  #map({ specName }: Pick<Place, 'specName'>, podUid: string): BlockMap {
    return { folder: join(this.#plugin, 'volumeDevices', specName, 'dev'), podUid };
  }

  #deviceData(specName: string): string {
    return join(this.#plugin, 'volumeDevices', specName, 'data');
  }
}

async function saveData(folder: string, data: CsiVolumeData): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeFile(join(folder, dataFile), `${goJson(sorted)}\n`);
}

async function loadData(folder: string): Promise<CsiVolumeData | undefined> {
  try {
    const data = JSON.parse(await readFile(join(folder, dataFile), 'utf8')) as Partial<CsiVolumeData>;
    return data.driverName && data.volumeHandle ? (data as CsiVolumeData) : undefined;
  } catch {
    return undefined;
  }
}

async function names(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function removeMountFolder(path: string): Promise<void> {
  if (await isMountPoint(path)) return;
  await removeIfEmpty(path);
  const parent = dirname(path);
  await rm(join(parent, dataFile), { force: true });
  await removeIfEmpty(parent);
}

async function removeIfEmpty(path: string): Promise<void> {
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Volumes as folders and mounts on a Linux machine. */
import type { Stats } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, rm, rmdir, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { LocalPayload } from '../volumes/payload.ts';
import { writeAtomically } from './atomic-writer.ts';
import { linuxBlockMaps } from './block-maps.ts';
import type { PodVolumes, SubPathUse } from './host.ts';
import { beginsFileSystem, mountProgram, mountsBelow, unmount } from './mounts.ts';
import { ownByGroup } from './ownership.ts';
import { bindSubPath } from './sub-path.ts';

const subPathsFolder = 'volume-subpaths';
const localPlugin = 'kubernetes.io~local-volume';

type FilesPayload = Extract<LocalPayload, { kind: 'files' }>;
type EmptyDirPayload = Extract<LocalPayload, { kind: 'emptyDir' }>;
type BlockPayload = Extract<LocalPayload, { kind: 'block' }>;
type HostPathPayload = Extract<LocalPayload, { kind: 'hostPath' }>;

export class LinuxVolumes implements PodVolumes {
  readonly #rootDirectory: string;
  readonly #clock: Clock;

  constructor(rootDirectory: string, clock: Clock) {
    this.#rootDirectory = rootDirectory;
    this.#clock = clock;
  }

  async mount(pod: Pod, payload: LocalPayload): Promise<string> {
    switch (payload.kind) {
      case 'hostPath':
        await prepareHostPath(payload);
        return payload.path;
      case 'local':
        if (!(await stat(payload.path)).isDirectory()) throw new Error(`path "${payload.path}" is not a directory`);
        await ownByGroup(payload.path, payload);
        return payload.path;
      case 'block':
        return this.#disk(pod, payload);
      case 'emptyDir':
        return this.#emptyDir(pod, payload);
      case 'files':
        return this.#files(pod, payload);
    }
  }

  async subPath(pod: Pod, path: string, { volume, volumePath, container, index }: SubPathUse): Promise<string> {
    const target = join(this.#podDirectory(pod), subPathsFolder, volume, container, String(index));
    await bindSubPath({ volumePath, path }, target);
    return target;
  }

  unmountSubPaths(podUid: string): Promise<void> {
    return this.#unmountFolder(podUid, subPathsFolder);
  }

  async unmountAll(podUid: string): Promise<void> {
    await this.unmountSubPaths(podUid);
    await this.#unmountFolder(podUid, 'volumes');
    await this.#releaseDisks(podUid);
  }

  async #disk(pod: Pod, { path, volume }: BlockPayload): Promise<string> {
    if (!(await stat(path)).isBlockDevice()) throw new Error(`path "${path}" is not a block device`);
    const podUid = pod.metadata.uid ?? '';
    const link = join(this.#podDirectory(pod), 'volumeDevices', localPlugin, volume);
    // First the link: it tells a kubelet that starts anew what is held.
    await mkdir(dirname(link), { recursive: true, mode: 0o750 });
    await rm(link, { force: true });
    await symlink(path, link);
    await linuxBlockMaps.hold(path, { folder: this.#diskFolder(volume), podUid });
    return link;
  }

  async #releaseDisks(podUid: string): Promise<void> {
    if (podUid === '') return;
    const links = join(this.#rootDirectory, 'pods', podUid, 'volumeDevices', localPlugin);
    for (const volume of await readdir(links).catch(() => [])) {
      const folder = this.#diskFolder(volume);
      await linuxBlockMaps.release({ folder, podUid });
      await rm(join(links, volume), { force: true });
      await rmdir(folder).catch(() => undefined);
    }
    await rm(links, { recursive: true, force: true });
  }

  #diskFolder(volume: string): string {
    return join(this.#rootDirectory, 'plugins', 'kubernetes.io', 'local-volume', 'volumeDevices', volume);
  }

  async #unmountFolder(podUid: string, folder: string): Promise<void> {
    if (podUid === '') return;
    const directory = join(this.#rootDirectory, 'pods', podUid, folder);
    for (const path of await mountsBelow(directory)) await unmount(path);
    await rm(directory, { recursive: true, force: true });
  }

  #path(pod: Pod, plugin: string, name: string): string {
    return join(this.#podDirectory(pod), 'volumes', `kubernetes.io~${plugin}`, name);
  }

  #podDirectory(pod: Pod): string {
    return join(this.#rootDirectory, 'pods', pod.metadata.uid ?? '');
  }

  async #emptyDir(pod: Pod, payload: EmptyDirPayload): Promise<string> {
    const path = this.#path(pod, 'empty-dir', payload.name);
    const isNew = (await mkdir(path, { recursive: true, mode: 0o777 })) !== undefined;
    if (payload.medium !== 'disk' && !(await beginsFileSystem(path))) {
      if (payload.medium === 'memory') await mountMemory(path, payload);
      else await mountProgram('-t', 'hugetlbfs', '-o', `pagesize=${payload.pageBytes}`, 'nodev', path);
    } else if (!isNew) return path;
    await chmod(path, 0o777);
    await ownByGroup(path, payload);
    return path;
  }

  async #files(pod: Pod, payload: FilesPayload): Promise<string> {
    const path = this.#path(pod, payload.plugin, payload.name);
    await mkdir(path, { recursive: true, mode: 0o755 });
    const inMemory = payload.plugin !== 'configmap';
    if (inMemory && !(await beginsFileSystem(path))) await mountMemory(path, {});
    await writeAtomically(path, payload.files, { fsGroup: payload.fsGroup, nowMs: this.#clock.now() });
    await chmod(path, 0o777 | 0o1000);
    if (payload.fsGroup !== undefined) {
      await chown(path, 0, payload.fsGroup);
      await chmod(path, 0o2777 | 0o1000);
    }
    return path;
  }
}

async function mountMemory(path: string, { sizeLimitBytes }: { sizeLimitBytes?: number | undefined }): Promise<void> {
  const options = ['mode=0777', ...(sizeLimitBytes ? [`size=${sizeLimitBytes}`] : [])].join(',');
  await mountProgram('-t', 'tmpfs', '-o', options, 'tmpfs', path);
}

async function prepareHostPath({ path, type }: HostPathPayload): Promise<void> {
  const info = await stat(path).catch(() => undefined);
  const check = hostPathChecks[type];
  if (!check) return;
  if (!info && type === 'DirectoryOrCreate') await mkdir(path, { recursive: true, mode: 0o755 });
  else if (!info && type === 'FileOrCreate') await (await open(path, 'a', 0o644)).close();
  else if (!info || !check.matches(info)) throw new Error(`hostPath type check failed: ${path} is not ${check.what}`);
}

const hostPathChecks: Readonly<Record<string, { readonly what: string; matches(info: Stats): boolean }>> = {
  DirectoryOrCreate: { what: 'a directory', matches: (info) => info.isDirectory() },
  Directory: { what: 'a directory', matches: (info) => info.isDirectory() },
  FileOrCreate: { what: 'a file', matches: (info) => info.isFile() },
  File: { what: 'a file', matches: (info) => info.isFile() },
  Socket: { what: 'a socket file', matches: (info) => info.isSocket() },
  CharDevice: { what: 'a character device', matches: (info) => info.isCharacterDevice() },
  BlockDevice: { what: 'a block device', matches: (info) => info.isBlockDevice() },
};

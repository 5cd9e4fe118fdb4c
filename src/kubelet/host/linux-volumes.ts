/** Volumes as folders and mounts on a Linux machine. */
import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { chmod, chown, lstat, mkdir, open, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { VolumePayload } from '../volumes/payload.ts';
import { writeAtomically } from './atomic-writer.ts';
import type { PodVolumes } from './host.ts';

const run = promisify(execFile);

type FilesPayload = Extract<VolumePayload, { kind: 'files' }>;
type EmptyDirPayload = Extract<VolumePayload, { kind: 'emptyDir' }>;
type HostPathPayload = Extract<VolumePayload, { kind: 'hostPath' }>;

export class LinuxVolumes implements PodVolumes {
  readonly #rootDirectory: string;
  readonly #clock: Clock;

  constructor(rootDirectory: string, clock: Clock) {
    this.#rootDirectory = rootDirectory;
    this.#clock = clock;
  }

  async mount(pod: Pod, payload: VolumePayload): Promise<string> {
    switch (payload.kind) {
      case 'hostPath':
        await prepareHostPath(payload);
        return payload.path;
      case 'emptyDir':
        return this.#emptyDir(pod, payload);
      case 'files':
        return this.#files(pod, payload);
    }
  }

  async subPath(_pod: Pod, volumePath: string, subPath: string): Promise<string> {
    if (subPath.startsWith('/') || subPath.split('/').includes('..'))
      throw new Error(`subPath "${subPath}" must be a relative path inside the volume`);
    const root = await realpath(volumePath);
    const path = join(root, subPath);
    if (!(await lstat(path).catch(() => undefined)))
      await mkdir(path, { recursive: true, mode: (await stat(root)).mode & 0o7777 });
    // A link that the Pod itself made must not lead it out of its volume.
    const resolved = await realpath(path);
    if (resolved !== root && !resolved.startsWith(`${root}/`))
      throw new Error(`subPath "${subPath}" is not within volume path`);
    return resolved;
  }

  async unmountAll(podUid: string): Promise<void> {
    if (podUid === '') return;
    const directory = join(this.#rootDirectory, 'pods', podUid, 'volumes');
    for (const path of await mountsBelow(directory))
      await run('umount', [path]).catch(() => run('umount', ['-l', path]));
    await rm(directory, { recursive: true, force: true });
  }

  #path(pod: Pod, plugin: string, name: string): string {
    return join(this.#rootDirectory, 'pods', pod.metadata.uid ?? '', 'volumes', `kubernetes.io~${plugin}`, name);
  }

  async #emptyDir(pod: Pod, payload: EmptyDirPayload): Promise<string> {
    const path = this.#path(pod, 'empty-dir', payload.name);
    const isNew = (await mkdir(path, { recursive: true, mode: 0o777 })) !== undefined;
    const isMemory = payload.medium === 'Memory' || payload.medium.startsWith('HugePages');
    if (isMemory && !(await mountsBelow(path)).includes(path)) await mountMemory(path, payload);
    else if (!isNew) return path;
    await chmod(path, 0o777);
    await ownByGroup(path, payload);
    return path;
  }

  async #files(pod: Pod, payload: FilesPayload): Promise<string> {
    const path = this.#path(pod, payload.plugin, payload.name);
    await mkdir(path, { recursive: true, mode: 0o755 });
    const inMemory = payload.plugin !== 'configmap';
    if (inMemory && !(await mountsBelow(path)).includes(path)) await mountMemory(path, {});
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
  await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
}

/** Deepest first. */
async function mountsBelow(directory: string): Promise<string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8');
  const paths = table
    .split('\n')
    .map((line) =>
      (line.split(' ')[1] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  return paths
    .filter((path) => path === directory || path.startsWith(`${directory}/`))
    .sort((a, b) => b.length - a.length);
}

async function ownByGroup(path: string, { fsGroup, fsGroupOnRootMismatch }: EmptyDirPayload): Promise<void> {
  if (fsGroup === undefined) return;
  const { gid, mode } = await stat(path);
  if (fsGroupOnRootMismatch && gid === fsGroup && (mode & 0o2000) !== 0) return;
  await chown(path, 0, fsGroup);
  await chmod(path, 0o2777);
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const child = join(entry.parentPath, entry.name);
    const info = await lstat(child);
    if (info.isSymbolicLink()) continue;
    await chown(child, info.uid, fsGroup);
    await chmod(child, info.isDirectory() ? info.mode | 0o2770 : info.mode | 0o660);
  }
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

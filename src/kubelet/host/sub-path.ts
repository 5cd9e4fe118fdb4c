/**
 * Parts of volumes that containers mount. What lies in a volume is the Pod's to change at any moment, symbolic links included, so a path
 * in it is never handed on by name: each step is opened beneath the one before without following a last link, what was opened is
 * checked to lie inside the volume, and that very file or folder is bound to a place which the Pod cannot reach.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMountPoint, mountProgram, unmount } from './mounts.ts';

/** Linux's O_PATH: a place in the file system, whether or not its content may be read. */
const placeOnly = 0o10000000;

/** Binds `path`, which lies in the volume at `volumePath`, to `target`, which outlives restarts of the container. */
export async function bindSubPath(
  { volumePath, path }: { readonly volumePath: string; readonly path: string },
  target: string,
): Promise<void> {
  if (path.startsWith('/') || path.split('/').includes('..'))
    throw new Error(`subPath "${path}" must be a relative path inside the volume`);
  const place = await openBeneath(await realpath(volumePath), path);
  try {
    const source = `/proc/${process.pid}/fd/${place.fd}`;
    const found = await place.stat();
    if (await isMountPoint(target)) {
      const present = await stat(target);
      if (present.dev === found.dev && present.ino === found.ino) return;
      await unmount(target);
    }
    await mkdir(dirname(target), { recursive: true, mode: 0o750 });
    if (found.isDirectory()) await mkdir(target, { recursive: true, mode: 0o750 });
    else await writeFile(target, '', { mode: 0o640 });
    // Not by the name that it has now, which may lead elsewhere a moment later.
    await mountProgram('--no-canonicalize', '--bind', source, target);
  } finally {
    await place.close();
  }
}

/** Folders that are missing are made with the rights of the volume. */
async function openBeneath(root: string, path: string): Promise<FileHandle> {
  let current = await open(root, placeOnly | constants.O_DIRECTORY);
  try {
    const { mode } = await current.stat();
    for (const name of path.split('/').filter((part) => part !== '' && part !== '.')) {
      const next = await openStep(join(`/proc/self/fd/${current.fd}`, name), mode & 0o7777);
      await current.close();
      current = next;
      const real = await readlink(`/proc/self/fd/${current.fd}`);
      if (real !== root && !real.startsWith(`${root}/`)) throw new Error(`subPath "${path}" is not within volume path`);
    }
    return current;
  } catch (error) {
    await current.close();
    throw error;
  }
}

async function openStep(path: string, mode: number): Promise<FileHandle> {
  try {
    return await open(path, placeOnly);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(path, { mode: 0o755 });
    const made = await open(path, placeOnly | constants.O_NOFOLLOW | constants.O_DIRECTORY);
    // The process's own mask must not narrow what the volume allows.
    await chmod(`/proc/self/fd/${made.fd}`, mode);
    return made;
  }
}

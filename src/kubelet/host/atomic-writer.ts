/**
 * Files of a volume that change all at once, as readers in a container expect: each version lies in a folder of its own, `..data` is a
 * symbolic link to the newest, and what is visible are links through it. Swapping one link swaps everything.
 *
 *     VOLUME/..2026_01_01_00_00_00.123456789/tls/key
 *     VOLUME/..data -> ..2026_01_01_00_00_00.123456789
 *     VOLUME/tls -> ..data/tls
 */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PayloadFile } from '../volumes/payload.ts';

export interface AtomicWriteOptions {
  /** Owner group; files get its permissions. */
  readonly fsGroup?: number | undefined;
  /** Wall time, for the name of the folder. */
  readonly nowMs: number;
}

const dataLink = '..data';

/** Whether anything was written. */
export async function writeAtomically(
  directory: string,
  files: readonly PayloadFile[],
  options: AtomicWriteOptions,
): Promise<boolean> {
  for (const { path } of files) assertInside(path);
  const oldVersion = await readlink(join(directory, dataLink)).catch(() => undefined);
  if (oldVersion !== undefined && (await isSame(join(directory, oldVersion), files))) {
    await linkAll(directory, files);
    return false;
  }
  const version = await mkdtemp(join(directory, `..${timestamp(options.nowMs)}.`));
  await chmod(version, 0o755);
  for (const file of files) await writeOne(version, file, options.fsGroup);
  const temporary = join(directory, '..data_tmp');
  await unlink(temporary).catch(() => undefined);
  await symlink(version.slice(directory.length + 1), temporary);
  await rename(temporary, join(directory, dataLink));
  await linkAll(directory, files);
  await unlinkStale(directory, files);
  if (oldVersion !== undefined) await rm(join(directory, oldVersion), { recursive: true, force: true });
  return true;
}

function assertInside(path: string): void {
  const parts = path.split('/');
  if (path === '' || path.startsWith('/') || parts.includes('..') || parts[0]!.startsWith('..'))
    throw new Error(`invalid path in volume: ${path}`);
}

async function writeOne(version: string, file: PayloadFile, fsGroup: number | undefined): Promise<void> {
  const path = join(version, file.path);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // A group that owns the volume may read it, as its owner may; such volumes are written by the kubelet alone.
  const mode = fsGroup === undefined ? file.mode : file.mode | 0o440;
  await writeFile(path, file.content, { mode });
  await chmod(path, mode);
  if (file.uid !== undefined || fsGroup !== undefined) await chown(path, file.uid ?? 0, fsGroup ?? 0);
}

async function isSame(version: string, files: readonly PayloadFile[]): Promise<boolean> {
  const present = await readdir(version, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (!present || present.filter((entry) => entry.isFile()).length !== files.length) return false;
  for (const file of files) {
    const content = await readFile(join(version, file.path)).catch(() => undefined);
    if (!content?.equals(file.content)) return false;
  }
  return true;
}

/** A link for the first part of each path. */
async function linkAll(directory: string, files: readonly PayloadFile[]): Promise<void> {
  for (const name of new Set(files.map(({ path }) => path.split('/')[0]!))) {
    const link = join(directory, name);
    if (!(await lstat(link).catch(() => undefined))) await symlink(join(dataLink, name), link);
  }
}

async function unlinkStale(directory: string, files: readonly PayloadFile[]): Promise<void> {
  const wanted = new Set(files.map(({ path }) => path.split('/')[0]!));
  for (const name of await readdir(directory)) {
    if (!name.startsWith('..') && !wanted.has(name)) await unlink(join(directory, name));
  }
}

function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[-T:]/g, '_').replace(/\..*$/, '');
}

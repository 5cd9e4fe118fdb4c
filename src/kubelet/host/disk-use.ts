/** How much of its disk a folder takes, as `du` counts: blocks, and each inode once however many names it has. */
import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskUse } from './host.ts';

const blockBytes = 512;

/** Zero for what is not there. Stays on the file system of the folder. */
export async function diskUse(path: string): Promise<DiskUse> {
  const top = await lstat(path).catch(() => undefined);
  if (!top) return { bytes: 0, inodes: 0 };
  const inodes = new Set<number>();
  let bytes = 0;
  const count = (stats: Stats) => {
    if (stats.dev !== top.dev || inodes.has(stats.ino)) return;
    inodes.add(stats.ino);
    bytes += stats.blocks * blockBytes;
  };
  const pending = [path];
  count(top);
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    // What vanishes while it is looked at takes nothing.
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      const child = join(directory, entry.name);
      const stats = await lstat(child).catch(() => undefined);
      if (!stats) continue;
      count(stats);
      if (entry.isDirectory() && stats.dev === top.dev) pending.push(child);
    }
  }
  return { bytes, inodes: inodes.size };
}

/** Gives a volume and all that is in it to a group, as `fsGroup` asks for. */
import { chmod, chown, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface GroupOwnership {
  /** Absent: nothing changes. */
  readonly fsGroup?: number | undefined;
  /** Leave all as it is where the volume itself belongs to the group already. */
  readonly fsGroupOnRootMismatch?: boolean | undefined;
}

export async function ownByGroup(path: string, { fsGroup, fsGroupOnRootMismatch }: GroupOwnership): Promise<void> {
  if (fsGroup === undefined) return;
  const { uid, gid, mode } = await stat(path);
  if (fsGroupOnRootMismatch && gid === fsGroup && (mode & 0o2000) !== 0) return;
  await chown(path, uid, fsGroup);
  await chmod(path, mode | 0o2770);
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const child = join(entry.parentPath, entry.name);
    const info = await lstat(child);
    if (info.isSymbolicLink()) continue;
    await chown(child, info.uid, fsGroup);
    await chmod(child, info.isDirectory() ? info.mode | 0o2770 : info.mode | 0o660);
  }
}

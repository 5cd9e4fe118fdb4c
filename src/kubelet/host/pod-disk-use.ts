/** What a Pod's logs and its volumes on the node's disks take, from the folders that the kubelet made for it. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { diskUse } from './disk-use.ts';
import type { DiskUse, PodDiskUse } from './host.ts';

export interface PodFolders {
  /** `LOGS/NAMESPACE_NAME_UID`: a folder per container. */
  readonly logs: string;
  /** `ROOT/pods/UID/volumes`: a folder per kind of volume, and in it one per volume. */
  readonly volumes: string;
}

export async function podDiskUse({ logs, volumes }: PodFolders): Promise<PodDiskUse> {
  const ofVolumes = new Map<string, DiskUse>();
  const kinds = await readdir(volumes).catch(() => []);
  // CSI volumes lie elsewhere, and their drivers say how full they are.
  for (const kind of kinds.filter((name) => name !== 'kubernetes.io~csi'))
    for (const [name, use] of await usesBelow(join(volumes, kind))) ofVolumes.set(name, use);
  return { logs: await usesBelow(logs), volumes: ofVolumes };
}

async function usesBelow(folder: string): Promise<Map<string, DiskUse>> {
  const uses = new Map<string, DiskUse>();
  for (const name of await readdir(folder).catch(() => [])) uses.set(name, await diskUse(join(folder, name)));
  return uses;
}

/** How full CSI volumes are, as their drivers say. Volumes whose driver cannot tell, or does not now, are left out. */
import type { CsiDrivers } from './csi-drivers.ts';

export interface CsiVolumeStats {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed: number;
  /** Where the driver looks after its volumes' health. */
  readonly isAbnormal?: boolean | undefined;
}

interface Published {
  readonly driver: string;
  readonly handle: string;
  readonly specName: string;
  readonly path: string;
}

export async function csiVolumeStats(
  volumes: readonly Published[],
  drivers: Pick<CsiDrivers, 'get'>,
): Promise<ReadonlyMap<string, CsiVolumeStats>> {
  const found = new Map<string, CsiVolumeStats>();
  for (const volume of volumes) {
    const stats = await statsOf(volume, drivers).catch(() => undefined);
    if (stats) found.set(volume.specName, stats);
  }
  return found;
}

async function statsOf(
  { driver: name, handle, path }: Published,
  drivers: Pick<CsiDrivers, 'get'>,
): Promise<CsiVolumeStats | undefined> {
  const driver = drivers.get(name, 'failed to get CSI client');
  const capabilities = await driver.capabilities();
  if (!capabilities.has('GET_VOLUME_STATS')) return undefined;
  const { usage, volumeCondition } = await driver.call('NodeGetVolumeStats', { volumeId: handle, volumePath: path });
  const isAbnormal = capabilities.has('VOLUME_CONDITION') ? (volumeCondition?.abnormal ?? false) : undefined;
  if (usage.length === 0 && isAbnormal === undefined) return undefined;
  const bytes = usage.findLast(({ unit }) => unit === 'BYTES');
  const inodes = usage.findLast(({ unit }) => unit === 'INODES');
  return {
    availableBytes: Number(bytes?.available ?? 0),
    capacityBytes: Number(bytes?.total ?? 0),
    usedBytes: Number(bytes?.used ?? 0),
    inodesFree: Number(inodes?.available ?? 0),
    inodes: Number(inodes?.total ?? 0),
    inodesUsed: Number(inodes?.used ?? 0),
    isAbnormal,
  };
}

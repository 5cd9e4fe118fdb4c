/**
 * How full CSI volumes are, as their drivers say. Volumes whose driver cannot tell, or does not now, are left out. Whoever asks gets what
 * is known and waits for nobody: a driver that hangs must not keep the node's figures back. What is known is a minute old at most while
 * somebody asks.
 */
import type { Clock } from '../../base/clock.ts';
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

export interface PublishedVolume {
  readonly driver: string;
  readonly handle: string;
  /** In its Pod. */
  readonly name: string;
  readonly path: string;
}

const freshForMs = 60_000;

export interface CsiStatsOptions {
  readonly clock: Clock;
  readonly drivers: Pick<CsiDrivers, 'get'>;
  publishedTo(podUid: string): readonly PublishedVolume[];
}

export class CsiStats {
  readonly #options: CsiStatsOptions;
  readonly #known = new Map<string, { readonly stats: ReadonlyMap<string, CsiVolumeStats>; readonly atMs: number }>();
  readonly #asking = new Set<string>();

  constructor(options: CsiStatsOptions) {
    this.#options = options;
  }

  /** By name of the volume in its Pod. */
  of(podUid: string): ReadonlyMap<string, CsiVolumeStats> {
    const known = this.#known.get(podUid);
    const isFresh = known && this.#options.clock.monotonic() - known.atMs < freshForMs;
    if (!isFresh && !this.#asking.has(podUid)) void this.#ask(podUid);
    return known?.stats ?? new Map();
  }

  forget(podUid: string): void {
    this.#known.delete(podUid);
  }

  async #ask(podUid: string): Promise<void> {
    const { clock, drivers, publishedTo } = this.#options;
    const volumes = publishedTo(podUid);
    if (volumes.length === 0) return;
    this.#asking.add(podUid);
    const stats = await statsOfAll(volumes, drivers);
    this.#asking.delete(podUid);
    // It may have been unmounted meanwhile.
    if (publishedTo(podUid).length > 0) this.#known.set(podUid, { stats, atMs: clock.monotonic() });
  }
}

async function statsOfAll(
  volumes: readonly PublishedVolume[],
  drivers: Pick<CsiDrivers, 'get'>,
): Promise<ReadonlyMap<string, CsiVolumeStats>> {
  const found = new Map<string, CsiVolumeStats>();
  for (const volume of volumes) {
    const stats = await statsOf(volume, drivers).catch(() => undefined);
    if (stats) found.set(volume.name, stats);
  }
  return found;
}

async function statsOf(
  { driver: name, handle, path }: PublishedVolume,
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

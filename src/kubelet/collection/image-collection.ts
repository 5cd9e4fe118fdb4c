/**
 * Which images go when the disk fills up: from the high threshold on, the least recently used first, until the low one is reached;
 * never one in use, pinned, or younger than the minimum age. What has been used when is remembered from one look to the next.
 */
import type { Container, Image } from '../runtime/runtime.ts';

export interface ImageCollectionPolicy {
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  readonly minAgeMs: number;
}

export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

interface Sighting {
  readonly firstSeenMs: number;
  lastUsedMs: number;
}

export class ImageCollection {
  readonly #policy: ImageCollectionPolicy;
  readonly #seen = new Map<string, Sighting>();

  constructor(policy: ImageCollectionPolicy) {
    this.#policy = policy;
  }

  /** Takes note of what is there and in use. */
  observe(images: readonly Image[], containers: readonly Container[], nowMs: number): void {
    const used = new Set(containers.flatMap(({ imageId, imageRef, image }) => [imageId, imageRef, image]));
    for (const image of images) {
      const sighting = this.#seen.get(image.id) ?? { firstSeenMs: nowMs, lastUsedMs: 0 };
      if (isUsed(image, used)) sighting.lastUsedMs = nowMs;
      this.#seen.set(image.id, sighting);
    }
    const present = new Set(images.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
  }

  /** What to remove, in this order, and how many bytes must become free in all. */
  candidates(
    images: readonly Image[],
    disk: DiskUsage,
    nowMs: number,
  ): { readonly images: readonly Image[]; readonly bytes: number } {
    const { highThresholdPercent, lowThresholdPercent, minAgeMs } = this.#policy;
    const usedPercent = disk.capacityBytes === 0 ? 0 : 100 - (disk.availableBytes * 100) / disk.capacityBytes;
    if (usedPercent < highThresholdPercent) return { images: [], bytes: 0 };
    const bytes = Math.ceil((disk.capacityBytes * (100 - lowThresholdPercent)) / 100 - disk.availableBytes);
    const sighting = (image: Image) => this.#seen.get(image.id) ?? { firstSeenMs: nowMs, lastUsedMs: nowMs };
    const free = images.filter(
      (image) => !image.pinned && sighting(image).lastUsedMs < nowMs && nowMs - sighting(image).firstSeenMs >= minAgeMs,
    );
    free.sort(
      (a, b) => sighting(a).lastUsedMs - sighting(b).lastUsedMs || sighting(a).firstSeenMs - sighting(b).firstSeenMs,
    );
    return { images: free, bytes };
  }
}

function isUsed(image: Image, used: ReadonlySet<string>): boolean {
  return used.has(image.id) || [...image.repoTags, ...image.repoDigests].some((name) => used.has(name));
}

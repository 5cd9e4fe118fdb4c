/**
 * Which images go: those that nothing has used for longer than their maximum age, and when the disk fills up, from the high threshold on,
 * the least recently used first until the low one is reached. Never one in use, pinned, or younger than the minimum age. What has been
 * used when is remembered from one look to the next.
 */
import type { Container, Image } from '../runtime/runtime.ts';

export interface ImageCollectionPolicy {
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  readonly minAgeMs: number;
  /** 0: none. Counts only once the kubelet has run for that long, for before it does not know what was used when. */
  readonly maxAgeMs: number;
}

export interface DiskSpace {
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
      const sighting = this.#seen.get(image.id) ?? { firstSeenMs: nowMs, lastUsedMs: Number.NEGATIVE_INFINITY };
      if (isUsed(image, used)) sighting.lastUsedMs = nowMs;
      this.#seen.set(image.id, sighting);
    }
    const present = new Set(images.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
  }

  /** Unused for longer than the maximum age. */
  tooOld(images: readonly Image[], nowMs: number, runningMs: number): readonly Image[] {
    const { maxAgeMs } = this.#policy;
    if (maxAgeMs === 0 || runningMs <= maxAgeMs) return [];
    return this.#unused(images, nowMs).filter((image) => nowMs - this.#sighting(image, nowMs).lastUsedMs > maxAgeMs);
  }

  /** What could go, in this order: all but those in use at the last look, pinned, or too young. */
  removable(images: readonly Image[], nowMs: number): readonly Image[] {
    return this.#unused(images, nowMs).filter(
      (image) => nowMs - this.#sighting(image, nowMs).firstSeenMs >= this.#policy.minAgeMs,
    );
  }

  /** How many bytes must become free; 0 below the high threshold. */
  excessBytes({ capacityBytes, availableBytes }: DiskSpace): number {
    const { highThresholdPercent, lowThresholdPercent } = this.#policy;
    if (usedPercent({ capacityBytes, availableBytes }) < highThresholdPercent) return 0;
    return Math.trunc((capacityBytes * (100 - lowThresholdPercent)) / 100) - availableBytes;
  }

  #unused(images: readonly Image[], nowMs: number): Image[] {
    const sighting = (image: Image) => this.#sighting(image, nowMs);
    return images
      .filter((image) => !image.pinned && sighting(image).lastUsedMs < nowMs)
      .sort(
        (a, b) =>
          compare(sighting(a).lastUsedMs, sighting(b).lastUsedMs) ||
          compare(sighting(a).firstSeenMs, sighting(b).firstSeenMs),
      );
  }

  #sighting(image: Image, nowMs: number): Sighting {
    return this.#seen.get(image.id) ?? { firstSeenMs: nowMs, lastUsedMs: nowMs };
  }
}

/** In whole percent, as upstream rounds it. */
export function usedPercent({ capacityBytes, availableBytes }: DiskSpace): number {
  return 100 - Math.trunc((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);

function isUsed(image: Image, used: ReadonlySet<string>): boolean {
  return used.has(image.id) || [...image.repoTags, ...image.repoDigests].some((name) => used.has(name));
}

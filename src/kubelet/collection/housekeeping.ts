/**
 * Cleans up on the clock: dead containers and orphaned logs every minute, images every five minutes, log files that have grown every ten
 * seconds; and, when eviction asks for it, all that nobody uses.
 */

import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { NodeHost } from '../host/host.ts';
import type { PodWorkers } from '../pods/pod-workers.ts';
import { type ContainerRuntime, type Image, runtimeLabels } from '../runtime/runtime.ts';
import { type ContainerCollectionPolicy, collectable, type PodPresence } from './container-collection.ts';
import { ImageCollection, usedPercent } from './image-collection.ts';

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  workers(): PodWorkers;
  /** Told of all images that are there, each time before some are removed. */
  onImages(images: readonly Image[], nowMs: number): Promise<void>;
  /** An Event about the node. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

const containerPeriodMs = 60_000;
const imagePeriodMs = 300_000;
const logPeriodMs = 10_000;

type RemovalReason = 'age' | 'space';

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #images: ImageCollection;
  readonly #startedMs: number;
  /** Of running containers: none is asked for twice. */
  #logPaths = new Map<string, string>();
  readonly #removedImages: Record<RemovalReason, number> = { age: 0, space: 0 };

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#startedMs = options.clock.now();
    const { configuration } = options;
    this.#images = new ImageCollection({
      highThresholdPercent: configuration.imageGcHighThresholdPercent,
      lowThresholdPercent: configuration.imageGcLowThresholdPercent,
      minAgeMs: configuration.imageMinimumGcAgeMs,
      maxAgeMs: configuration.imageMaximumGcAgeMs,
    });
  }

  /** How many images went, and why. */
  get removedImages(): Readonly<Record<RemovalReason, number>> {
    return this.#removedImages;
  }

  async run(): Promise<void> {
    const { host, configuration } = this.#options;
    const loops = [this.#everyContainerPeriod()];
    const { imageGcHighThresholdPercent, imageMaximumGcAgeMs } = configuration;
    // A threshold of 100 % turns the collection of images off.
    if (imageGcHighThresholdPercent < 100 || imageMaximumGcAgeMs > 0) loops.push(this.#everyImagePeriod());
    if (host.logs.rotate) loops.push(this.#every(logPeriodMs, () => this.rotateLogs()));
    await Promise.all(loops);
  }

  async collectContainers(): Promise<void> {
    const { configuration, host } = this.#options;
    const workers = this.#options.workers();
    await this.#removeContainers({
      minAgeMs: configuration.minimumContainerTtlMs,
      maxPerPodContainer: configuration.maximumDeadContainersPerContainer,
      maxContainers: configuration.maximumDeadContainers,
    });
    if (workers.sourcesReady) await host.files.removeOrphanedLogs((uid) => workers.get(uid) !== undefined);
  }

  /** All dead containers of Pods that have ended, and of others all beyond their number. */
  async removeDeadContainers(): Promise<void> {
    const { configuration } = this.#options;
    await this.#removeContainers({
      minAgeMs: configuration.minimumContainerTtlMs,
      maxPerPodContainer: configuration.maximumDeadContainersPerContainer,
      maxContainers: configuration.maximumDeadContainers,
      removesEnded: true,
    });
  }

  async #removeContainers(policy: ContainerCollectionPolicy): Promise<void> {
    const { clock, host, runtime, signal } = this.#options;
    const workers = this.#options.workers();
    if (workers.all().length === 0) return;
    const [containers, sandboxes] = await Promise.all([
      runtime.listContainers({}, { signal }),
      runtime.listPodSandboxes({}, { signal }),
    ]);
    const presenceOf = (uid: string): PodPresence => {
      const stage = workers.get(uid)?.stage;
      return stage === undefined ? 'unknown' : stage === 'terminated' ? 'ended' : 'active';
    };
    const gone = collectable({ containers, sandboxes, nowMs: clock.now(), presenceOf }, policy);
    for (const { id, state } of gone.containers) {
      const status = await runtime.containerStatus(id, { signal }).catch(() => undefined);
      if (status) {
        await host.files.unlinkLog(status);
        await host.logs.remove?.(status.logPath);
      }
      // It may run after all.
      if (state === 'unknown') await runtime.stopContainer(id, unknownStateGraceSeconds, { signal });
      await runtime.removeContainer(id, { signal });
    }
    for (const { id } of gone.sandboxes) {
      await runtime.stopPodSandbox(id, { signal });
      await runtime.removePodSandbox(id, { signal });
    }
  }

  async collectImages(): Promise<void> {
    const { clock, event, host, log } = this.#options;
    const nowMs = clock.now();
    const images = await this.#observeImages(nowMs);
    await this.#options.onImages(images, nowMs);
    const old = this.#images.tooOld(images, nowMs, nowMs - this.#startedMs);
    await this.#removeImages(old, 'age');
    const { imagefs } = await host.usage();
    if (imagefs.capacityBytes === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      event('Warning', 'InvalidDiskCapacity', message);
      throw new Error(message);
    }
    const bytes = this.#images.excessBytes(imagefs);
    if (bytes <= 0) return;
    log.info('disk usage on image filesystem is over the high threshold', { bytesToFree: bytes });
    const left = images.filter((image) => !old.includes(image));
    const freed = await this.#removeImages(this.#images.removable(left, nowMs), 'space', bytes);
    if (freed >= bytes) return;
    const message = `Insufficient free disk space on the node's image filesystem (${usedPercent(imagefs)}% of ${formatSize(imagefs.capacityBytes)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    event('Warning', 'FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** All that nothing uses, however much room there is. */
  async removeUnusedImages(): Promise<void> {
    const nowMs = this.#options.clock.now();
    const images = await this.#observeImages(nowMs);
    await this.#removeImages(this.#images.removable(images, nowMs), 'space');
  }

  async #observeImages(nowMs: number): Promise<readonly Image[]> {
    const { runtime, signal } = this.#options;
    const [images, containers] = await Promise.all([
      runtime.listImages({ signal }),
      runtime.listContainers({}, { signal }),
    ]);
    this.#images.observe(images, containers, nowMs);
    return images;
  }

  /** One after the other until that many bytes are free, going on after failures; how many became free. */
  async #removeImages(
    images: readonly Image[],
    reason: RemovalReason,
    bytes: number = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    const { log, runtime, signal } = this.#options;
    const failures: unknown[] = [];
    let freed = 0;
    for (const { id, sizeBytes } of images) {
      if (freed >= bytes) break;
      log.info('removing image to free bytes', { image: id, sizeBytes });
      try {
        await runtime.removeImage({ image: id }, { signal });
        this.#removedImages[reason]++;
        freed += sizeBytes;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new Error(`errors in image deletion: ${failures.map(messageOf).join(', ')}`);
    return freed;
  }

  async rotateLogs(): Promise<void> {
    const { clock, configuration, host, log, runtime, signal } = this.#options;
    const { containerLogMaxFiles: maxFiles, containerLogMaxSizeBytes: maxBytes } = configuration;
    if (maxBytes < 0) return;
    const running = await runtime.listContainers({ state: 'running' }, { signal });
    const known = this.#logPaths;
    this.#logPaths = new Map();
    for (const container of running) {
      if (container.labels[runtimeLabels.podUid] === undefined) continue;
      const path = known.get(container.id) ?? (await this.#logPathOf(container.id));
      if (!path) continue;
      this.#logPaths.set(container.id, path);
      const reopen = () => runtime.reopenContainerLog(container.id, { signal });
      await host.logs.rotate?.(path, { maxFiles, maxBytes, nowMs: clock.now(), reopen }).catch((error) => {
        if (!signal.aborted)
          log.warn('failed to rotate log for container', { container: container.name, error: messageOf(error) });
      });
    }
  }

  async #logPathOf(containerId: string): Promise<string | undefined> {
    const { runtime, signal } = this.#options;
    const status = await runtime.containerStatus(containerId, { signal }).catch(() => undefined);
    return status?.logPath || undefined;
  }

  #everyContainerPeriod(): Promise<void> {
    return this.#every(
      containerPeriodMs,
      () => this.collectContainers(),
      (message) => this.#options.event('Warning', 'ContainerGCFailed', message),
    );
  }

  /** A first failure may only mean that nothing is known yet; one that repeats is told. */
  #everyImagePeriod(): Promise<void> {
    let failures = 0;
    const collect = async () => {
      await this.collectImages();
      failures = 0;
    };
    return this.#every(imagePeriodMs, collect, (message) => {
      if (++failures > 1) this.#options.event('Warning', 'ImageGCFailed', message);
    });
  }

  async #every(periodMs: number, work: () => Promise<void>, onFailure?: (message: string) => void): Promise<void> {
    const { clock, log, signal } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, periodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await work().catch((error) => {
        if (signal.aborted) return;
        log.warn('housekeeping failed', { error: messageOf(error) });
        onFailure?.(messageOf(error));
      });
    }
  }
}

const unknownStateGraceSeconds = 2;

const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

function formatSize(bytes: number): string {
  const step = Math.min(Math.floor(Math.log2(Math.max(1, bytes)) / 10), sizeUnits.length - 1);
  return step === 0 ? `${bytes} B` : `${(bytes / 1024 ** step).toFixed(1)} ${sizeUnits[step]}`;
}

/** Cleans up on the clock: dead containers every minute, images every five minutes, log files that have grown every ten seconds. */

import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { NodeHost } from '../host/host.ts';
import type { PodWorkers } from '../pods/pod-workers.ts';
import { type ContainerRuntime, runtimeLabels } from '../runtime/runtime.ts';
import { collectable } from './container-collection.ts';
import { ImageCollection } from './image-collection.ts';

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly configuration: KubeletConfiguration;
  readonly runtime: ContainerRuntime;
  readonly host: NodeHost;
  readonly workers: PodWorkers;
  /** An Event about the node. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

const containerPeriodMs = 60_000;
const imagePeriodMs = 300_000;
const logPeriodMs = 10_000;

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #images: ImageCollection;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    const { imageGcHighThresholdPercent, imageGcLowThresholdPercent, imageMinimumGcAgeMs } = options.configuration;
    this.#images = new ImageCollection({
      highThresholdPercent: imageGcHighThresholdPercent,
      lowThresholdPercent: imageGcLowThresholdPercent,
      minAgeMs: imageMinimumGcAgeMs,
    });
  }

  async run(): Promise<void> {
    const { host, configuration } = this.#options;
    const loops = [this.#every(containerPeriodMs, 'ContainerGCFailed', () => this.collectContainers())];
    // A threshold of 100 % turns the collection of images off.
    if (configuration.imageGcHighThresholdPercent < 100)
      loops.push(this.#every(imagePeriodMs, 'ImageGCFailed', () => this.collectImages()));
    if (host.logs.rotate) loops.push(this.#every(logPeriodMs, undefined, () => this.rotateLogs()));
    await Promise.all(loops);
  }

  async collectContainers(): Promise<void> {
    const { clock, configuration, host, runtime, signal, workers } = this.#options;
    if (workers.all().length === 0) return;
    const [containers, sandboxes] = await Promise.all([
      runtime.listContainers({}, { signal }),
      runtime.listPodSandboxes({}, { signal }),
    ]);
    const gone = collectable(
      { containers, sandboxes, nowMs: clock.now(), hasPod: (uid) => workers.get(uid) !== undefined },
      {
        minAgeMs: configuration.minimumContainerTtlMs,
        maxPerPodContainer: configuration.maximumDeadContainersPerContainer,
        maxContainers: configuration.maximumDeadContainers,
      },
    );
    for (const { id } of gone.containers) {
      const status = await runtime.containerStatus(id, { signal }).catch(() => undefined);
      if (status) {
        await host.files.unlinkLog(status);
        await host.logs.remove?.(status.logPath);
      }
      await runtime.removeContainer(id, { signal });
    }
    for (const { id } of gone.sandboxes) await runtime.removePodSandbox(id, { signal });
  }

  async collectImages(): Promise<void> {
    const { clock, host, log, runtime, signal } = this.#options;
    const [images, containers, usage] = await Promise.all([
      runtime.listImages({ signal }),
      runtime.listContainers({}, { signal }),
      host.usage(),
    ]);
    this.#images.observe(images, containers, clock.now());
    const plan = this.#images.candidates(images, usage.imagefs, clock.now());
    let freed = 0;
    for (const image of plan.images) {
      if (freed >= plan.bytes) break;
      log.info('removing an image to free bytes', { image: image.id, sizeBytes: image.sizeBytes });
      await runtime.removeImage({ image: image.id }, { signal });
      freed += image.sizeBytes;
    }
    if (freed < plan.bytes) {
      throw new Error(
        `Failed to garbage collect required amount of images. Attempted to free ${plan.bytes} bytes, but only found ${freed} bytes eligible to free.`,
      );
    }
  }

  async rotateLogs(): Promise<void> {
    const { clock, configuration, host, log, runtime, signal } = this.#options;
    const { containerLogMaxFiles: maxFiles, containerLogMaxSizeBytes: maxBytes } = configuration;
    if (maxBytes < 0) return;
    for (const container of await runtime.listContainers({ state: 'running' }, { signal })) {
      if (container.labels[runtimeLabels.podUid] === undefined) continue;
      const status = await runtime.containerStatus(container.id, { signal }).catch(() => undefined);
      if (!status?.logPath) continue;
      const reopen = () => runtime.reopenContainerLog(container.id, { signal });
      await host.logs.rotate?.(status.logPath, { maxFiles, maxBytes, nowMs: clock.now(), reopen }).catch((error) => {
        if (!signal.aborted)
          log.warn('failed to rotate log for container', { container: container.name, error: messageOf(error) });
      });
    }
  }

  async #every(periodMs: number, failure: string | undefined, work: () => Promise<void>): Promise<void> {
    const { clock, event, log, signal } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, periodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await work().catch((error) => {
        if (signal.aborted) return;
        log.warn('housekeeping failed', { error: messageOf(error) });
        if (failure) event('Warning', failure, messageOf(error));
      });
    }
  }
}

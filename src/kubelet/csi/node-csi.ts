/**
 * All that a kubelet has to do with the Container Storage Interface, joined: its drivers, what the cluster is told of them, and the
 * volumes that Pods have from them.
 */

import { type Node, nodes, type Pod } from '../../api/gen/core-v1.ts';
import { type CSIDriver, csiDrivers } from '../../api/gen/storage-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { sleep } from '../../base/clock.ts';
import type { HistogramSample } from '../../base/metrics/families.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import type { PluginHandler } from '../plugins/plugin-handler.ts';
import type { ServiceAccountTokens } from '../volumes/service-account-tokens.ts';
import { CsiAllocatable } from './csi-allocatable.ts';
import { CsiAttachments } from './csi-attachments.ts';
import { CsiDrivers } from './csi-drivers.ts';
import { CsiExpansion } from './csi-expansion.ts';
import type { CsiFolders } from './csi-folders.ts';
import { CsiCallMetrics } from './csi-metrics.ts';
import { CsiNodeInfo } from './csi-node-info.ts';
import { CsiStats, type CsiVolumeStats } from './csi-stats.ts';
import type { CsiVolume } from './csi-volume.ts';
import { CsiVolumes, type MountedCsiVolume } from './csi-volumes.ts';

export interface NodeCsiOptions extends Pick<ComponentContext, 'client' | 'clock' | 'log' | 'signal' | 'informers'> {
  readonly nodeName: string;
  readonly folders: CsiFolders;
  readonly tokens: ServiceAccountTokens;
  readonly recorder: EventRecorder;
  readonly republishMs: number;
  node(): Node | undefined;
  /** Posts the Node's status. */
  reportNode(): Promise<void>;
  /** These Pods may go on; all, where none are named. */
  onChange(podUids?: readonly string[]): void;
}

const longestRetryMs = 10_000;

export class NodeCsi {
  readonly #options: NodeCsiOptions;
  readonly #nodeInfo: CsiNodeInfo;
  readonly #drivers: CsiDrivers;
  readonly #volumes: CsiVolumes;
  readonly #stats: CsiStats;
  readonly #metrics = new CsiCallMetrics();
  #objects: Informer<CSIDriver> | undefined;

  constructor(options: NodeCsiOptions) {
    const { client, clock, log, nodeName, recorder } = options;
    this.#options = options;
    this.#nodeInfo = new CsiNodeInfo(options);
    this.#drivers = new CsiDrivers({
      clock,
      log,
      nodeInfo: this.#nodeInfo,
      observe: this.#metrics.observe,
      onRegistered: (driver) => {
        allocatable.registered(driver);
        options.onChange();
      },
      onGone: (driver) => allocatable.gone(driver),
    });
    const allocatable = new CsiAllocatable({
      ...options,
      objects: () => this.#followObjects(),
      update: (driver) => this.#drivers.updateCount(driver),
    });
    const expansion = new CsiExpansion({ client, clock, log, recorder, nodeName });
    this.#volumes = new CsiVolumes({
      ...options,
      drivers: this.#drivers,
      attachments: new CsiAttachments(options),
      driverObject: (name) => this.#driverObject(name),
      mayGrow: (volume) => expansion.mayGrow(volume),
      expand: (pod, volume, place) => expansion.expand(pod, volume, place),
      onInUseChange: () => void options.reportNode().catch(() => undefined),
    });
    this.#stats = new CsiStats({
      clock,
      drivers: this.#drivers,
      publishedTo: (podUid) => this.#volumes.publishedTo(podUid),
    });
  }

  /** What registers drivers. */
  get plugins(): PluginHandler {
    return this.#drivers;
  }

  /** Why the node cannot be ready yet. */
  get problem(): string | undefined {
    return this.#nodeInfo.problem;
  }

  inUse(before: readonly string[]): readonly string[] {
    return this.#volumes.inUse(before);
  }

  calls(): readonly HistogramSample[] {
    return this.#metrics.calls();
  }

  /** Before any Pod is looked at. */
  restore(): Promise<void> {
    return this.#volumes.restore();
  }

  /** Has the cluster know the node, and Pods know when their volumes are attached. Until the signal is aborted. */
  async run(): Promise<void> {
    const { clock, informers, log, nodeName, onChange, signal } = this.#options;
    informers.of(nodes, { fieldSelector: `metadata.name=${nodeName}` }).onChange({
      updated: () => {
        const waiting = this.#volumes.waitingPods;
        if (waiting.length > 0) onChange(waiting);
      },
    });
    signal.addEventListener('abort', () => this.#drivers.close(), { once: true });
    for (let retryMs = 100; this.problem && !signal.aborted; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
      await this.#nodeInfo.initialize().catch(async (error) => {
        if (signal.aborted) return;
        log.error('failed to initialize CSINode', { error: messageOf(error) });
        await sleep(clock, retryMs, signal).catch(() => undefined);
      });
    }
    // The node waited for nothing else, perhaps.
    await this.#options.reportNode().catch(() => undefined);
  }

  mount(pod: Pod, volume: CsiVolume): Promise<MountedCsiVolume> {
    return this.#volumes.mount(pod, volume);
  }

  unmountPod(podUid: string): Promise<void> {
    this.#stats.forget(podUid);
    return this.#volumes.unmountPod(podUid);
  }

  unstageUnused(): Promise<void> {
    return this.#volumes.unstageUnused();
  }

  /** By name in the Pod, as far as it is known. */
  volumeStats(podUid: string): ReadonlyMap<string, CsiVolumeStats> {
    return this.#stats.of(podUid);
  }

  /** The objects are followed from the first driver or volume on. */
  async #driverObject(name: string): Promise<CSIDriver | undefined> {
    const objects = this.#followObjects();
    await objects.whenSynced(this.#options.signal);
    return objects.get(name);
  }

  #followObjects(): Informer<CSIDriver> {
    this.#objects ??= this.#options.informers.of(csiDrivers);
    return this.#objects;
  }
}

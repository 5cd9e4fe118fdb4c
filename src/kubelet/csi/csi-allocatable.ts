/**
 * Asks CSI drivers again how many volumes the node can have, as often as their CSIDriver says (`nodeAllocatableUpdatePeriodSeconds`), and
 * has the CSINode tell so. A driver whose object does not say is asked when it registers, and never again.
 */
import type { CSIDriver } from '../../api/gen/storage-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Informer } from '../../reconcile/informer.ts';

export interface CsiAllocatableOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Asked for only once there is a driver. */
  objects(): Informer<CSIDriver>;
  /** Asks the driver, and tells. */
  update(driver: string): Promise<void>;
}

export class CsiAllocatable {
  readonly #options: CsiAllocatableOptions;
  readonly #running = new Map<string, { readonly periodMs: number; readonly stop: AbortController }>();
  readonly #registered = new Set<string>();
  #isFollowing = false;

  constructor(options: CsiAllocatableOptions) {
    this.#options = options;
  }

  registered(driver: string): void {
    this.#registered.add(driver);
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      const changed = ({ metadata }: CSIDriver) => this.#adjust(metadata.name ?? '');
      this.#options.objects().onChange({ added: changed, updated: changed, deleted: changed });
    }
    this.#adjust(driver);
  }

  gone(driver: string): void {
    this.#registered.delete(driver);
    this.#adjust(driver);
  }

  /** Starts, ends or changes the loop of one driver. */
  #adjust(driver: string): void {
    const object = this.#registered.has(driver) ? this.#options.objects().get(driver) : undefined;
    const periodMs = (object?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000;
    const running = this.#running.get(driver);
    if (running?.periodMs === periodMs || (!running && periodMs === 0)) return;
    running?.stop.abort();
    this.#running.delete(driver);
    if (periodMs === 0) return;
    const stop = new AbortController();
    this.#running.set(driver, { periodMs, stop });
    void this.#repeat(driver, periodMs, AbortSignal.any([this.#options.signal, stop.signal]));
  }

  async #repeat(driver: string, periodMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log, update } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await update(driver).catch((error) =>
        log.error('Failed to update CSIDriver', { driver, error: messageOf(error) }),
      );
    }
  }
}

/**
 * What Pods left on the node that went away, containers and all, while no kubelet ran: their volumes and folders. Tried again until
 * nothing is left, for the driver of a volume may come later than the kubelet.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { unmountVolumes } from './pod-mounts.ts';
import type { PodServices } from './pod-services.ts';

export interface OrphanOptions extends Pick<PodServices, 'host' | 'csi'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Whether the node still has that Pod. */
  hasPod(uid: string): boolean;
}

const firstRetryMs = 500;
const longestRetryMs = 60_000;

/** Resolves once all is gone, or the signal is aborted. */
export async function removeOrphans(options: OrphanOptions): Promise<void> {
  const { clock, signal } = options;
  for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
    const areGone = (await removeFolders(options)) && (await unstageUnused(options));
    if (areGone) return;
    await sleep(clock, retryMs, signal).catch(() => undefined);
  }
}

async function removeFolders({ csi, hasPod, host, log }: OrphanOptions): Promise<boolean> {
  let areGone = true;
  for (const uid of await host.files.podUids()) {
    if (hasPod(uid)) continue;
    try {
      await unmountVolumes({ csi, host }, uid);
      await host.files.removePod(uid);
    } catch (error) {
      log.warn('orphaned pod found, but its volumes are not cleaned up', { uid, error: messageOf(error) });
      areGone = false;
    }
  }
  return areGone;
}

async function unstageUnused({ csi, log }: OrphanOptions): Promise<boolean> {
  try {
    await csi?.unstageUnused();
    return true;
  } catch (error) {
    log.warn('a volume that no pod uses is not cleaned up', { error: messageOf(error) });
    return false;
  }
}

/** The informers of one process and identity: however many controllers read a resource, it is listed and watched once. */

import type { KubeObject } from '../apimachinery/meta.ts';
import type { GroupVersionResource, ResourceType } from '../apimachinery/resource.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import type { BackoffOptions } from './backoff.ts';
import type { Informer, InformerSelection, InformerSet } from './informer.ts';
import { reflect } from './reflector.ts';
import { SharedInformer } from './shared-informer.ts';

export interface InformerSetOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Stops all informers; what they hold stays readable. */
  readonly signal: AbortSignal;
  /** Keep `metadata.managedFields`; default: dropped, for it is half of a Pod's memory. */
  readonly keepManagedFields?: boolean | undefined;
  /** Waiting after failures; default as client-go: 0.8 s doubling to 30 s, with jitter. */
  readonly backoff?: BackoffOptions | undefined;
}

export function informerSet(options: InformerSetOptions): InformerSet {
  const informers = new Map<string, RunningInformer>();
  const running = (type: ResourceType, selection: InformerSelection): RunningInformer => {
    const key = keyOfSelection(type, selection);
    const known = informers.get(key);
    if (known) return known;
    const { log, keepManagedFields = false } = options;
    const stop = stoppedWith(options.signal);
    const { signal } = stop;
    const informer = new SharedInformer<KubeObject>(type, { log, keepManagedFields, signal });
    const begun = { informer, stop, isRelied: false };
    informers.set(key, begun);
    void reflect({ ...options, type, selection }, informer, signal);
    return begun;
  };
  return {
    of<T extends KubeObject>(type: ResourceType<T>, selection: InformerSelection = {}): Informer<T> {
      const asked = running(type as unknown as ResourceType, selection);
      asked.isRelied = true;
      return asked.informer as unknown as Informer<T>;
    },

    whileServed<T extends KubeObject>(type: ResourceType<T>): Informer<T> {
      return running(type as unknown as ResourceType, {}).informer as unknown as Informer<T>;
    },

    forget(type: GroupVersionResource): void {
      const key = keyOfSelection(type, {});
      const known = informers.get(key);
      if (!known || known.isRelied) return;
      informers.delete(key);
      const { group, version, resource } = type;
      known.stop.abort(new Error(`${resource}.${version}.${group} is not followed any more`));
    },

    async whenSynced(signal?: AbortSignal): Promise<void> {
      await Promise.all([...informers.values()].map(({ informer }) => informer.whenSynced(signal)));
    },
  };
}

interface RunningInformer {
  readonly informer: SharedInformer<KubeObject>;
  readonly stop: AbortController;
  /** Somebody asked for it by `of` and may keep it for good. */
  isRelied: boolean;
}

/** Aborted when `signal` is, or before, by itself. */
function stoppedWith(signal: AbortSignal): AbortController {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true, signal: stop.signal });
  return stop;
}

function keyOfSelection(type: GroupVersionResource, selection: InformerSelection): string {
  const { namespace = '', labelSelector = '', fieldSelector = '' } = selection;
  return JSON.stringify([type.group, type.version, type.resource, namespace, labelSelector, fieldSelector]);
}

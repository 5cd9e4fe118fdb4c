/**
 * Informers of a `MemoryApi` that show each change in the moment it is made, without watches and their turns: for tests of what reads
 * informers and is no loop itself (authorizers, admission, authentication). With `lag` they stay behind, as a server's informers can.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import { silentLog } from '../base/log.ts';
import type { Informer, InformerSet } from '../reconcile/informer.ts';
import { SharedInformer } from '../reconcile/shared-informer.ts';
import type { MemoryApi } from './memory-api.ts';

export class MemoryInformers implements InformerSet {
  /** While true, informers keep showing what there was before. */
  lag = false;
  readonly #api: MemoryApi;
  readonly #informers = new Map<string, SharedInformer<KubeObject>>();

  constructor(api: MemoryApi) {
    this.#api = api;
    api.onChange(({ table, type, object }) => {
      if (!this.lag) this.#informers.get(keyOf(table.row))?.changed({ type, object });
    });
  }

  of<T extends KubeObject>(type: ResourceType<T>): Informer<T> {
    const known = this.#informers.get(keyOf(type));
    if (known) return known as unknown as Informer<T>;
    const informer = new SharedInformer<T>(type, { log: silentLog, keepManagedFields: false, signal: neverAborted() });
    informer.replace(this.#api.all(type), this.#api.resourceVersion);
    this.#informers.set(keyOf(type), informer as unknown as SharedInformer<KubeObject>);
    return informer;
  }

  whileServed<T extends KubeObject>(type: ResourceType<T>): Informer<T> {
    return this.of(type);
  }

  forget(type: ResourceType): void {
    this.#informers.delete(keyOf(type));
  }

  async whenSynced(): Promise<void> {}
}

/** Tables are those of storage versions; what is asked for in another version has the same objects. */
function keyOf({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return `${resource}.${group}`;
}

function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

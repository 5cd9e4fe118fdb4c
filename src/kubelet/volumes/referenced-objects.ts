/**
 * ConfigMaps and Secrets that Pods of this node refer to: fetched when first needed, then followed by a watch of that one object
 * for as long as some Pod holds it. A kubelet may read no others, so there is no informer for them. A change wakes the Pods that
 * hold the object.
 */
import type { ConfigMap, Secret } from '../../api/gen/core-v1.ts';
import { configMaps, secrets } from '../../api/gen/core-v1.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client, ObjectList } from '../../client/client.ts';

export interface ReferencedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** False: ask again after a minute instead of holding a watch open per object, as simulated nodes do. */
  readonly watch: boolean;
  /** The Pods that hold an object which has changed. */
  onChange(podUids: readonly string[]): void;
}

interface Entry {
  readonly holders: Set<string>;
  readonly stop: AbortController;
  value: Promise<ConfigMap | Secret | undefined> | undefined;
  fetchedAtMs: number;
  isFollowed: boolean;
}

type Kind = 'configMap' | 'secret';

const retryMs = 5000;
const freshForMs = 60_000;

export class ReferencedObjects {
  readonly #options: ReferencedObjectsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: ReferencedObjectsOptions) {
    this.#options = options;
  }

  /** Undefined when there is no such object. */
  configMap(namespace: string, name: string, podUid: string): Promise<ConfigMap | undefined> {
    return this.#get('configMap', namespace, name, podUid) as Promise<ConfigMap | undefined>;
  }

  secret(namespace: string, name: string, podUid: string): Promise<Secret | undefined> {
    return this.#get('secret', namespace, name, podUid) as Promise<Secret | undefined>;
  }

  /** The Pod needs nothing any more. */
  release(podUid: string): void {
    for (const [key, entry] of this.#entries) {
      if (!entry.holders.delete(podUid) || entry.holders.size > 0) continue;
      entry.stop.abort();
      this.#entries.delete(key);
    }
  }

  async #get(kind: Kind, namespace: string, name: string, podUid: string): Promise<ConfigMap | Secret | undefined> {
    const { clock, watch } = this.#options;
    const key = `${kind}/${namespace}/${name}`;
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { holders: new Set(), stop: new AbortController(), value: undefined, fetchedAtMs: 0, isFollowed: false };
      this.#entries.set(key, entry);
    }
    entry.holders.add(podUid);
    const isStale = !watch && clock.monotonic() - entry.fetchedAtMs > freshForMs;
    if (!entry.value || (!entry.isFollowed && isStale)) {
      entry.fetchedAtMs = clock.monotonic();
      entry.value = this.#fetch(kind, namespace, name, entry.stop.signal);
    }
    const pending = entry.value;
    try {
      const value = await pending;
      // What is not there is asked for again each time, and followed only once it exists.
      if (!value) {
        if (entry.value === pending) entry.value = undefined;
      } else if (watch && !entry.isFollowed) void this.#follow(entry, kind, namespace, name, value);
      return value;
    } catch (error) {
      if (entry.value === pending) entry.value = undefined;
      throw error;
    }
  }

  async #fetch(
    kind: Kind,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ConfigMap | Secret | undefined> {
    try {
      return await this.#options.client.get(
        typeOf(kind),
        { namespace, name },
        { signal: anySignal(this.#options.signal, signal) },
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #follow(entry: Entry, kind: Kind, namespace: string, name: string, first: ConfigMap | Secret): Promise<void> {
    const { client, clock, log, onChange } = this.#options;
    entry.isFollowed = true;
    const signal = anySignal(this.#options.signal, entry.stop.signal);
    let current: ConfigMap | Secret | undefined = first;
    const changed = (value: ConfigMap | Secret | undefined) => {
      current = value;
      entry.value = Promise.resolve(value);
      onChange([...entry.holders]);
    };
    const fieldSelector = `metadata.name=${name}`;
    let resourceVersion = first.metadata.resourceVersion;
    while (!signal.aborted && current) {
      try {
        const watch = { namespace, fieldSelector, resourceVersion, allowWatchBookmarks: true, signal };
        for await (const event of client.watch(typeOf(kind), watch)) {
          resourceVersion = event.object.metadata.resourceVersion;
          if (event.type === 'BOOKMARK') continue;
          changed(event.type === 'DELETED' ? undefined : event.object);
          if (!current) break;
        }
      } catch (error) {
        if (!signal.aborted)
          log.debug('watch of a referenced object ended', { kind, namespace, name, error: messageOf(error) });
      }
      if (signal.aborted || !current) break;
      try {
        // The watch ended, for its time was up or the server is away: look afresh. The list's version can be watched from; the
        // object's own may be from before the server remembers.
        const list: ObjectList<ConfigMap | Secret> = await client.list(typeOf(kind), {
          namespace,
          fieldSelector,
          signal,
        });
        const [fresh] = list.items;
        if (fresh?.metadata.resourceVersion !== current.metadata.resourceVersion) changed(fresh);
        resourceVersion = list.resourceVersion;
      } catch {
        await sleep(clock, retryMs, signal).catch(() => undefined);
      }
    }
    entry.isFollowed = false;
    entry.value = undefined;
  }
}

function typeOf(kind: Kind): ResourceType<ConfigMap | Secret> {
  return (kind === 'configMap' ? configMaps : secrets) as ResourceType<ConfigMap | Secret>;
}

function anySignal(...signals: readonly AbortSignal[]): AbortSignal {
  return AbortSignal.any([...signals]);
}

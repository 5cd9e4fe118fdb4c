/** The APIServices whose servers stand behind this one, and what leads to each: kept in step with the objects, by group version. */
import type { APIService, APIServiceSpec } from '../../api/gen/apiregistration-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import type { Handler } from '../request.ts';
import { availableType } from './availability.ts';
import { type RemoteApi, type RemoteHandlerOptions, remoteHandler } from './remote-handler.ts';
import { RemoteServer, type RemoteServerOptions } from './remote-server.ts';

export interface RemoteEntry extends RemoteApi {
  readonly service: APIService;
  readonly spec: APIServiceSpec;
  readonly group: string;
  readonly version: string;
}

interface Kept {
  entry: RemoteEntry;
  readonly handler: Handler;
}

export class RemoteRegistry {
  readonly #options: RemoteServerOptions & RemoteHandlerOptions;
  /** By `group/version`. */
  readonly #kept = new Map<string, Kept>();

  constructor(options: RemoteServerOptions & RemoteHandlerOptions) {
    this.#options = options;
  }

  /** Takes over what the objects say now. */
  update(services: readonly APIService[]): void {
    const left = new Set(this.#kept.keys());
    for (const service of services) {
      const { group = '', version = '' } = service.spec;
      // The core group is this server's own, whatever an object says: it would ask itself for Services through it.
      if (!service.spec.service || group === '') continue;
      const key = `${group}/${version}`;
      left.delete(key);
      this.#put(key, service);
    }
    for (const key of left) {
      this.#kept.get(key)?.entry.server.close();
      this.#kept.delete(key);
    }
  }

  entries(): RemoteEntry[] {
    return [...this.#kept.values()].map(({ entry }) => entry);
  }

  named(name: string): RemoteEntry | undefined {
    return this.entries().find((entry) => entry.name === name);
  }

  of(group: string, version: string): RemoteEntry | undefined {
    return this.#kept.get(`${group}/${version}`)?.entry;
  }

  /** Who serves the path in this server's stead. */
  handler(path: string): Handler | undefined {
    const [, groupVersion] = /^\/(?:apis|openapi\/v3\/apis)\/([^/]+\/[^/]+)(?:\/|$)/.exec(path) ?? [];
    return groupVersion === undefined ? undefined : this.#kept.get(groupVersion)?.handler;
  }

  close(): void {
    for (const { entry } of this.#kept.values()) entry.server.close();
    this.#kept.clear();
  }

  #put(key: string, service: APIService): void {
    const known = this.#kept.get(key);
    const way = wayOf(service.spec);
    const sameWay = known && wayOf(known.entry.spec) === way;
    if (known && !sameWay) known.entry.server.close();
    const server = sameWay ? known.entry.server : new RemoteServer(service.spec, this.#options);
    const { group = '', version = '' } = service.spec;
    const entry: RemoteEntry = {
      name: service.metadata.name ?? '',
      group,
      version,
      service,
      spec: service.spec,
      available: isConditionTrue(service.status?.conditions, availableType),
      server,
    };
    if (known) {
      known.entry = entry;
      return;
    }
    const kept: Kept = { entry, handler: remoteHandler(() => kept.entry, this.#options) };
    this.#kept.set(key, kept);
  }
}

/** What decides how a server is reached. */
function wayOf({ service, caBundle, insecureSkipTLSVerify }: APIServiceSpec): string {
  return JSON.stringify([service?.namespace, service?.name, service?.port, caBundle, insecureSkipTLSVerify ?? false]);
}

/**
 * Which container holds which devices, and what the plugin answered when it got them: how the container is to find them. By Pod,
 * container and resource; a device that belongs to several memory nodes stands under each of them.
 */
import type { ContainerAllocateResponse } from './gen/device-plugin-v1beta1.ts';

/** The place of devices that belong to no memory node. */
export const nowhere = -1;

export interface HeldResource {
  /** Ids of devices by memory node. */
  readonly byNode: ReadonlyMap<number, readonly string[]>;
  readonly response: ContainerAllocateResponse;
}

export interface HeldEntry extends HeldResource {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
}

type Resources = ReadonlyMap<string, HeldResource>;

export class HeldDevices {
  readonly #pods = new Map<string, Map<string, Map<string, HeldResource>>>();

  add({ podUid, container, resource, byNode, response }: HeldEntry): void {
    const containers = this.#pods.get(podUid) ?? new Map<string, Map<string, HeldResource>>();
    const resources = containers.get(container) ?? new Map<string, HeldResource>();
    this.#pods.set(podUid, containers.set(container, resources.set(resource, { byNode, response })));
  }

  /** By resource; in the order of their names. */
  of(podUid: string, container: string): Resources {
    const resources = this.#pods.get(podUid)?.get(container);
    return new Map([...(resources ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Undefined when it holds none of that resource. */
  ids(podUid: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const held = this.#pods.get(podUid)?.get(container)?.get(resource);
    return held && idsOf(held);
  }

  idsOfPod(podUid: string, resource: string): ReadonlySet<string> {
    const containers = [...(this.#pods.get(podUid)?.keys() ?? [])];
    return new Set(containers.flatMap((container) => [...(this.ids(podUid, container, resource) ?? [])]));
  }

  used(resource: string): ReadonlySet<string> {
    return new Set(this.entries().flatMap((entry) => (entry.resource === resource ? [...idsOf(entry)] : [])));
  }

  /** Pods with any of these devices. */
  holders(resource: string, ids: ReadonlySet<string>): ReadonlySet<string> {
    const holding = this.entries().filter((entry) => entry.resource === resource && !idsOf(entry).isDisjointFrom(ids));
    return new Set(holding.map(({ podUid }) => podUid));
  }

  hasPod(podUid: string): boolean {
    return this.#pods.has(podUid);
  }

  /** Whether it held any. */
  release(podUid: string): boolean {
    return this.#pods.delete(podUid);
  }

  podUids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  entries(): readonly HeldEntry[] {
    return [...this.#pods].flatMap(([podUid, containers]) =>
      [...containers].flatMap(([container, resources]) =>
        [...resources].map(([resource, held]) => ({ podUid, container, resource, ...held })),
      ),
    );
  }
}

export function idsOf({ byNode }: Pick<HeldResource, 'byNode'>): ReadonlySet<string> {
  return new Set([...byNode.values()].flat());
}

/**
 * Devices of the node that plugins have, and who holds them. A resource is known from its plugin's first list until five minutes after
 * the plugin's end, or while a Pod holds some of it; what a restarted kubelet read from its checkpoint counts as ended just then. Containers get
 * devices one after another (`NodeResources` sees to it), and keep them until their Pod ends. Plugins come and go through
 * `device-plugins.ts`; calls to them are the only thing here that takes time.
 */
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod, ResourceStatus } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { StateFiles } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { AllocationError } from '../resource-managers/allocation-error.ts';
import type { TopologyHint } from '../resource-managers/topology-hints.ts';
import { type ContainerDevices, joinResponses } from './container-devices.ts';
import { formatDeviceCheckpoint, parseDeviceCheckpoint } from './device-checkpoint.ts';
import { alignDevices, type DevicePlaces, deviceHints, hasPlaces } from './device-hints.ts';
import type { DevicePlugin } from './device-plugin.ts';
import { deviceRequests, podDeviceRequests } from './device-requests.ts';
import type { Device } from './gen/device-plugin-v1beta1.ts';
import { HeldDevices, type HeldEntry, nowhere } from './held-devices.ts';

export interface NodeDevicesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateFiles;
  /** Ids of the machine's memory nodes, by their place in a hint. */
  readonly memoryNodes: readonly number[];
  readonly metrics?: KubeletMetrics | undefined;
}

/** What others are told of; set once, before plugins come. */
export interface DeviceListener {
  /** The node may have more or fewer devices. */
  onCapacity(): void;
  /** Devices that these Pods hold became healthy or unhealthy. */
  onHealth(podUids: ReadonlySet<string>): void;
}

export interface DeviceCapacity {
  readonly capacity: Readonly<Record<string, number>>;
  /** Those that are healthy. */
  readonly allocatable: Readonly<Record<string, number>>;
}

/** Of one resource. */
interface KnownResource {
  healthy: ReadonlySet<string>;
  unhealthy: ReadonlySet<string>;
  /** Absent after a restart of the kubelet until it registers. */
  plugin?: DevicePlugin | undefined;
  /** Absent while the plugin is there. */
  stoppedAtMs?: number | undefined;
}

const checkpointFile = 'kubelet_internal_checkpoint';
const stopGraceMs = 5 * 60_000;
const healthyState = 'Healthy';
const none: ReadonlySet<string> = new Set();
const anywhere: TopologyHint = { nodes: undefined, preferred: true };

export class NodeDevices {
  readonly #options: NodeDevicesOptions;
  readonly #known = new Map<string, KnownResource>();
  /** As last listed, also of resources that are gone: their devices may be held. */
  readonly #devices = new Map<string, ReadonlyMap<string, Device>>();
  readonly #held = new HeldDevices();
  /** Under way: not yet given by the plugin. */
  readonly #choices = new Set<Choice>();
  /** Of init containers that have ended when the next one starts, by Pod and resource. */
  readonly #reusable = new Map<string, Map<string, ReadonlySet<string>>>();
  #listener: DeviceListener | undefined;
  #isNew = true;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: NodeDevicesOptions) {
    this.#options = options;
  }

  /** What the kubelet before this one knew. A checkpoint that cannot be read is as good as none. */
  async restore(): Promise<void> {
    const { clock, log, state } = this.#options;
    const text = await state.read(checkpointFile);
    this.#isNew = text === undefined;
    if (text === undefined) return;
    try {
      const { held, registered } = parseDeviceCheckpoint(text);
      for (const entry of held) this.#held.add(entry);
      for (const resource of registered.keys())
        this.#known.set(resource, { healthy: none, unhealthy: none, stoppedAtMs: clock.monotonic() });
    } catch (error) {
      const message = 'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date';
      log.error(message, { error: messageOf(error) });
    }
  }

  /** Whether no kubelet before this one remembered anything. */
  get isNew(): boolean {
    return this.#isNew;
  }

  listen(listener: DeviceListener): void {
    this.#listener = listener;
  }

  connected(resource: string, plugin: DevicePlugin): void {
    const { healthy = none, unhealthy = none } = this.#known.get(resource) ?? {};
    this.#known.set(resource, { healthy, unhealthy, plugin });
  }

  listed(resource: string, devices: readonly Device[]): void {
    const known = this.#known.get(resource);
    if (!known) return;
    const before = this.#devices.get(resource);
    const changed = devices.filter(({ ID, health }) => before?.get(ID)?.health !== health).map(({ ID }) => ID);
    this.#devices.set(resource, new Map(devices.map((device) => [device.ID, device])));
    const ids = Map.groupBy(devices, ({ health }) => health === healthyState);
    known.healthy = new Set(ids.get(true)?.map(({ ID }) => ID));
    known.unhealthy = new Set(ids.get(false)?.map(({ ID }) => ID));
    void this.#save();
    const holders = this.#held.holders(resource, new Set(changed));
    if (holders.size > 0) this.#listener?.onHealth(holders);
    this.#listener?.onCapacity();
  }

  /** The plugin has ended: nobody gets its devices until it comes back. */
  disconnected(resource: string, plugin: DevicePlugin): void {
    const known = this.#known.get(resource);
    if (known?.plugin !== plugin) return;
    known.unhealthy = known.unhealthy.union(known.healthy);
    known.healthy = none;
    known.stoppedAtMs = this.#options.clock.monotonic();
    this.#listener?.onCapacity();
  }

  /** Resources whose plugin has been gone for too long are forgotten by this; their capacity is 0 from then on. */
  capacity(): DeviceCapacity {
    const capacity: Record<string, number> = {};
    const allocatable: Record<string, number> = {};
    const nowMs = this.#options.clock.monotonic();
    let hasForgotten = false;
    for (const [resource, { healthy, stoppedAtMs = nowMs, unhealthy }] of this.#known) {
      const isGone = nowMs - stoppedAtMs > stopGraceMs;
      if (isGone) hasForgotten = this.#known.delete(resource);
      capacity[resource] = isGone ? 0 : healthy.size + unhealthy.size;
      allocatable[resource] = isGone ? 0 : healthy.size;
    }
    if (hasForgotten) void this.#save();
    return { capacity, allocatable };
  }

  /** Whether the Pod asks for what plugins have. */
  concerns(pod: Pod): boolean {
    return podDeviceRequests(pod).some(([resource]) => this.#isKnown(resource));
  }

  /** One list per resource of the container, or of the Pod as a whole. */
  hints(pod: Pod, container: Container | undefined): readonly (readonly TopologyHint[] | undefined)[] {
    const uid = pod.metadata.uid ?? '';
    const requests = container ? deviceRequests(container) : podDeviceRequests(pod);
    return requests
      .filter(([resource]) => this.#isKnown(resource))
      .map(([resource, count]) => {
        const held = container
          ? (this.#held.ids(uid, container.name, resource) ?? none)
          : this.#held.idsOfPod(uid, resource);
        const reusable = container ? (this.#reusable.get(uid)?.get(resource) ?? none) : none;
        return this.#hintsFor(resource, count, { held, reusable });
      });
  }

  /** Rejects with an `AllocationError` when there are not as many, or the plugin does not give them. */
  async allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    try {
      await this.#allocate(pod, container, hint);
    } catch (error) {
      const message = `Allocate failed due to ${messageOf(error)}, which is unexpected`;
      throw new AllocationError('UnexpectedAdmissionError', message);
    }
  }

  /** Tells the plugin that the container starts, and what it is to be given. Undefined: nothing. */
  async prepare(pod: Pod, container: Container): Promise<ContainerDevices | undefined> {
    const uid = pod.metadata.uid ?? '';
    for (const [resource, count] of deviceRequests(container)) {
      if (count === 0 || !this.#isKnown(resource)) continue;
      const known = this.#known.get(resource);
      if (!known) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
      if (known.plugin?.options.preStartRequired) await this.#preStart(uid, container.name, resource);
      // Its checkpoint was lost: the container gets devices anew.
      if (!this.#held.ids(uid, container.name, resource)) await this.#allocate(pod, container, anywhere);
    }
    const held = this.#held.of(uid, container.name);
    return held.size > 0 ? joinResponses([...held.values()].map(({ response }) => response)) : undefined;
  }

  release(podUid: string): void {
    this.#reusable.delete(podUid);
    if (this.#held.release(podUid)) void this.#save();
  }

  podUids(): readonly string[] {
    return this.#held.podUids();
  }

  /** Health of what a container holds, for its status. */
  health(podUid: string, container: string): readonly ResourceStatus[] {
    return [...this.#held.of(podUid, container)].map(([name, { byNode }]) => ({
      name,
      resources: [...new Set([...byNode.values()].flat())].sort().map((resourceID) => {
        const health = this.#devices.get(name)?.get(resourceID)?.health ?? healthyState;
        return { resourceID, health: health === healthyState ? 'Healthy' : 'Unhealthy' };
      }),
    }));
  }

  /** By resource and memory node. */
  heldBy(podUid: string, container: string): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>> {
    return new Map([...this.#held.of(podUid, container)].map(([resource, { byNode }]) => [resource, byNode]));
  }

  /** Healthy devices by resource. */
  allocatable(): ReadonlyMap<string, readonly Device[]> {
    return new Map(
      [...this.#known].map(([resource, { healthy }]) => [
        resource,
        [...(this.#devices.get(resource)?.values() ?? [])].filter(({ ID }) => healthy.has(ID)),
      ]),
    );
  }

  /** Resolves when what is given away is on the disk. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  #isKnown(resource: string): boolean {
    return this.#known.has(resource) || this.#held.used(resource).size > 0;
  }

  #places(resource: string): DevicePlaces {
    return new Map([...(this.#devices.get(resource) ?? [])].map(([id, device]) => [id, nodesOf(device)]));
  }

  #available(resource: string): ReadonlySet<string> {
    let free = (this.#known.get(resource)?.healthy ?? none).difference(this.#held.used(resource));
    for (const choice of this.#choices) if (choice.resource === resource) free = free.difference(choice.ids);
    return free;
  }

  #hintsFor(
    resource: string,
    count: number,
    { held, reusable }: { readonly held: ReadonlySet<string>; readonly reusable: ReadonlySet<string> },
  ): readonly TopologyHint[] | undefined {
    const places = this.#places(resource);
    if (!hasPlaces(places)) return undefined;
    if (held.size > 0 && held.size !== count) return [];
    const available = held.size > 0 ? held : this.#available(resource);
    const lent = held.size > 0 ? none : reusable;
    if (available.union(lent).size < count) return [];
    return deviceHints(this.#options.memoryNodes, { places, available, reusable: lent, count });
  }

  async #allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    for (const [resource, count] of deviceRequests(container)) {
      if (!this.#isKnown(resource)) continue;
      const choice = new Choice(resource, count);
      this.#choices.add(choice);
      try {
        const holder = { podUid: uid, container: container.name };
        await this.#choose(choice, { ...holder, hint });
        if (choice.ids.size > 0) await this.#take(choice, holder);
      } finally {
        this.#choices.delete(choice);
      }
    }
    this.#lend(pod, container);
  }

  async #take({ ids, resource }: Choice, holder: Holder): Promise<void> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const response = await this.#pluginOf(resource).allocate([...ids]);
    metrics?.time('device_plugin_alloc_duration_seconds', clock.monotonic() - startedMs, { resource_name: resource });
    const byNode = new Map<number, string[]>();
    for (const id of ids) {
      const nodes = nodesOf(this.#devices.get(resource)?.get(id));
      for (const node of nodes.length > 0 ? nodes : [nowhere]) byNode.set(node, [...(byNode.get(node) ?? []), id]);
    }
    this.#held.add({ ...holder, resource, byNode, response });
    await this.#save();
  }

  /** Leaves the choice empty when the container has what it needs. */
  async #choose(choice: Choice, { podUid, container, hint }: Holder & { readonly hint: TopologyHint }): Promise<void> {
    const { resource, size } = choice;
    const held = this.#held.ids(podUid, container, resource);
    if (held && held.size !== size)
      throw new Error(
        `pod "${podUid}" container "${container}" changed request for resource "${resource}" from ${held.size} to ${size}`,
      );
    const known = this.#known.get(resource);
    if (!known) throw new Error(`cannot allocate unregistered device ${resource}`);
    if (known.healthy.size === 0)
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    if (held?.isSubsetOf(known.healthy) === false)
      throw new Error(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
    if (held || choice.takeFrom(this.#reusable.get(podUid)?.get(resource) ?? none)) return;
    const available = this.#available(resource);
    if (available.size < choice.needed)
      throw new Error(
        `requested number of devices unavailable for ${resource}. Requested: ${choice.needed}, Available: ${available.size}`,
      );
    await this.#align(choice, { available, hint });
  }

  /** What is near first; among what is equally near, what the plugin prefers. */
  async #align(
    choice: Choice,
    { available, hint }: { readonly available: ReadonlySet<string>; readonly hint: TopologyHint },
  ): Promise<void> {
    const { resource } = choice;
    const places = this.#places(resource);
    const { aligned, elsewhere, unaligned } = alignDevices(this.#options.memoryNodes, hint, { available, places });
    const preferredOf = async (ids: Iterable<string>) => {
      const plugin = this.#pluginOf(resource);
      if (!plugin.options.getPreferredAllocationAvailable) return [];
      const mustInclude = [...choice.ids];
      const candidates = new Set([...ids, ...mustInclude]);
      const wanted = { available: [...candidates], mustInclude, count: choice.size };
      const preferred = await plugin.preferred(wanted).catch((error) => {
        const message = `device plugin GetPreferredAllocation rpc failed with err: ${messageOf(error)}`;
        throw new Error(message, { cause: error });
      });
      return preferred.filter((id) => candidates.has(id));
    };
    if (choice.needed < aligned.length) {
      choice.takeFrom(await preferredOf(aligned));
      choice.takeFrom(aligned);
      return;
    }
    if (choice.takeFrom(aligned)) return;
    if (choice.takeFrom(await preferredOf(available))) return;
    choice.takeFrom(unaligned);
    choice.takeFrom(elsewhere);
  }

  #pluginOf(resource: string): DevicePlugin {
    const { plugin, stoppedAtMs } = this.#known.get(resource) ?? {};
    if (!plugin) throw new Error(`unknown Device Plugin ${resource}`);
    if (stoppedAtMs !== undefined) throw new Error(`endpoint ${resource} has been stopped`);
    return plugin;
  }

  async #preStart(podUid: string, container: string, resource: string): Promise<void> {
    const ids = this.#held.ids(podUid, container, resource);
    if (!ids)
      throw new Error(
        `no devices found allocated in local cache for pod ${podUid}, container ${container}, resource ${resource}`,
      );
    try {
      await this.#pluginOf(resource).preStart([...ids]);
    } catch (error) {
      const message = `device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`;
      throw new Error(message, { cause: error });
    }
  }

  /** What an init container has is free for those after it; a sidecar, and what runs at last, keep theirs. */
  #lend(pod: Pod, container: Container): void {
    const uid = pod.metadata.uid ?? '';
    const ends = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name) && !isSidecar(container);
    const lent = this.#reusable.get(uid) ?? new Map<string, ReadonlySet<string>>();
    for (const [resource, { byNode }] of this.#held.of(uid, container.name)) {
      const ids = new Set([...byNode.values()].flat());
      const before = lent.get(resource) ?? none;
      lent.set(resource, ends ? before.union(ids) : before.difference(ids));
    }
    this.#reusable.set(uid, lent);
  }

  /** One after the other: the last state is the one that stays. */
  #save(): Promise<void> {
    const { log, state } = this.#options;
    const registered = new Map([...this.#known].map(([resource, { healthy }]) => [resource, [...healthy]]));
    const text = formatDeviceCheckpoint({ held: this.#held.entries(), registered });
    this.#saving = this.#saving
      .then(() => state.write(checkpointFile, text))
      .catch((error) => log.error(`failed to write checkpoint file "${checkpointFile}": ${messageOf(error)}`));
    return this.#saving;
  }
}

type Holder = Pick<HeldEntry, 'podUid' | 'container'>;

/** Devices that are being chosen for a container. */
class Choice {
  readonly ids = new Set<string>();
  readonly resource: string;
  readonly size: number;

  constructor(resource: string, size: number) {
    this.resource = resource;
    this.size = size;
  }

  get needed(): number {
    return this.size - this.ids.size;
  }

  /** Whether there are enough now. */
  takeFrom(candidates: Iterable<string>): boolean {
    for (const id of candidates) {
      if (this.needed === 0) break;
      this.ids.add(id);
    }
    return this.needed === 0;
  }
}

function nodesOf(device: Device | undefined): readonly number[] {
  return (device?.topology?.nodes ?? []).map(({ ID }) => Number(ID));
}

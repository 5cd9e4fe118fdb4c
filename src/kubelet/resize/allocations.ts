/**
 * What containers of this node may use: a Pod's wishes can change while it runs, and until the node has agreed it runs with what it was
 * given before. Kept across restarts of the kubelet, as are the resources that each running container was really set to; where that
 * is forgotten they are set once more.
 */
import type { Container, Pod, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { StateFiles } from '../host/host.ts';
import { sameJson } from '../pods/status-writer.ts';

/** Of one Pod. */
interface Resources {
  readonly pod?: ResourceRequirements | undefined;
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
}

/** What one container runs with. */
interface Actuated {
  readonly containerId: string;
  readonly resources: ResourceRequirements;
}

/** What a Pod as a whole, and each of its containers, runs with. */
interface ActuatedPod {
  readonly pod?: ResourceRequirements | undefined;
  readonly containers: Readonly<Record<string, Actuated>>;
}

/** How an `ActuatedPod` was stored before Pods as a whole could have resources. */
type ContainersAlone = Readonly<Record<string, Actuated>>;

const allocatedFile = 'allocated_pods_state';
const actuatedFile = 'actuated_pods_state';

export interface AllocationsOptions {
  readonly state: StateFiles;
  readonly log: Log;
}

export class Allocations {
  readonly #options: AllocationsOptions;
  readonly #allocated = new Map<string, Resources>();
  readonly #actuated = new Map<string, ActuatedPod>();
  #unsaved = false;
  #saving: Promise<void> | undefined;

  constructor(options: AllocationsOptions) {
    this.#options = options;
  }

  /** What the kubelet before this one has given. A file that cannot be read is as good as none. */
  async restore(): Promise<void> {
    for (const [uid, resources] of await this.#read<Resources>(allocatedFile)) this.#allocated.set(uid, resources);
    for (const [uid, stored] of await this.#read<Partial<ActuatedPod> | ContainersAlone>(actuatedFile))
      this.#actuated.set(uid, isContainersAlone(stored) ? { containers: stored } : { containers: {}, ...stored });
  }

  has(podUid: string): boolean {
    return this.#allocated.has(podUid);
  }

  /** Gives the Pod what it asks for. */
  allocate(pod: Pod): void {
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const containers = Object.fromEntries(all.map(({ name, resources = {} }) => [name, resources]));
    this.#allocated.set(pod.metadata.uid ?? '', { pod: pod.spec.resources, containers });
    this.#save();
  }

  /** The Pod with the resources that it was given; the very same one where those are what it asks for. */
  allocated(pod: Pod): Pod {
    const given = this.#allocated.get(pod.metadata.uid ?? '');
    if (!given) return pod;
    const { containers, initContainers } = pod.spec;
    const isSame =
      sameJson(pod.spec.resources, given.pod) &&
      [...(initContainers ?? []), ...containers].every(({ name, resources = {} }) =>
        sameJson(resources, given.containers[name] ?? resources),
      );
    if (isSame) return pod;
    const as = (list: readonly Container[]) =>
      list.map((container) => ({ ...container, resources: given.containers[container.name] ?? container.resources }));
    return {
      ...pod,
      spec: {
        ...pod.spec,
        resources: given.pod,
        containers: as(containers),
        ...(initContainers ? { initContainers: as(initContainers) } : {}),
      },
    };
  }

  /** A container runs with these resources from now on. */
  actuate(podUid: string, container: Container, containerId: string): void {
    const before = this.#actuated.get(podUid);
    const own = { containerId, resources: container.resources ?? {} };
    this.#actuated.set(podUid, { ...before, containers: { ...before?.containers, [container.name]: own } });
    this.#save();
  }

  /** The Pod's own group has what the Pod asks for as a whole, from now on. */
  actuatePod(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (!pod.spec.resources || sameJson(this.actuatedAsWhole(uid), pod.spec.resources)) return;
    this.#actuated.set(uid, { containers: {}, ...this.#actuated.get(uid), pod: pod.spec.resources });
    this.#save();
  }

  /** What a Pod's own group has, of what Pods ask for as a whole; undefined when that is not known. */
  actuatedAsWhole(podUid: string): ResourceRequirements | undefined {
    return this.#actuated.get(podUid)?.pod;
  }

  /** Undefined when it is not known. */
  actuated(podUid: string, name: string, containerId: string): ResourceRequirements | undefined {
    const known = this.#actuated.get(podUid)?.containers[name];
    return known?.containerId === containerId ? known.resources : undefined;
  }

  release(podUid: string): void {
    const had = this.#allocated.delete(podUid);
    if (this.#actuated.delete(podUid) || had) this.#save();
  }

  /** Forgets Pods that the node has no more. */
  retain(hasPod: (uid: string) => boolean): void {
    for (const uid of new Set([...this.#allocated.keys(), ...this.#actuated.keys()]))
      if (!hasPod(uid)) this.release(uid);
  }

  /** Resolves when all of it is on the disk. */
  async saved(): Promise<void> {
    while (this.#saving) await this.#saving;
  }

  async #read<T>(name: string): Promise<[string, T][]> {
    const text = await this.#options.state.read(name);
    if (text === undefined) return [];
    try {
      return Object.entries((JSON.parse(text) as { readonly entries: Record<string, T> }).entries);
    } catch (error) {
      this.#options.log.error('resources given to Pods cannot be restored', { name, error: messageOf(error) });
      return [];
    }
  }

  /** What changes while a file is written goes into the next one. */
  #save(): void {
    this.#unsaved = true;
    this.#saving ??= this.#write().finally(() => {
      this.#saving = undefined;
    });
  }

  async #write(): Promise<void> {
    const { log, state } = this.#options;
    while (this.#unsaved) {
      this.#unsaved = false;
      // Many Pods that come at once are one change.
      await Promise.resolve();
      try {
        await state.write(allocatedFile, JSON.stringify({ entries: Object.fromEntries(this.#allocated) }));
        await state.write(actuatedFile, JSON.stringify({ entries: Object.fromEntries(this.#actuated) }));
      } catch (error) {
        log.error('cannot store resources given to Pods', { error: messageOf(error) });
      }
    }
  }
}

function isContainersAlone(stored: Partial<ActuatedPod> | ContainersAlone): stored is ContainersAlone {
  return Object.values(stored).some((value) => typeof value?.containerId === 'string');
}

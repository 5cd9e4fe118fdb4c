/**
 * Gives each Pod that does not share the node's users (`hostUsers: false`) a range of user and group ids of its own, which no other Pod
 * has and root of the node is not in. The range is kept in the Pod's folder, so that a kubelet that starts anew gives it to nobody else.
 */
import type { StateFolder } from './host/host.ts';
import type { IdRange } from './host/subordinate-ids.ts';
import type { IdMapping } from './runtime/runtime.ts';

export interface UserNamespacesOptions {
  readonly state: StateFolder;
  /** How many ids a Pod has. */
  readonly idsPerPod: number;
  readonly maxPods: number;
  /** Out of which they are; absent: all but the first range of a Pod's length. */
  readonly range?: IdRange | undefined;
}

const podsFolder = 'pods';
const fileOf = (podUid: string) => `${podsFolder}/${podUid}/userns`;

export class UserNamespaces {
  readonly #options: UserNamespacesOptions;
  readonly #range: IdRange;
  /** First id of the node's, by the Pod's uid. */
  readonly #firstIds = new Map<string, number>();

  /** Throws when the range cannot be shared out among as many Pods as the node may have. */
  constructor(options: UserNamespacesOptions) {
    this.#options = options;
    const { idsPerPod, maxPods } = options;
    this.#range = options.range ?? { firstId: idsPerPod, length: 2 ** 32 - idsPerPod };
    const problem = rangeProblem(this.#range, idsPerPod, maxPods);
    if (problem !== undefined) throw new Error(`create user namespace manager: ${problem}`);
  }

  /** Takes note of the ranges of Pods that were here before. */
  async restore(): Promise<void> {
    for (const uid of await this.#options.state.names(podsFolder)) await this.#remembered(uid);
  }

  /** The Pod's range, the same each time. Rejects when there is none left, or its file is not what was written. */
  async of(podUid: string): Promise<IdMapping> {
    const remembered = await this.#remembered(podUid);
    if (remembered) return remembered;
    const hostId = this.#freeId();
    // Taken before it is written: another Pod may ask meanwhile.
    this.#firstIds.set(podUid, hostId);
    const mapping = this.#mapping(hostId);
    try {
      const content = { uidMappings: [mapping], gidMappings: [mapping] };
      await this.#options.state.write(fileOf(podUid), JSON.stringify(content));
    } catch (error) {
      this.#firstIds.delete(podUid);
      throw new Error(`create user namespace: ${String(error)}`, { cause: error });
    }
    return mapping;
  }

  async release(podUid: string): Promise<void> {
    if (!this.#firstIds.delete(podUid)) return;
    await this.#options.state.remove(fileOf(podUid));
  }

  /** Takes back those of Pods that went away while no kubelet ran. */
  async retain(hasPod: (podUid: string) => boolean): Promise<void> {
    for (const podUid of [...this.#firstIds.keys()]) if (!hasPod(podUid)) await this.release(podUid);
  }

  async #remembered(podUid: string): Promise<IdMapping | undefined> {
    const known = this.#firstIds.get(podUid);
    if (known !== undefined) return this.#mapping(known);
    const text = await this.#options.state.read(fileOf(podUid));
    if (text === undefined || text === '') return undefined;
    const hostId = this.#checkedId(text);
    this.#firstIds.set(podUid, hostId);
    return this.#mapping(hostId);
  }

  #mapping(hostId: number): IdMapping {
    return { hostId, containerId: 0, length: this.#options.idsPerPod };
  }

  #freeId(): number {
    const { idsPerPod } = this.#options;
    const { firstId, length } = this.#range;
    const taken = new Set(this.#firstIds.values());
    for (let id = firstId; id < firstId + length; id += idsPerPod) if (!taken.has(id)) return id;
    throw new Error('create user namespace: could not find an empty slot to allocate a user namespace');
  }

  #checkedId(text: string): number {
    const problem = (what: string) => new Error(`user namespace: ${what}`);
    const { uidMappings, gidMappings } = parsed(text) ?? {};
    if (!Array.isArray(uidMappings) || !Array.isArray(gidMappings))
      throw problem('invalid user namespace mappings file');
    const [mapping] = uidMappings as readonly Partial<IdMapping>[];
    if (uidMappings.length !== 1 || !mapping)
      throw problem('invalid user namespace configuration: no more than one mapping allowed.');
    if (JSON.stringify(uidMappings) !== JSON.stringify(gidMappings))
      throw problem('invalid user namespace configuration: GID and UID mapping should be identical');
    const { containerId, hostId = 0, length } = mapping;
    if (containerId !== 0) throw problem('invalid user namespace configuration: UID 0 must be mapped');
    const { idsPerPod } = this.#options;
    const range = this.#range;
    if (length !== idsPerPod) throw problem(`wrong user namespace length ${length}`);
    if (hostId % idsPerPod !== 0) throw problem(`wrong user namespace offset specified ${hostId}`);
    if (hostId < range.firstId || hostId >= range.firstId + range.length) throw problem(`id ${hostId} is out of range`);
    if ([...this.#firstIds.values()].includes(hostId)) throw problem('range picked for pod already taken');
    return hostId;
  }
}

function rangeProblem({ firstId, length }: IdRange, idsPerPod: number, maxPods: number): string | undefined {
  const assigned = 'kubelet user assigned ID';
  if (firstId % idsPerPod !== 0) return `${assigned} ${firstId} is not a multiple of ${idsPerPod}`;
  // Root of the node is never in it.
  if (firstId < idsPerPod) return `${assigned} ${firstId} must be greater or equal to ${idsPerPod}`;
  if (length % idsPerPod !== 0) return `${assigned}s length ${length} is not a multiple of ${idsPerPod}`;
  return length / idsPerPod < maxPods ? `${assigned}s are not enough to support ${maxPods} pods` : undefined;
}

function parsed(text: string): { readonly uidMappings?: unknown; readonly gidMappings?: unknown } | undefined {
  try {
    return JSON.parse(text) as { readonly uidMappings?: unknown };
  } catch {
    return undefined;
  }
}

/**
 * A leader's time in office, and a client for it that starts no request when the time is over. The leader's loop finds out by a timer; a
 * process that was frozen handles what its sockets hold first and would write in the name of an office that it has lost. So the clock is
 * asked before every request. What no client can exclude: the process freezes between the question and the packet, or the packet is
 * long on its way.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import type {
  CallOptions,
  Client,
  DeleteCallOptions,
  GetOptions,
  ListOptions,
  ObjectList,
  ObjectReference,
  Patch,
  PatchOptions,
  TransportRequest,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../client/client.ts';

export interface LeadershipTerm {
  /** False as soon as the Lease has not been renewed for `renewDeadlineSeconds`, whether or not anyone has found out. */
  isCurrent(): boolean;
  /** The same client, but it rejects with `LeadershipLostError` what is asked of it after the term, and ends what is under way then. */
  guard(client: Client): Client;
}

export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
  constructor() {
    super('leadership lost');
  }
}

/** `signal` is aborted when the end of the term is known. */
export function leadershipTerm(isCurrent: () => boolean, signal: AbortSignal): LeadershipTerm {
  return { isCurrent, guard: (client) => new TermClient(client, isCurrent, signal) };
}

class TermClient implements Client {
  readonly #client: Client;
  readonly #isCurrent: () => boolean;
  readonly #signal: AbortSignal;

  constructor(client: Client, isCurrent: () => boolean, signal: AbortSignal) {
    this.#client = client;
    this.#isCurrent = isCurrent;
    this.#signal = signal;
  }

  async get<T>(type: ResourceType<T>, ref: ObjectReference, options?: GetOptions): Promise<T> {
    return this.#client.get(type, ref, this.#inTerm(options));
  }

  async list<T>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.list(type, this.#inTerm(options));
  }

  async *watch<T>(type: ResourceType<T>, options?: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    yield* this.#client.watch(type, this.#inTerm(options));
  }

  async create<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#client.create(type, object, this.#inTerm(options));
  }

  async createSubresource<R>(
    type: ResourceType<unknown>,
    ref: ObjectReference,
    subresource: string,
    body: unknown,
    options?: WriteOptions,
  ): Promise<R> {
    return this.#client.createSubresource(type, ref, subresource, body, this.#inTerm(options));
  }

  async update<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#client.update(type, object, this.#inTerm(options));
  }

  async updateStatus<T extends KubeObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#client.updateStatus(type, object, this.#inTerm(options));
  }

  async patch<T>(type: ResourceType<T>, ref: ObjectReference, patch: Patch, options?: PatchOptions): Promise<T> {
    return this.#client.patch(type, ref, patch, this.#inTerm(options));
  }

  async delete<T>(type: ResourceType<T>, ref: ObjectReference, options?: DeleteCallOptions): Promise<T> {
    return this.#client.delete(type, ref, this.#inTerm(options));
  }

  async deleteCollection<T>(type: ResourceType<T>, options?: ListOptions & DeleteCallOptions): Promise<void> {
    return this.#client.deleteCollection(type, this.#inTerm(options));
  }

  async raw(request: TransportRequest): Promise<unknown> {
    return this.#client.raw(this.#inTerm(request));
  }

  #inTerm<O extends CallOptions>(options: O = {} as O): O {
    if (this.#signal.aborted || !this.#isCurrent()) throw new LeadershipLostError();
    const { signal } = options;
    return { ...options, signal: signal ? AbortSignal.any([signal, this.#signal]) : this.#signal };
  }
}

/**
 * What a controller has done that its informers have not shown it yet. A controller that creates three Pods and is woken by the
 * first must not create two more: it expects three creations, and reconciles again only when they were observed, or when five
 * minutes have passed and something was surely missed (`Expectations`). One that counts what stands in its objects counts them as it last wrote them
 * (`OwnWrites`).
 */
import { controllerOf, type KubeObject } from '../apimachinery/meta.ts';
import { compareResourceVersions } from '../apimachinery/resource-version.ts';
import { StatusError } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Informer } from './informer.ts';

const expireAfterMs = 5 * 60_000;

interface Expected {
  creations: number;
  /** Uids of objects being deleted: seeing one vanish twice must not count twice. */
  readonly deletions: Set<string>;
  setAtMs: number;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Expected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call before creating `count` objects for the owner `key`. */
  expectCreations(key: string, count: number): void {
    const expected = this.#of(key);
    expected.creations += count;
  }

  /** Call before deleting the objects of these uids. */
  expectDeletions(key: string, uids: Iterable<string>): void {
    const expected = this.#of(key);
    for (const uid of uids) expected.deletions.add(uid);
  }

  /** An object appeared, or its creation failed and it never will. */
  creationObserved(key: string, count = 1): void {
    const expected = this.#byKey.get(key);
    if (expected) expected.creations = Math.max(0, expected.creations - count);
  }

  /** An object vanished or began to (it has a deletionTimestamp), or its deletion failed. */
  deletionObserved(key: string, uid: string): void {
    this.#byKey.get(key)?.deletions.delete(uid);
  }

  /** Whether the controller's view is up to date with its own deeds. */
  satisfied(key: string): boolean {
    const expected = this.#byKey.get(key);
    if (!expected) return true;
    if (expected.creations === 0 && expected.deletions.size === 0) return true;
    return this.#clock.monotonic() - expected.setAtMs > expireAfterMs;
  }

  /** The owner is gone. */
  forget(key: string): void {
    this.#byKey.delete(key);
  }

  /** Those that are satisfied or too old begin anew. */
  #of(key: string): Expected {
    const known = this.#byKey.get(key);
    if (known && !this.satisfied(key)) {
      known.setAtMs = this.#clock.monotonic();
      return known;
    }
    const fresh: Expected = { creations: 0, deletions: new Set(), setAtMs: this.#clock.monotonic() };
    this.#byKey.set(key, fresh);
    return fresh;
  }
}

/**
 * What a controller wrote itself, for as long as its informer has not shown it. Whoever counts objects in order to make more of them (a Deployment
 * the replicas of its ReplicaSets) must not count them as they were before its own last step: nothing but its own knowledge keeps it from
 * making too many, since the new object has no version that could conflict.
 *
 *     informer: a (version 5, 2 replicas)      note(a as version 9, 4 replicas)
 *     newest([a version 5])   gives a of version 9, until the informer has come to version 9
 *
 * A write whose answer is lost, or tells of the server's own failure, may have happened or not: then the objects are asked for.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #client: Client;
  readonly #informer: Informer<T>;
  /** By the owner's uid, then by their own. */
  readonly #written = new Map<string, Map<string, T>>();
  /** Uids of owners of whose objects some may have been written. */
  readonly #uncertain = new Set<string>();

  constructor(client: Client, informer: Informer<T>) {
    this.#client = client;
    this.#informer = informer;
  }

  /** Remembers the outcome of a write of one of the owner's objects, and passes it on as it is. */
  async noted(owner: KubeObject, write: Promise<T>): Promise<T> {
    const { uid: ownerUid = '' } = owner.metadata;
    try {
      const object = await write;
      this.#note(ownerUid, object);
      return object;
    } catch (error) {
      // A server that refuses has not written. Where it failed, or did not answer, nobody knows.
      const isRefusal = error instanceof StatusError && error.code >= 400 && error.code < 500;
      if (!isRefusal) this.#uncertain.add(ownerUid);
      throw error;
    }
  }

  /** The owner's objects as the informer shows them, with what was written since in their place, or beside them. Rejects when the server has to be asked in vain. */
  async newest(owner: KubeObject, seen: readonly T[]): Promise<readonly T[]> {
    const { uid = '', namespace } = owner.metadata;
    if (this.#uncertain.has(uid)) {
      const { items } = await this.#client.list(this.#informer.type, { namespace });
      for (const item of items) if (controllerOf(item)?.uid === uid) this.#note(uid, item);
      this.#uncertain.delete(uid);
    }
    const written = this.#unseen(uid);
    if (!written) return seen;
    const uids = new Set(seen.map(({ metadata }) => metadata.uid));
    const newer = (object: T) => {
      const own = written.get(object.metadata.uid ?? '');
      return own && isOlder(object, own) ? own : object;
    };
    return [...seen.map(newer), ...[...written.values()].filter(({ metadata }) => !uids.has(metadata.uid))];
  }

  /** The owner is gone. */
  forget(ownerUid: string): void {
    this.#written.delete(ownerUid);
    this.#uncertain.delete(ownerUid);
  }

  #note(ownerUid: string, object: T): void {
    const { uid = '' } = object.metadata;
    const known = this.#written.get(ownerUid);
    const before = known?.get(uid);
    if (before && !isOlder(before, object)) return;
    if (known) known.set(uid, object);
    else this.#written.set(ownerUid, new Map([[uid, object]]));
  }

  /** An informer that has come to an object's version has shown it, and its end if it came to one; it is told all in order. */
  #unseen(ownerUid: string): ReadonlyMap<string, T> | undefined {
    const written = this.#written.get(ownerUid);
    if (!written) return undefined;
    for (const [uid, { metadata }] of written)
      if (compareResourceVersions(this.#informer.resourceVersion, metadata.resourceVersion) >= 0) written.delete(uid);
    if (written.size > 0) return written;
    this.#written.delete(ownerUid);
    return undefined;
  }
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  return compareResourceVersions(a.metadata.resourceVersion, b.metadata.resourceVersion) < 0;
}

/**
 * Deletes what has lost all its owners, in the background; lets owners that are deleted in the foreground wait for their blocking
 * dependents; lets the dependents of an orphaning owner go. The graph only says where to look: before anything is deleted, the
 * object and its owners are asked for at the API server, for a cache may be late.
 */
import { customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import type { KubeObject, OwnerReference } from '../../apimachinery/meta.ts';
import { parseApiVersion } from '../../apimachinery/resource.ts';
import { isConflict, isInvalid, isNotFound, isUnsupportedMediaType, messageOf } from '../../apimachinery/status.ts';
import { sleep, withTimeout } from '../../base/clock.ts';
import { type CauseSubject, subjectOf } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { AbsentOwners } from './absent-owners.ts';
import {
  foregroundFinalizer,
  type GraphNode,
  identityText,
  OwnerGraph,
  orphanFinalizer,
  type Suspects,
} from './graph.ts';
import { FollowedKinds } from './kinds.ts';
import { type ClassifiedOwner, judge, type OwnerState } from './verdict.ts';

const discoveryPeriodMs = 30_000;
/** Definitions come in dozens: what changes within this time is asked for at once. */
const discoveryRestMs = 100;
const initialSyncTimeoutMs = 30_000;
const finalizerAttempts = 5;

export interface GarbageCollectorOptions {
  readonly workers?: number | undefined;
  /** False: does nothing at all (`--enable-garbage-collector=false`). */
  readonly enabled?: boolean | undefined;
}

export async function runGarbageCollectorController(
  context: ComponentContext,
  options: GarbageCollectorOptions = {},
): Promise<void> {
  if (options.enabled === false) return;
  await new GarbageCollector(context, options).run();
}

/** A dependent that can never be collected: its owner's kind lives in namespaces, and it does not. */
class UnresolvableOwner extends Error {}

class GarbageCollector {
  readonly #context: ComponentContext;
  readonly #graph = new OwnerGraph();
  readonly #absent = new AbsentOwners();
  readonly #kinds: FollowedKinds;
  readonly #events: EventRecorder;
  readonly #controller: Controller;
  /** Until every kind is listed, an owner that was not seen yet means nothing. */
  #settled = false;
  /** Uids of those that refer to an owner of a kind nobody knows: looked at again as soon as discovery has more to say. */
  readonly #unmapped = new Set<string>();

  constructor(context: ComponentContext, options: GarbageCollectorOptions) {
    this.#context = context;
    this.#events = context.eventRecorder('garbage-collector-controller');
    this.#kinds = new FollowedKinds(context, {
      changed: (type, object) => this.#suspect(this.#graph.observe(type, object)),
      removed: (_, object) => this.#removed(object),
    });
    this.#controller = createController(context, {
      name: 'garbage-collector-controller',
      queue: 'garbage_collector_attempt_to_delete',
      workers: options.workers ?? 20,
      reconcile: (key: string) => this.#reconcile(key),
    });
  }

  async run(): Promise<void> {
    const { clock, log, signal } = this.#context;
    await this.#refreshUntilItWorks();
    try {
      await withTimeout(clock, this.#kinds.whenSynced(), initialSyncTimeoutMs, () => new Error('timed out'));
    } catch (error) {
      log.warn('not every kind could be listed; collecting with those that were', { error: messageOf(error) });
    }
    if (signal.aborted) return;
    this.#settled = true;
    for (const node of this.#graph.nodes()) {
      if (node.type && (this.#graph.isSuspect(node) || node.deletingDependents)) this.#check(node.identity.uid);
    }
    const refreshing = this.#keepRefreshing();
    await this.#controller.run();
    await refreshing;
  }

  async #refreshUntilItWorks(): Promise<void> {
    const { clock, log, signal } = this.#context;
    while (!signal.aborted) {
      try {
        await this.#kinds.refresh();
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn('discovery failed', { error: messageOf(error) });
        await sleep(clock, 1000, signal).catch(() => {});
      }
    }
  }

  /** Every 30 seconds, and as soon as a CustomResourceDefinition changes what is served. */
  async #keepRefreshing(): Promise<void> {
    const { clock, log, signal, informers } = this.#context;
    let asked = new AbortController();
    const ask = () => asked.abort();
    const registration = informers.of(customResourceDefinitions).onChange({ added: ask, updated: ask, deleted: ask });
    while (!signal.aborted) {
      await sleep(clock, discoveryPeriodMs, AbortSignal.any([signal, asked.signal])).catch(() => {});
      await sleep(clock, discoveryRestMs, signal).catch(() => {});
      if (signal.aborted) break;
      // What changes from here on is asked for again, whatever this answer holds of it.
      asked = new AbortController();
      await this.#kinds.refresh().catch((error) => log.warn('discovery failed', { error: messageOf(error) }));
      for (const uid of this.#unmapped) this.#check(uid);
      this.#unmapped.clear();
    }
    registration.remove();
  }

  #removed(object: KubeObject): void {
    const uid = object.metadata.uid ?? '';
    const node = this.#graph.get(uid);
    if (node && node.dependents.size > 0) this.#absent.add(node.identity);
    if (node?.deletingDependents) this.#explain(node, []);
    this.#suspect(this.#graph.remove(uid));
  }

  #suspect({ check, orphan }: Suspects): void {
    for (const uid of orphan) this.#controller.enqueue(`orphan/${uid}`);
    if (this.#settled) for (const uid of check) this.#check(uid);
  }

  #check(uid: string): void {
    this.#controller.enqueue(`check/${uid}`);
  }

  async #reconcile(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const node = this.#graph.get(key.slice(slash + 1));
    if (!node?.type) return;
    if (key.startsWith('orphan/')) await this.#orphanDependents(node);
    else await this.#collect(node);
  }

  async #collect(node: GraphNode): Promise<void> {
    if (node.beingDeleted && !node.deletingDependents) return;
    const live = await this.#live(node);
    if (!live) {
      // The informer will say so too; until then the graph must not go on believing in it.
      this.#suspect(this.#graph.remove(node.identity.uid));
      return;
    }
    if (node.deletingDependents) return await this.#awaitDependents(node);
    const owners: ClassifiedOwner[] = [];
    try {
      for (const reference of live.metadata.ownerReferences ?? []) {
        owners.push({ reference, state: await this.#stateOf(node, reference) });
      }
    } catch (error) {
      if (error instanceof UnresolvableOwner) return;
      throw error;
    }
    const wait = [...node.dependents].some((dependent) => dependent.deletingDependents);
    const verdict = judge(live, owners, { any: node.dependents.size > 0, wait });
    if (verdict.do === 'disown') await this.#removeReferences(node, live, verdict.uids);
    if (verdict.do !== 'delete') return;
    if (verdict.unblock) await this.#unblock(node, live);
    await this.#delete(node, live, verdict.propagationPolicy, !verdict.unblock);
  }

  async #live(node: GraphNode): Promise<KubeObject | undefined> {
    const { namespace, name, uid } = node.identity;
    try {
      const live = await this.#context.client.get(node.type!, { namespace, name });
      return live.metadata.uid === uid ? live : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #stateOf(node: GraphNode, reference: OwnerReference): Promise<OwnerState> {
    const seen = this.#graph.ownerOf(node, reference);
    if (seen && !seen.beingDeleted) return 'solid';
    const type = this.#kinds.typeOf(reference);
    if (!type) {
      this.#unmapped.add(node.identity.uid);
      throw new Error(`unable to get REST mapping for ${reference.apiVersion}/${reference.kind}.`);
    }
    const { namespace } = node.identity;
    const elsewhere = this.#graph.get(reference.uid);
    if (
      type.namespaced &&
      (namespace === undefined || (elsewhere?.type && elsewhere.identity.namespace !== namespace))
    ) {
      this.#reportInvalidNamespace(node, reference);
    }
    if (type.namespaced && namespace === undefined) throw new UnresolvableOwner();
    const identity = { ...reference, namespace: type.namespaced ? namespace : undefined };
    if (this.#absent.has(identity)) return 'absent';
    try {
      const owner = await this.#context.client.get(type, { namespace: identity.namespace, name: reference.name });
      if (owner.metadata.uid === reference.uid) {
        const { deletionTimestamp, finalizers } = owner.metadata;
        return deletionTimestamp && finalizers?.includes(foregroundFinalizer) ? 'waiting' : 'solid';
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#absent.add(identity);
    return 'absent';
  }

  #reportInvalidNamespace({ identity }: GraphNode, reference: OwnerReference): void {
    const { apiVersion, kind, namespace, name, uid } = identity;
    const wanted = identityText({ ...reference, namespace });
    this.#events.record(
      { apiVersion, kind, metadata: { namespace, name, uid } },
      'Warning',
      'OwnerRefInvalidNamespace',
      `ownerRef ${wanted} does not exist in namespace ${JSON.stringify(namespace ?? '')}`,
    );
  }

  /** An owner in foreground deletion ends when no dependent blocks it any more. */
  async #awaitDependents(node: GraphNode): Promise<void> {
    const blocking = [...node.dependents].filter((dependent) =>
      dependent.owners.some(({ uid, blockOwnerDeletion }) => uid === node.identity.uid && blockOwnerDeletion === true),
    );
    this.#explain(node, blocking);
    if (blocking.length === 0) return await this.#removeFinalizer(node, foregroundFinalizer);
    for (const dependent of blocking) if (!dependent.deletingDependents) this.#check(dependent.identity.uid);
  }

  #explain({ identity }: GraphNode, blocking: readonly GraphNode[]): void {
    const waitsFor = blocking.slice(0, 10).map((dependent) => subjectIn(dependent.identity));
    const count = blocking.length === 1 ? 'a dependent' : `${blocking.length} dependents`;
    const message = `it is deleted in the foreground and waits for ${count} to go first`;
    const notes = blocking.length === 0 ? [] : [{ reason: 'WaitingForDependents', message, waitsFor }];
    this.#context.causes.replace('garbage-collector-controller', subjectIn(identity), notes);
  }

  async #orphanDependents(node: GraphNode): Promise<void> {
    for (const dependent of node.dependents) {
      if (!dependent.type) continue;
      const live = await this.#live(dependent);
      if (live) await this.#removeReferences(dependent, live, [node.identity.uid]);
    }
    await this.#removeFinalizer(node, orphanFinalizer);
  }

  async #delete(
    node: GraphNode,
    live: KubeObject,
    propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
    asSeen: boolean,
  ): Promise<void> {
    const { namespace, name, uid } = node.identity;
    const preconditions = { uid, ...(asSeen ? { resourceVersion: live.metadata.resourceVersion } : {}) };
    try {
      await this.#context.client.delete(node.type!, { namespace, name }, { propagationPolicy, preconditions });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #removeReferences(node: GraphNode, live: KubeObject, uids: readonly string[]): Promise<void> {
    const deletions = uids.map((uid) => ({ $patch: 'delete', uid }));
    const kept = (live.metadata.ownerReferences ?? []).filter(({ uid }) => !uids.includes(uid));
    await this.#patchReferences(node, live, deletions, kept);
  }

  async #unblock(node: GraphNode, live: KubeObject): Promise<void> {
    const references = (live.metadata.ownerReferences ?? []).map((reference) => ({
      ...reference,
      blockOwnerDeletion: false,
    }));
    await this.#patchReferences(node, live, references, references);
  }

  /** By strategic merge where the kind has it; else by replacing the list, which must then be the one that was read. */
  async #patchReferences(
    node: GraphNode,
    live: KubeObject,
    strategic: readonly object[],
    whole: readonly object[],
  ): Promise<void> {
    const { namespace, name, uid } = node.identity;
    const at = { namespace, name };
    try {
      const body = { metadata: { uid, ownerReferences: strategic } };
      await this.#context.client.patch(node.type!, at, { type: 'strategic', body });
    } catch (error) {
      if (isNotFound(error) || isInvalid(error)) return;
      if (!isUnsupportedMediaType(error)) throw error;
      const { resourceVersion } = live.metadata;
      const body = { metadata: { resourceVersion, uid, ownerReferences: whole } };
      await this.#context.client.patch(node.type!, at, { type: 'merge', body });
    }
  }

  async #removeFinalizer(node: GraphNode, finalizer: string): Promise<void> {
    const { namespace, name } = node.identity;
    for (let attempt = 1; ; attempt++) {
      const live = await this.#live(node);
      if (!live?.metadata.finalizers?.includes(finalizer)) return;
      const finalizers = live.metadata.finalizers.filter((other) => other !== finalizer);
      const body = { metadata: { resourceVersion: live.metadata.resourceVersion, finalizers } };
      try {
        await this.#context.client.patch(node.type!, { namespace, name }, { type: 'merge', body });
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error) || attempt === finalizerAttempts) throw error;
      }
    }
  }
}

function subjectIn({ apiVersion, kind, namespace, name }: GraphNode['identity']): CauseSubject {
  return subjectOf({ group: parseApiVersion(apiVersion).group, kind }, { metadata: { namespace, name } });
}

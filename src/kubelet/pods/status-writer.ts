/**
 * Brings Pod statuses to the API server: the newest one of each Pod, one write at a time per Pod, tried again until it is through.
 * When a Pod that is being deleted has ended, it is also what removes the object, and only after its last status is written.
 */
import type { Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { pods } from '../../api/gen/core-v1.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import { isConflict, isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import { resizeConditionTypes } from '../resize/resize-conditions.ts';

export interface StatusWriterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The object that carries the status: for a static Pod its mirror. */
export interface StatusTarget {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Entry {
  /** Of the last run of writes. */
  flushed: Promise<void>;
  readonly target: StatusTarget;
  wanted: PodStatus | undefined;
  /** What the server has, as far as known. */
  written: PodStatus | undefined;
  /** The resource version that shows it. */
  version: string | undefined;
  deletes: boolean;
  isBusy: boolean;
}

const firstRetryMs = 200;
const longestRetryMs = 10_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /**
   * `known` is the Pod as the server was last seen to have it: nothing is written when it has this status. What others wrote into it since
   * our own last write, as the node controller does while a node is silent, is put right.
   */
  set(target: StatusTarget, status: PodStatus, known: Pod): void {
    const entry = this.#entry(target, known);
    const { resourceVersion } = known.metadata;
    if (!entry.isBusy && compareResourceVersions(resourceVersion, entry.version) > 0) {
      entry.written = known.status;
      entry.version = resourceVersion;
    } else if (entry.wanted && sameJson(entry.wanted, status)) return;
    entry.wanted = status;
    this.#run(entry);
  }

  /** Whether this version of the Pod is the one that our own last write made. */
  hasWritten(uid: string, resourceVersion: string | undefined): boolean {
    return resourceVersion !== undefined && this.#entries.get(uid)?.version === resourceVersion;
  }

  /** The Pod has ended and is gone from the node: remove its object once its status is written. */
  finish(target: StatusTarget): void {
    const entry = this.#entry(target, undefined);
    entry.deletes = true;
    this.#run(entry);
  }

  /** Resolves when the API server has the newest status, or will not take it. */
  async settled(uid: string): Promise<void> {
    await this.#entries.get(uid)?.flushed;
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  #entry(target: StatusTarget, known: Pod | undefined): Entry {
    let entry = this.#entries.get(target.uid);
    if (!entry) {
      const version = known?.metadata.resourceVersion;
      entry = {
        target,
        wanted: undefined,
        written: known?.status,
        version,
        deletes: false,
        isBusy: false,
        flushed: Promise.resolve(),
      };
      this.#entries.set(target.uid, entry);
    }
    return entry;
  }

  #run(entry: Entry): void {
    if (entry.isBusy) return;
    entry.isBusy = true;
    entry.flushed = this.#flush(entry);
  }

  /** Until the server has what is wanted, or will not take it. */
  async #flush(entry: Entry): Promise<void> {
    const { signal } = this.#options;
    let retryMs = firstRetryMs;
    try {
      while (!signal.aborted && this.#entries.get(entry.target.uid) === entry) {
        const patch = entry.wanted && statusPatch(entry.written, entry.wanted);
        const writes = entry.wanted && patch && says(entry.written, patch);
        if (!writes && !entry.deletes) return;
        try {
          await (writes ? this.#write(entry, entry.wanted!, patch) : this.#delete(entry));
          retryMs = firstRetryMs;
        } catch (error) {
          if (signal.aborted) return;
          await this.#failed(entry, error, retryMs);
          retryMs = Math.min(retryMs * 2, longestRetryMs);
        }
      }
    } finally {
      // In the same turn as the last look: what is wanted from now on begins another run.
      entry.isBusy = false;
    }
  }

  /** Waits until it may be tried again, or gives the Pod up. */
  async #failed(entry: Entry, error: unknown, retryMs: number): Promise<void> {
    const { clock, log, signal } = this.#options;
    const { target } = entry;
    if (isNotFound(error) || (isConflict(error) && !(await this.#isThere(target)))) {
      // The object is gone, or another Pod has its name now.
      if (this.#entries.get(target.uid) === entry) this.#entries.delete(target.uid);
      return;
    }
    log.warn('failed to update status for pod', {
      pod: target.name,
      namespace: target.namespace,
      error: messageOf(error),
    });
    await sleep(clock, retryMs, signal).catch(() => undefined);
  }

  /** A server may also have been kept from a write by those of others, again and again. */
  async #isThere({ namespace, name, uid }: StatusTarget): Promise<boolean> {
    try {
      const { metadata } = await this.#options.client.get(pods, { namespace, name }, { signal: this.#options.signal });
      return metadata.uid === uid;
    } catch (error) {
      return !isNotFound(error);
    }
  }

  async #write(entry: Entry, status: PodStatus, patch: Record<string, unknown>): Promise<void> {
    const { namespace, name, uid } = entry.target;
    const body = { metadata: { uid }, status: patch };
    const after = await this.#options.client.patch(
      pods,
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status', signal: this.#options.signal },
    );
    entry.written = status;
    entry.version = after.metadata.resourceVersion;
  }

  async #delete(entry: Entry): Promise<void> {
    const { namespace, name, uid } = entry.target;
    await this.#options.client.delete(
      pods,
      { namespace, name },
      { gracePeriodSeconds: 0, preconditions: { uid }, signal: this.#options.signal },
    );
    this.#entries.delete(uid);
  }
}

/** Whether the patch has something to say; to a server of which nothing is known it always has. */
function says(before: PodStatus | undefined, patch: Record<string, unknown>): boolean {
  return before === undefined || Object.values(patch).some((value) => !Array.isArray(value) || value.length > 0);
}

/** The fields that differ, those that are gone as null. Addresses replace the old ones instead of being joined with them. */
export function statusPatch(before: PodStatus | undefined, after: PodStatus): Record<string, unknown> {
  const old = (before ?? {}) as Readonly<Record<string, unknown>>;
  const next = after as Readonly<Record<string, unknown>>;
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(old), ...Object.keys(next)])) {
    if (kubeletFields.has(key) && !sameJson(old[key], next[key])) patch[key] = next[key] ?? null;
  }
  if (Array.isArray(patch.conditions) && before?.conditions) {
    // Merged by type: those of others, as they were when we looked, must not be written back.
    const news = (after.conditions ?? [])
      .filter((condition) => !before.conditions?.some((old) => sameJson(old, condition)))
      .map((condition) => ({ ...gone(before.conditions?.find(({ type }) => type === condition.type)), ...condition }));
    const ended = before.conditions
      .filter(({ type }) => resizeConditionTypes.has(type) && !after.conditions?.some((one) => one.type === type))
      .map(({ type }) => ({ $patch: 'delete', type }));
    patch.conditions = [...news, ...ended];
  }
  for (const key of ['podIPs', 'hostIPs']) {
    if (Array.isArray(patch[key]) && Array.isArray(old[key]))
      patch[key] = [{ $patch: 'replace' }, ...(patch[key] as unknown[])];
  }
  for (const key of ['allocatedResources', 'resources'])
    if (patch[key] && old[key]) patch[key] = { $patch: 'replace', ...(patch[key] as object) };
  return patch;
}

/** What a patch says of the fields of a condition that its successor may not have. */
function gone(condition: PodCondition | undefined): Record<string, null> {
  return Object.fromEntries(Object.keys(condition ?? {}).map((key) => [key, null]));
}

/** Others own the rest: nominatedNodeName is the scheduler's, resourceClaimStatuses a controller's. */
const kubeletFields = new Set([
  'observedGeneration',
  'phase',
  'conditions',
  'message',
  'reason',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'qosClass',
  'ephemeralContainerStatuses',
  'allocatedResources',
  'resources',
]);

/** Equal as JSON: the order of keys does not count, nor does undefined. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key in left) if (!sameJson(left[key], right[key])) return false;
  for (const key in right) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}

export function targetOf(pod: Pod): StatusTarget {
  return { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name ?? '', uid: pod.metadata.uid ?? '' };
}

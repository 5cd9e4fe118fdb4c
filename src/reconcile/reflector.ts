/**
 * Keeps a copy of a collection true, for ever: one LIST, then WATCH from its version, and again whenever something breaks. A watch
 * that ends is resumed where it was; one whose version is too old is begun anew by a LIST; one that says nothing, not even its end,
 * past the time the server promised to end it is given up as dead.
 */

import type { KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';
import { isExpired, messageOf, StatusError } from '../apimachinery/status.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Client, WatchEvent } from '../client/client.ts';
import { Backoff, type BackoffOptions, reflectorBackoff } from './backoff.ts';
import type { InformerSelection } from './informer.ts';

export interface ReflectorOptions<T> {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly type: ResourceType<T>;
  readonly selection: InformerSelection;
  readonly backoff?: BackoffOptions | undefined;
}

/** Who keeps what the reflector brings. Calls come one after the other. */
export interface ReflectorTarget<T> {
  /** The whole collection as of `resourceVersion`. */
  replace(items: readonly T[], resourceVersion: string): void;
  changed(event: WatchEvent<T>): void;
}

/** Least time a watch is asked to last; twice as long at most. */
const minWatchTimeoutSeconds = 300;
/** The server ends a watch at its timeout; if it has not some time later, the connection is dead. */
const overdueMs = 30_000;
/** A watch that ends at once without an event is a server's trouble, not its routine. */
const shortWatchMs = 1000;

/** Runs until the signal is aborted; never throws. */
export async function reflect<T extends KubeObject>(
  options: ReflectorOptions<T>,
  target: ReflectorTarget<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log, type } = options;
  const backoff = new Backoff(options.backoff ?? reflectorBackoff, clock, random);
  // A list from the server's cache is fresh enough to begin with, and costs the store nothing.
  let version = '0';
  while (!signal.aborted) {
    try {
      const resourceVersion: string = await listInto(options, target, version, signal);
      version = await watchOn(options, target, { resourceVersion, backoff, signal });
    } catch (error) {
      if (signal.aborted) return;
      log.warn('informer failed to list', { resource: type.resource, group: type.group, error: messageOf(error) });
      // Whatever was wrong with the version asked for, the newest state is never wrong.
      if (error instanceof StatusError) version = '';
    }
    await sleep(clock, backoff.delayMs(), signal).catch(() => {});
  }
}

async function listInto<T extends KubeObject>(
  options: ReflectorOptions<T>,
  target: ReflectorTarget<T>,
  version: string,
  signal: AbortSignal,
): Promise<string> {
  const { client, type, selection } = options;
  const list = await client.list(type, { ...selection, resourceVersion: version, signal });
  const items = list.continue === undefined ? list.items : await restOf(options, list, signal);
  if (!signal.aborted) target.replace(items, list.resourceVersion);
  return list.resourceVersion;
}

/** Servers may cut a list into pages even if nobody asked. */
async function restOf<T extends KubeObject>(
  options: ReflectorOptions<T>,
  first: { readonly items: readonly T[]; readonly continue: string | undefined },
  signal: AbortSignal,
): Promise<readonly T[]> {
  const { client, type, selection } = options;
  const items = [...first.items];
  let token = first.continue;
  while (token !== undefined) {
    const page = await client.list(type, { ...selection, continue: token, signal });
    items.push(...page.items);
    token = page.continue;
  }
  return items;
}

interface WatchState {
  resourceVersion: string;
  readonly backoff: Backoff;
  readonly signal: AbortSignal;
}

/** Watches until a new LIST is needed; returns the version that list should be at least as new as. */
async function watchOn<T extends KubeObject>(
  options: ReflectorOptions<T>,
  target: ReflectorTarget<T>,
  state: WatchState,
): Promise<string> {
  const { clock, log, type } = options;
  const { backoff, signal } = state;
  while (!signal.aborted) {
    const startedMs = clock.monotonic();
    const before = state.resourceVersion;
    try {
      await watchOnce(options, target, state);
      // The routine end of a watch.
      if (clock.monotonic() - startedMs >= shortWatchMs || state.resourceVersion !== before) continue;
    } catch (error) {
      if (signal.aborted) break;
      if (isExpired(error)) {
        log.debug('informer lists anew: its version is too old', { resource: type.resource, group: type.group });
        return '';
      }
      log.debug('watch ended', { resource: type.resource, group: type.group, error: messageOf(error) });
      const passing = !(error instanceof StatusError) || error.code === 429 || error.code >= 500;
      if (!passing) return state.resourceVersion;
    }
    await sleep(clock, backoff.delayMs(), signal).catch(() => {});
  }
  return state.resourceVersion;
}

async function watchOnce<T extends KubeObject>(
  options: ReflectorOptions<T>,
  target: ReflectorTarget<T>,
  state: WatchState,
): Promise<void> {
  const { client, clock, random, type, selection } = options;
  const timeoutSeconds = Math.floor(minWatchTimeoutSeconds * (1 + random.next()));
  const overdue = new AbortController();
  const timer = clock.after(timeoutSeconds * 1000 + overdueMs, () => {
    overdue.abort(new Error('the server did not end the watch in time'));
  });
  // Whoever stops us may wait for our timers, but not for the server's last word.
  const cancel = () => timer.cancel();
  state.signal.addEventListener('abort', cancel, { once: true });
  try {
    const events = client.watch(type, {
      ...selection,
      resourceVersion: state.resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds,
      signal: AbortSignal.any([state.signal, overdue.signal]),
    });
    for await (const event of events) {
      if (state.signal.aborted) return;
      target.changed(event);
      state.resourceVersion = (event.object as KubeObject).metadata.resourceVersion ?? state.resourceVersion;
    }
  } finally {
    cancel();
    state.signal.removeEventListener('abort', cancel);
  }
}

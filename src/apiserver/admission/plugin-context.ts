/**
 * What plugins are given: a view of the cluster through the server's own privileged client, and who may do what. Also the small
 * things that many of them need: matching a request, and waiting for an informer that has not yet read its first list.
 */

import type { GroupVersionResource } from '../../apimachinery/resource.ts';
import { type Clock, withTimeout } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Informer, InformerSet } from '../../reconcile/informer.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { ServedResources } from '../resources.ts';
import type { AdmissionAttributes, AdmissionPlugin, Operation } from './admission.ts';
import type { AdmissionMeter } from './chain.ts';
import { refusal } from './refusal.ts';

export interface PluginContext {
  /** Of the loopback user, who passes authorization; must read what was written before. */
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly authorizer: Authorizer;
  /** What the server serves, custom resources included; only for looking up kinds. */
  readonly resources?: Pick<ServedResources, 'all'> | undefined;
  /** Counts what plugins call; absent before the server runs. */
  readonly meter?: (() => AdmissionMeter | undefined) | undefined;
  /** Aborted when the server stops. */
  readonly signal?: AbortSignal | undefined;
}

/** `configuration`: the plugin's part of `--admission-control-config-file`, as it was read. A plugin that cannot make sense of it throws. */
export type CreatePlugin = (context: PluginContext, configuration?: unknown) => AdmissionPlugin;

/** Upstream waits as long for its caches before it refuses. */
const readyTimeoutMs = 10_000;

/** Resolves at once when the informer knows its first list; refuses the request when that takes too long. */
export function whenReady(
  context: PluginContext,
  informer: Pick<Informer<unknown>, 'synced' | 'whenSynced'>,
  attributes: AdmissionAttributes,
): Promise<void> | undefined {
  if (informer.synced) return undefined;
  const late = () => refusal(attributes, 'not yet ready to handle request');
  return withTimeout(context.clock, informer.whenSynced(), readyTimeoutMs, late);
}

export function isResource(resource: GroupVersionResource, group: string, name: string): boolean {
  return resource.resource === name && resource.group === group;
}

/** The common case of `handles`: these operations on one resource, no subresource unless named. */
export function handling(
  operations: readonly Operation[],
  group: string,
  resource: string,
  subresources: readonly string[] = [''],
): AdmissionPlugin['handles'] {
  return (operation, gvr, subresource) =>
    operations.includes(operation) && isResource(gvr, group, resource) && subresources.includes(subresource);
}

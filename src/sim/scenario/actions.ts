/** What people do to a cluster by `kubectl`, as functions on a simulated one. */
import { nodes, type Pod, pods } from '../../api/gen/core-v1.ts';
import { builtinResources } from '../../api/schema.ts';
import { controllerOf, type KubeObject } from '../../apimachinery/meta.ts';
import { customResource, parseApiVersion, type ResourceType } from '../../apimachinery/resource.ts';
import { isAlreadyExists, isNotFound, isTooManyRequests } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { Simulation } from '../simulation.ts';

/** The built-in resource of this kind; throws for any other. */
export function resourceOf({ apiVersion = '', kind = '' }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceType {
  const { group, version } = parseApiVersion(apiVersion);
  const row = builtinResources().find((one) => one.group === group && one.version === version && one.kind === kind);
  if (!row) throw new TypeError(`there is no kind ${kind} in ${apiVersion || 'an unnamed version'}`);
  return customResource({ group, version, kind }, { resource: row.resource, namespaced: row.namespaced });
}

/** Creates the object, or applies it on the server where it exists; into `default` where it names no namespace. */
export async function apply(client: Client, object: KubeObject): Promise<void> {
  const type = resourceOf(object);
  const { name = '', namespace = type.namespaced ? 'default' : undefined } = object.metadata;
  const placed = { ...object, metadata: { ...object.metadata, ...(namespace ? { namespace } : {}) } };
  try {
    await client.create(type, placed);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await client.patch(
      type,
      { namespace, name },
      { type: 'apply', body: placed },
      { fieldManager: 'scenario', force: true },
    );
  }
}

export async function cordon(client: Client, name: string, unschedulable = true): Promise<void> {
  await client.patch(nodes, { name }, { type: 'merge', body: { spec: { unschedulable: unschedulable || null } } });
}

/** How long `kubectl drain` waits after a budget has refused an eviction. */
const retryEvictionMs = 5000;

/**
 * As `kubectl drain --ignore-daemonsets`: cordons the node and evicts its Pods, asking again every five seconds while a budget refuses. Time
 * passes until they are gone; fails when they are not within `withinMs` (default ten minutes).
 */
export async function drain(cluster: Simulation, name: string, withinMs = 600_000): Promise<void> {
  const { client } = cluster;
  const limitMs = cluster.nowMs() + withinMs;
  await cordon(client, name);
  for (;;) {
    const { items } = await client.list(pods, { fieldSelector: `spec.nodeName=${name}` });
    const left = items.filter((pod) => controllerOf(pod)?.kind !== 'DaemonSet');
    if (left.length === 0) return;
    if (cluster.nowMs() >= limitMs) throw new Error(`${left.length} pods are still on ${name}`);
    for (const pod of left) if (!pod.metadata.deletionTimestamp) await evict(client, pod);
    await cluster.advance(retryEvictionMs);
  }
}

/** Whether it may go. */
async function evict(client: Client, { metadata: { name = '', namespace } }: Pod): Promise<boolean> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  try {
    await client.createSubresource(pods, { namespace, name }, 'eviction', eviction);
    return true;
  } catch (error) {
    if (isTooManyRequests(error)) return false;
    if (isNotFound(error)) return true;
    throw error;
  }
}

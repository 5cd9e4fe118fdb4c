/**
 * Makes the Node object. One that is there already is kept: its labels, taints and spec are its creator's, and a restart with other
 * options changes nothing but what the kubelet itself measures.
 */

import { isExtendedResource } from '../../api/core/v1/resource-validation.ts';
import type { Node, Taint } from '../../api/gen/core-v1.ts';
import { nodes } from '../../api/gen/core-v1.ts';
import { isAlreadyExists, messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import type { MachineFacts } from '../host/host.ts';

export interface RegistrationOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Nobody remembers the devices of this machine: what a Node of that name claims to have is taken back until a plugin shows it. */
  readonly forgetsDevices?: boolean | undefined;
}

const firstRetryMs = 100;
const longestRetryMs = 7000;

/** The Node as a new one looks, without its status. */
export function newNode(
  { nodeName, hostname }: { readonly nodeName: string; readonly hostname: string },
  { configuration, facts }: { readonly configuration: KubeletConfiguration; readonly facts: MachineFacts },
): Node {
  const { nodeLabels, registerWithTaints, providerId, cloudProvider, nodeIps } = configuration;
  const isExternal = cloudProvider === 'external';
  const taints: Taint[] = [...registerWithTaints];
  if (isExternal)
    taints.push({ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: {
        'beta.kubernetes.io/arch': facts.architecture,
        'beta.kubernetes.io/os': facts.operatingSystem,
        'kubernetes.io/arch': facts.architecture,
        'kubernetes.io/hostname': hostname,
        'kubernetes.io/os': facts.operatingSystem,
        ...nodeLabels,
      },
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        ...(isExternal && nodeIps.length > 0 ? { 'alpha.kubernetes.io/provided-node-ip': nodeIps.join(',') } : {}),
      },
    },
    spec: {
      ...(taints.length > 0 ? { taints } : {}),
      ...(providerId ? { providerID: providerId } : {}),
    },
  };
}

/** Tries until it is there, or the signal is aborted. */
export async function registerNode(node: Node, options: RegistrationOptions): Promise<void> {
  const { client, clock, log, signal, forgetsDevices = false } = options;
  const name = node.metadata.name ?? '';
  for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
    try {
      await client.create(nodes, node, { signal });
      log.info('successfully registered node', { node: name });
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (isAlreadyExists(error)) {
        if (!forgetsDevices || (await takeDevicesBack(name, options))) {
          log.info('node was previously registered', { node: name });
          return;
        }
      }
      log.warn('unable to register node with API server', { node: name, error: messageOf(error) });
    }
    await sleep(clock, retryMs, signal).catch(() => undefined);
  }
}

/** Whether the server has it. */
async function takeDevicesBack(name: string, { client, log, signal }: RegistrationOptions): Promise<boolean> {
  try {
    const { status } = await client.get(nodes, { name }, { signal });
    const claimed = Object.entries(status?.capacity ?? {}).filter(([resource]) => isExtendedResource(resource));
    if (claimed.length === 0) return true;
    const none = Object.fromEntries(claimed.map(([resource]) => [resource, '0']));
    const body = { status: { capacity: none, allocatable: none } };
    await client.patch(nodes, { name }, { type: 'strategic', body }, { subresource: 'status', signal });
    log.info('Zero out resource capacity in existing node', { node: name, resources: Object.keys(none) });
    return true;
  } catch (error) {
    log.warn('unable to reconcile node with API server', { node: name, error: messageOf(error) });
    return false;
  }
}

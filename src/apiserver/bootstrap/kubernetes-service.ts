/**
 * The Service `kubernetes` in the namespace `default`, by which Pods find the API server, with its Endpoints and EndpointSlice: no
 * controller makes these, for the server is no Pod.
 */

import { semanticallyEqual } from '../../api/equality.ts';
import { type Endpoints, endpoints, type Service, services } from '../../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../api/gen/discovery-v1.ts';
import { isLoopback, parseIp } from '../../apimachinery/addresses.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import { createOnce } from './ensure.ts';
import type { ServerLeases } from './server-leases.ts';

export interface KubernetesServiceOptions {
  /** First address of the service range. */
  readonly clusterIP: string;
  /** Port on which the server listens. */
  readonly securePort: number;
  /** Where Pods reach the server; absent or a loopback address: the Service has no endpoints. */
  readonly advertiseAddress?: string | undefined;
  /** `--kubernetes-service-node-port`; 0: none. */
  readonly nodePort?: number | undefined;
  /** Of servers that share a store; absent: this is the only one. */
  readonly servers?: ServerLeases | undefined;
}

const name = 'kubernetes';
const namespace = 'default';
const portName = 'https';

export async function ensureKubernetesService(client: Client, options: KubernetesServiceOptions): Promise<void> {
  await Promise.all([ensureService(client, options), ensureEndpoints(client, options)]);
}

/** An existing Service is left as it is. */
async function ensureService(
  client: Client,
  { clusterIP, securePort, nodePort }: KubernetesServiceOptions,
): Promise<void> {
  if (await find(client, services)) return;
  const service: Service = {
    metadata: { name, namespace, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP,
      ipFamilyPolicy: 'SingleStack',
      ports: [
        { name: portName, port: 443, protocol: 'TCP', targetPort: securePort, ...(nodePort ? { nodePort } : {}) },
      ],
      sessionAffinity: 'None',
      type: nodePort ? 'NodePort' : 'ClusterIP',
    },
  };
  await createOnce(client, services, service);
}

/** Shows that this server lives, where it is one of several, and names those that do. */
async function ensureEndpoints(client: Client, options: KubernetesServiceOptions): Promise<void> {
  const { advertiseAddress, servers } = options;
  const address = advertiseAddress && parseIp(advertiseAddress);
  // The API refuses loopback addresses as endpoints: they would mean each client's own machine.
  if (!advertiseAddress || !address || isLoopback(address)) return;
  if (!servers) return writeEndpoints(client, [advertiseAddress], options);
  if (servers.ended) return;
  await servers.renew();
  const addresses = await servers.addresses();
  if (addresses.length === 0)
    throw new Error(
      'no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service',
    );
  await writeEndpoints(client, addresses, options);
}

/** Takes this server out of the endpoints; others, if there are any, stay. */
export async function leaveKubernetesService(client: Client, options: KubernetesServiceOptions): Promise<void> {
  const { servers } = options;
  if (!servers) return;
  await servers.end();
  await writeEndpoints(client, await servers.addresses(), options);
}

async function writeEndpoints(
  client: Client,
  addresses: readonly string[],
  { advertiseAddress, securePort }: KubernetesServiceOptions,
): Promise<void> {
  const port = { name: portName, port: securePort, protocol: 'TCP' as const };
  const wantedEndpoints: Endpoints = {
    metadata: { name, namespace, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    ...(addresses.length > 0 ? { subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: [port] }] } : {}),
  };
  const wantedSlice: EndpointSlice = {
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: parseIp(advertiseAddress ?? '')?.family === 6 ? 'IPv6' : 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [port],
  };
  await Promise.all([
    settle(client, endpoints, wantedEndpoints, ['subsets']),
    (async () => {
      const present = await find(client, endpointSlices);
      if (present && present.addressType !== wantedSlice.addressType)
        await client.delete(endpointSlices, { namespace, name });
      await settle(client, endpointSlices, wantedSlice, ['endpoints', 'ports']);
    })(),
  ]);
}

/** Creates the object, or makes these fields and the labels what they should be. */
async function settle<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  wanted: T,
  fields: readonly (keyof T)[],
): Promise<void> {
  const present = await find(client, type);
  if (!present) return createOnce(client, type, wanted);
  const labels = { ...present.metadata.labels, ...wanted.metadata.labels };
  const changed = Object.fromEntries(fields.map((field) => [field, wanted[field]]));
  const next: T = { ...present, ...changed, metadata: { ...present.metadata, labels } };
  if (!semanticallyEqual(next, present)) await client.update(type, next);
}

async function find<T>(client: Client, type: ResourceType<T>): Promise<T | undefined> {
  try {
    return await client.get(type, { namespace, name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

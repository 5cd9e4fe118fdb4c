/**
 * The cluster's name server as a component: follows Services and EndpointSlices and answers from memory, so names resolve while the
 * API server is away. It announces itself as an endpoint of the `kube-dns` Service, which the proxy then sends clients to.
 */
import { namespaces, type Service, services } from '../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../api/gen/discovery-v1.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../apimachinery/status.ts';
import { sleep } from '../base/clock.ts';
import type { ComponentContext } from '../reconcile/component.ts';
import { type ClusterLookups, resolve } from './cluster-zone.ts';
import { startDnsServer } from './dns-server.ts';

export interface DnsOptions {
  /** Without a trailing dot; upstream's default is `cluster.local`. */
  readonly domain: string;
  readonly addresses: readonly string[];
  readonly port: number;
  readonly upstreams: readonly string[];
  /** Where the kube-dns Service should send this node's share; absent: not announced. */
  readonly announce?: { readonly nodeName: string; readonly ip: string } | undefined;
}

const byService = 'service';
const byAddress = 'address';
const announceRetryMs = 2000;

export async function runDns(context: ComponentContext, options: DnsOptions): Promise<void> {
  const { informers, clock, log, signal } = context;
  const serviceInformer = informers.of(services);
  const sliceInformer = informers.of(endpointSlices);
  const namespaceInformer = informers.of(namespaces);
  serviceInformer.addIndex(byAddress, (service) => service.spec?.clusterIPs ?? []);
  sliceInformer.addIndex(byService, (slice) => [
    `${slice.metadata.namespace}/${slice.metadata.labels?.['kubernetes.io/service-name']}`,
  ]);
  sliceInformer.addIndex(byAddress, (slice) => (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses));
  const cluster: ClusterLookups = {
    service: (namespace, name): Service | undefined => serviceInformer.get(`${namespace}/${name}`),
    namespaceExists: (name) => namespaceInformer.get(name) !== undefined,
    slices: (namespace, service) => sliceInformer.byIndex(byService, `${namespace}/${service}`),
    serviceByIp: (ip) => serviceInformer.byIndex(byAddress, ip)[0],
    endpointsByIp: (ip) =>
      sliceInformer
        .byIndex(byAddress, ip)
        .flatMap((slice) =>
          (slice.endpoints ?? []).filter((e) => e.addresses.includes(ip)).map((endpoint) => ({ endpoint, slice })),
        ),
  };
  await Promise.all([
    serviceInformer.whenSynced(signal),
    sliceInformer.whenSynced(signal),
    namespaceInformer.whenSynced(signal),
  ]);
  const server = await startDnsServer({
    ...options,
    clock,
    log,
    resolve: (question) => resolve(question, options.domain, cluster),
  });
  try {
    if (options.announce) await announce(context, options.announce, server.port);
    if (!signal.aborted)
      await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  } finally {
    await server.close();
  }
}

/** One EndpointSlice per node, kept as this node wants it. */
async function announce(
  context: ComponentContext,
  node: { readonly nodeName: string; readonly ip: string },
  port: number,
): Promise<void> {
  const { client, clock, log, signal } = context;
  const slice: EndpointSlice = {
    metadata: {
      name: `kube-dns-${node.nodeName}`,
      namespace: 'kube-system',
      labels: { 'kubernetes.io/service-name': 'kube-dns', 'endpointslice.kubernetes.io/managed-by': 'node-dns' },
    },
    addressType: node.ip.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      { addresses: [node.ip], nodeName: node.nodeName, conditions: { ready: true, serving: true, terminating: false } },
    ],
    ports: [
      { name: 'dns', protocol: 'UDP', port },
      { name: 'dns-tcp', protocol: 'TCP', port },
    ],
  };
  while (!signal.aborted) {
    try {
      await client.create(endpointSlices, slice, { signal });
      return;
    } catch (error) {
      try {
        if (!isAlreadyExists(error)) throw error;
        await client.update(endpointSlices, slice, { signal });
        return;
      } catch (failure) {
        if (signal.aborted) return;
        if (!isConflict(failure) && !isNotFound(failure))
          log.warn('announcing this name server failed; trying again', { error: failure });
        await sleep(clock, announceRetryMs, signal).catch(() => {});
      }
    }
  }
}

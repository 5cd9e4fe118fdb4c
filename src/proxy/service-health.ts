/**
 * `healthCheckNodePort` of Services whose outside traffic stays on the node that it reaches: on that port each node tells a load balancer how
 * many ready endpoints it has itself, so that nothing is sent where nobody would answer. Ports are opened and closed as Services come and go;
 * one that somebody else has is told as an event and tried again at the next change.
 */
import { createServer, type Server } from 'node:http';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { messageOf } from '../apimachinery/status.ts';
import type { Log } from '../base/log.ts';
import { familyOf, type IpFamily, slicesByService, type ThisNode } from './service-ports.ts';

export interface HealthCheck {
  readonly service: Service;
  readonly port: number;
  /** Ready ones on this node, each address once. */
  readonly localEndpoints: number;
}

/** By `namespace/name`. */
export function healthChecks(
  { services, slices }: { readonly services: Iterable<Service>; readonly slices: Iterable<EndpointSlice> },
  { node, family }: { readonly node: ThisNode; readonly family: IpFamily },
): ReadonlyMap<string, HealthCheck> {
  const slicesOf = slicesByService(slices, family);
  const checks = new Map<string, HealthCheck>();
  for (const service of services) {
    const { metadata, spec } = service;
    const port = spec?.healthCheckNodePort ?? 0;
    if (port === 0 || spec?.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local') continue;
    if (![spec.clusterIP, ...(spec.clusterIPs ?? [])].some((ip) => ip && familyOf(ip) === family)) continue;
    const key = `${metadata.namespace}/${metadata.name}`;
    const local = (slicesOf.get(key) ?? [])
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ nodeName, conditions }) => nodeName === node.name && conditions?.ready !== false);
    checks.set(key, { service, port, localEndpoints: new Set(local.map(({ addresses }) => addresses[0])).size });
  }
  return checks;
}

export interface ServiceHealthOptions {
  readonly nodeName: string;
  /** Where to listen; none: on all addresses of the family. */
  readonly addresses: readonly string[];
  readonly family: IpFamily;
  readonly log: Log;
  /** Whether the kernel's rules are as Services say, or not for long otherwise. */
  readonly isProxyHealthy: () => boolean;
  /** Told which Service has no answer on its port, and why. */
  readonly onFailure: (service: Service, message: string) => void;
}

interface OpenCheck {
  readonly port: number;
  readonly servers: readonly Server[];
  current: HealthCheck;
}

export class ServiceHealth {
  readonly #options: ServiceHealthOptions;
  readonly #open = new Map<string, OpenCheck>();

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  async sync(checks: ReadonlyMap<string, HealthCheck>): Promise<void> {
    for (const [key, open] of this.#open) {
      if (checks.get(key)?.port === open.port) continue;
      this.#open.delete(key);
      close(open);
    }
    for (const [key, check] of checks) {
      const open = this.#open.get(key);
      if (open) open.current = check;
      else await this.#listen(key, check);
    }
  }

  close(): void {
    for (const open of this.#open.values()) close(open);
    this.#open.clear();
  }

  async #listen(key: string, check: HealthCheck): Promise<void> {
    const { addresses, family, isProxyHealthy, nodeName, log, onFailure } = this.#options;
    const everywhere = family === 'ip' ? '0.0.0.0' : '::';
    const servers: Server[] = [];
    const open: OpenCheck = { port: check.port, servers, current: check };
    try {
      for (const host of addresses.length > 0 ? addresses : [everywhere]) {
        const server = healthServer(() => ({ ...open.current, isProxyHealthy: isProxyHealthy() }));
        servers.push(server);
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        // Stays: a connection that cannot be accepted is an error of the server, too.
        server.on('error', (error) => {
          if (server.listening)
            log.warn('a health check of a Service failed', { service: key, error: messageOf(error) });
          reject(error);
        });
        server.listen({ host, port: check.port, ipv6Only: family === 'ip6' }, resolve);
        await promise;
      }
      this.#open.set(key, open);
    } catch (error) {
      close(open);
      const message = `node ${nodeName} failed to start healthcheck "${key}" on port ${check.port}: ${messageOf(error)}`;
      log.error('a health check of a Service could not be started', { service: key, error: messageOf(error) });
      onFailure(check.service, message);
    }
  }
}

function healthServer(current: () => HealthCheck & { readonly isProxyHealthy: boolean }): Server {
  return createServer((_, response) => {
    const { service, localEndpoints, isProxyHealthy } = current();
    const { namespace, name } = service.metadata;
    response.writeHead(localEndpoints > 0 && isProxyHealthy ? 200 : 503, {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
    });
    response.end(
      JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy: isProxyHealthy }, null, '\t'),
    );
  });
}

function close({ servers }: OpenCheck): void {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
}

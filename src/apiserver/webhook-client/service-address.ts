/**
 * From a Service to the address that is dialled for it: its ClusterIP, as upstream without `--enable-aggregator-routing`. Looked up for
 * each new connection, so that a Service that was made again is found.
 */
import { type Service, services } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { isNotFound, serviceUnavailable, statusError } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { Dial, DialAddress } from '../../serving/dial.ts';
import type { ServiceTarget } from './endpoint.ts';

/** Dials the Service whatever address it is given. */
export function serviceDial(
  target: ServiceTarget,
  { client, dial }: { readonly client: Pick<Client, 'get'>; readonly dial: Dial },
): Dial {
  return async (_address, signal) => dial(await serviceAddress(client, target, signal), signal);
}

/** Throws what keeps the Service from being reached, in upstream's words. */
async function serviceAddress(
  client: Pick<Client, 'get'>,
  { namespace, name, port }: ServiceTarget,
  signal?: AbortSignal,
): Promise<DialAddress> {
  const service = await client.get(services, { namespace, name }, signal ? { signal } : {}).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    // Upstream asks its cache, which calls the resource by the singular.
    throw statusError({ code: 404, reason: 'NotFound', message: `service ${quote(name)} not found` });
  });
  return clusterAddress(service, port);
}

export function clusterAddress({ metadata, spec = {} }: Service, port: number): DialAddress {
  const { type = 'ClusterIP', clusterIP = '', ports = [], externalName = '' } = spec;
  if (type === 'ExternalName') return { host: externalName, port };
  if (type === 'ClusterIP' && clusterIP === 'None') throw new Error('cannot route to service with ClusterIP "None"');
  if (!ports.some((candidate) => candidate.port === port)) {
    throw serviceUnavailable(`no service port ${port} found for service ${quote(metadata.name ?? '')}`);
  }
  return { host: clusterIP, port };
}

/**
 * From the Service that an APIService names to the address that is dialled: its ClusterIP, or with `--enable-aggregator-routing` one of its
 * endpoints. Throws what keeps it from being reached, in upstream's words.
 */
import { type Service, services } from '../../api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../api/gen/discovery-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { serviceUnavailable, statusError } from '../../apimachinery/status.ts';
import type { Random } from '../../base/random.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { DialAddress } from '../../serving/dial.ts';
import { clusterAddress } from '../webhook-client/service-address.ts';

export interface ServicePlace {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** `cluster`: by ClusterIP; `endpoints`: past it. */
export type ServiceRouting = 'cluster' | 'endpoints';

const serviceIndex = 'service';
const serviceLabel = 'kubernetes.io/service-name';

/** Services and their endpoints as this server sees them at the moment. */
export class ServiceLocations {
  readonly #routing: ServiceRouting;
  readonly #random: Random;
  readonly #informers: InformerSet;

  constructor(informers: InformerSet, options: { readonly routing: ServiceRouting; readonly random: Random }) {
    this.#informers = informers;
    this.#routing = options.routing;
    this.#random = options.random;
    informers.of(endpointSlices).addIndex(serviceIndex, ({ metadata }) => {
      const name = metadata.labels?.[serviceLabel];
      return name ? [`${metadata.namespace}/${name}`] : [];
    });
  }

  service({ namespace, name }: ServicePlace): Service | undefined {
    return this.#informers.of(services).get(`${namespace}/${name}`);
  }

  slices({ namespace, name }: ServicePlace): readonly EndpointSlice[] {
    return this.#informers.of(endpointSlices).byIndex(serviceIndex, `${namespace}/${name}`);
  }

  address(place: ServicePlace): DialAddress {
    const service = this.service(place);
    if (!service) {
      throw statusError({ code: 404, reason: 'NotFound', message: `service ${quote(place.name)} not found` });
    }
    if (this.#routing === 'cluster') return clusterAddress(service, place.port);
    return endpointAddress(service, this.slices(place), { port: place.port, random: this.#random });
  }
}

/** One of the ready endpoints, by chance; those of the Service's first family before others. */
export function endpointAddress(
  { metadata, spec = {} }: Service,
  slices: readonly EndpointSlice[],
  { port, random }: { readonly port: number; readonly random: Random },
): DialAddress {
  const { type = 'ClusterIP', ports = [], ipFamilies = [] } = spec;
  if (type === 'ExternalName') throw new Error(`unsupported service type ${quote(type)}`);
  const name = metadata.name ?? '';
  const found = ports.find((candidate) => candidate.port === port);
  if (!found) throw serviceUnavailable(`no service port ${port} found for service ${quote(name)}`);
  const candidates = slices.flatMap(({ addressType, endpoints = [], ports: slicePorts = [] }) => {
    const target = slicePorts?.find((candidate) => (candidate.name ?? '') === (found.name ?? ''))?.port;
    if (target === undefined) return [];
    return (endpoints ?? []).filter(isReady).flatMap(({ addresses }) => {
      const [host] = addresses;
      return host === undefined ? [] : [{ host, port: target, preferred: addressType === ipFamilies[0] }];
    });
  });
  const preferred = candidates.filter((candidate) => candidate.preferred);
  const eligible = preferred.length > 0 ? preferred : candidates;
  const chosen = eligible[Math.floor(random.next() * eligible.length)];
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${quote(name)}`);
  return { host: chosen.host, port: chosen.port };
}

/** Unknown counts as ready. */
export function isReady({
  conditions,
}: {
  readonly conditions?: { readonly ready?: boolean | undefined } | undefined;
}) {
  return conditions?.ready ?? true;
}

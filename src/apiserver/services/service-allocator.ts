/**
 * Addresses and node ports of Services. The truth is what is stored in Services: at the first write the allocator reads them all, and
 * from then on keeps in memory what is taken. A server that dies between taking an address and storing the Service has lost nothing.
 *
 * One process allocates at a time; several API servers over one store must share this through the store, which is not done yet.
 */
import { type IPFamily, type Service, services } from '../../api/gen/core-v1.ts';
import { parseIp } from '../../apimachinery/addresses.ts';
import { invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { internalError, invalid } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { AddressRange, familyOf } from './address-range.ts';
import { headless, keepsDualStackAsItIs, settleFamilies } from './ip-families.ts';
import {
  defaultNodePortRange,
  hasNodePorts,
  needsHealthCheckPort,
  nodePortNumbers,
  type PortRange,
  takeHealthCheckPort,
  takeNodePorts,
  updateNodePorts,
  usedNodePorts,
} from './node-ports.ts';
import type { NumberRange } from './number-range.ts';
import { numberOf, Reservation } from './reservation.ts';
import { adoptAllocatedValues, normalizeClusterIPs } from './service-fields.ts';

export interface ServiceAllocatorOptions {
  /** Of the loopback user; asked once for all Services. */
  readonly client: Client;
  readonly random: Random;
  readonly log: Log;
  /** `--service-cluster-ip-range`: one CIDR, or one of each family; the first is the default family. */
  readonly serviceCidrs: readonly string[];
  /** `--service-node-port-range`; default 30000-32767. */
  readonly nodePortRange?: PortRange | undefined;
}

/** Ends what `allocate` began: `kept` tells whether the Service was stored. */
export type FinishAllocation = (kept: boolean) => void;

export class ServiceAllocator {
  readonly #options: ServiceAllocatorOptions;
  readonly #addresses: ReadonlyMap<IPFamily, AddressRange>;
  readonly #ports: NumberRange;
  #restored: Promise<void> | undefined;

  /** Throws when a CIDR cannot be used. */
  constructor(options: ServiceAllocatorOptions) {
    this.#options = options;
    const ranges = options.serviceCidrs.map((text) => new AddressRange(text, options.random));
    this.#addresses = new Map(ranges.map((range) => [range.family, range]));
    this.#ports = nodePortNumbers(options.nodePortRange ?? defaultNodePortRange, options.random);
  }

  /** Families of the cluster, the default one first. */
  get families(): readonly IPFamily[] {
    return [...this.#addresses.keys()];
  }

  /** Address of the `kubernetes` Service: the first of the default range. */
  get kubernetesAddress(): string {
    return [...this.#addresses.values()][0]!.firstAddress;
  }

  /** Reads what is stored; done by itself at the first allocation. */
  restore(): Promise<void> {
    this.#restored ??= this.#restore().catch((error: unknown) => {
      this.#restored = undefined;
      throw error;
    });
    return this.#restored;
  }

  /**
   * Fills in addresses and ports of a Service about to be stored (`previous` is what is stored now), and reserves them. Throws
   * `StatusError`; then nothing stays reserved.
   */
  async allocate(
    service: Draft<Service>,
    previous: Service | undefined,
    options: { readonly dryRun: boolean },
  ): Promise<FinishAllocation> {
    await this.restore();
    const reservation = new Reservation(options);
    try {
      if (previous) adoptAllocatedValues(service, previous);
      normalizeClusterIPs(service, previous);
      settleFamilies(service, previous, this.families);
      if (previous) this.#update(service, previous, reservation);
      else this.#create(service, reservation);
    } catch (error) {
      reservation.finish(false);
      throw error;
    }
    return (kept) => reservation.finish(kept);
  }

  /** Gives back what a deleted Service had. */
  release(service: Service): void {
    for (const text of clusterIPsOf(service)) this.#releaseAddress(text);
    for (const port of usedNodePorts(service)) this.#ports.release(BigInt(port));
    if (needsHealthCheckPort(service) && service.spec.healthCheckNodePort) {
      this.#ports.release(BigInt(service.spec.healthCheckNodePort));
    }
  }

  async #restore(): Promise<void> {
    const { client, log } = this.#options;
    const { items } = await client.list(services);
    for (const service of items) {
      const name = `${service.metadata.namespace}/${service.metadata.name}`;
      for (const text of clusterIPsOf(service)) {
        const range = this.#rangeOf(text);
        const number = numberOf(range, text);
        // A range that was changed under running Services leaves them their addresses.
        if (!range || number === undefined)
          log.warn('cluster IP of a service is outside the service range', { service: name, ip: text });
        else if (!range.numbers.take(number))
          log.warn('cluster IP of a service is used twice', { service: name, ip: text });
      }
      for (const port of usedNodePorts(service)) this.#ports.take(BigInt(port));
      if (needsHealthCheckPort(service) && service.spec.healthCheckNodePort)
        this.#ports.take(BigInt(service.spec.healthCheckNodePort));
    }
  }

  #create(service: Draft<Service>, reservation: Reservation): void {
    this.#takeAddresses(service, reservation);
    if (hasNodePorts(service)) takeNodePorts(service, this.#ports, reservation);
    if (needsHealthCheckPort(service)) takeHealthCheckPort(service, this.#ports, reservation);
  }

  #update(service: Draft<Service>, previous: Service, reservation: Reservation): void {
    this.#updateAddresses(service, previous, reservation);
    const ports = { numbers: this.#ports, reservation };
    if (hasNodePorts(previous) && !hasNodePorts(service)) {
      for (const port of usedNodePorts(previous)) reservation.releaseLater(this.#ports, BigInt(port));
    }
    if (hasNodePorts(service)) updateNodePorts(service, previous, ports);
    if (needsHealthCheckPort(service) && !needsHealthCheckPort(previous))
      takeHealthCheckPort(service, this.#ports, reservation);
    else if (needsHealthCheckPort(previous) && !needsHealthCheckPort(service) && previous.spec.healthCheckNodePort) {
      reservation.releaseLater(this.#ports, BigInt(previous.spec.healthCheckNodePort));
    }
  }

  #updateAddresses(service: Draft<Service>, previous: Service, reservation: Reservation): void {
    if (keepsDualStackAsItIs(service, previous)) return;
    if (previous.spec.type === 'ExternalName') {
      if (service.spec.type !== 'ExternalName') this.#takeAddresses(service, reservation);
      return;
    }
    if (previous.spec.clusterIPs?.[0] === headless) return;
    const before = previous.spec.clusterIPs ?? [];
    if (service.spec.type === 'ExternalName') {
      for (const text of before) this.#releaseAddressLater(text, reservation);
      return;
    }
    const [families, oldFamilies] = [service.spec.ipFamilies ?? [], previous.spec.ipFamilies ?? []];
    if (oldFamilies.length === 1 && families.length === 2) {
      const second = this.#takeAddress(
        service,
        { family: families[1]!, wanted: service.spec.clusterIPs?.[1] ?? '' },
        reservation,
      );
      service.spec.clusterIPs = [service.spec.clusterIPs?.[0] ?? '', second];
    } else if (oldFamilies.length === 2 && families.length === 1 && before[1])
      this.#releaseAddressLater(before[1], reservation);
  }

  #takeAddresses(service: Draft<Service>, reservation: Reservation): void {
    const { spec } = service;
    if (spec.type === 'ExternalName' || spec.clusterIPs?.[0] === headless) return;
    const given = spec.clusterIPs ?? [];
    spec.clusterIPs = (spec.ipFamilies ?? []).map((family, i) =>
      this.#takeAddress(service, { family, wanted: given[i] ?? '' }, reservation),
    );
    spec.clusterIP = spec.clusterIPs[0];
  }

  #takeAddress(
    service: Draft<Service>,
    { family, wanted }: { readonly family: IPFamily; readonly wanted: string },
    reservation: Reservation,
  ): string {
    const range = this.#addresses.get(family)!;
    const name = service.metadata.name ?? '';
    if (wanted === '') {
      const number = reservation.takeAny(range.numbers);
      if (number === undefined)
        throw internalError(`failed to allocate a serviceIP for Service "${name}": range is full`);
      return range.format(number);
    }
    const problem = addressProblem(range, wanted, reservation);
    if (!problem) return wanted;
    const message = `failed to allocate IP ${wanted}: ${problem}`;
    throw invalid({ group: '', kind: 'Service' }, name, [
      invalidValue(path('spec', 'clusterIPs'), service.spec.clusterIPs ?? [wanted], message),
    ]);
  }

  #rangeOf(text: string): AddressRange | undefined {
    const family = familyOf(text);
    return family === undefined ? undefined : this.#addresses.get(family);
  }

  #releaseAddress(text: string): void {
    const range = this.#rangeOf(text);
    const number = numberOf(range, text);
    if (range && number !== undefined) range.numbers.release(number);
  }

  #releaseAddressLater(text: string, reservation: Reservation): void {
    const range = this.#rangeOf(text);
    const number = numberOf(range, text);
    if (range && number !== undefined) reservation.releaseLater(range.numbers, number);
  }
}

function clusterIPsOf({ spec }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return [];
  const all = spec.clusterIPs?.length ? spec.clusterIPs : spec.clusterIP ? [spec.clusterIP] : [];
  return all.filter((text) => text !== headless && text !== '');
}

function addressProblem(range: AddressRange, wanted: string, reservation: Reservation): string | undefined {
  const address = parseIp(wanted);
  if (!address || !range.covers(address)) return 'the provided network does not match the current range';
  if (!range.numbers.contains(address.value)) {
    return `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${range.text}`;
  }
  return reservation.take(range.numbers, address.value) ? undefined : 'provided IP is already allocated';
}

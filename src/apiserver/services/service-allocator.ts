/**
 * Addresses and node ports of Services. Addresses are objects of their own (`address-pool.ts`). Of node ports the truth is what is
 * stored in Services: at the first write the allocator reads them all, and from then on keeps in memory what is taken. A server that
 * dies between taking and storing has lost nothing: `address-repair.ts` finds what it had taken.
 *
 * Where several API servers share a store, they share node ports through it too (`shared-ports.ts`).
 */
import { type IPFamily, type RangeAllocation, type Service, services } from '../../api/gen/core-v1.ts';
import { invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { internalError, invalid } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { KeptRecords } from '../kept-records.ts';
import { clusterIPsOf } from './address-object.ts';
import { AddressPool } from './address-pool.ts';
import { AddressRange } from './address-range.ts';
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
import { Reservation } from './reservation.ts';
import { adoptAllocatedValues, normalizeClusterIPs } from './service-fields.ts';
import { SharedPorts } from './shared-ports.ts';

export interface ServiceAllocatorOptions {
  /** Of the loopback user; asked once for all Services. */
  readonly client: Client;
  readonly random: Random;
  readonly log: Log;
  /** `--service-cluster-ip-range`: one CIDR, or one of each family; the first is the default family. */
  readonly serviceCidrs: readonly string[];
  /** `--service-node-port-range`; default 30000-32767. */
  readonly nodePortRange?: PortRange | undefined;
  /** Where servers agree on node ports; absent: nobody else allocates. */
  readonly portRecords?: KeptRecords<RangeAllocation> | undefined;
}

/** Ends what `allocate` began: `kept` tells whether the Service was stored. */
export type FinishAllocation = (kept: boolean) => Promise<void>;

export class ServiceAllocator {
  readonly #options: ServiceAllocatorOptions;
  readonly #addresses: AddressPool;
  readonly #ranges: readonly AddressRange[];
  readonly #ports: NumberRange;
  readonly #shared: SharedPorts | undefined;
  #restored: Promise<void> | undefined;

  /** Throws when a CIDR cannot be used. */
  constructor(options: ServiceAllocatorOptions) {
    this.#options = options;
    this.#ranges = options.serviceCidrs.map((text) => new AddressRange(text, options.random));
    this.#addresses = new AddressPool(options);
    const { client, portRecords: records, nodePortRange: range = defaultNodePortRange } = options;
    this.#ports = nodePortNumbers(range, options.random);
    const rebuild = () => portsInUse(client);
    this.#shared = records && new SharedPorts({ records, range, numbers: this.#ports, rebuild });
  }

  /** Families of the cluster, the default one first. */
  get families(): readonly IPFamily[] {
    return this.#ranges.map((range) => range.family);
  }

  /** Reads which node ports are taken; done by itself at the first allocation. */
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
    if (!this.#shared) await this.restore();
    const reservation = new Reservation(options);
    try {
      if (previous) adoptAllocatedValues(service, previous);
      normalizeClusterIPs(service, previous);
      settleFamilies(service, previous, this.families);
      if (previous) await this.#update(service, previous, reservation);
      else await this.#create(service, reservation);
    } catch (error) {
      await this.#finish(reservation, false);
      throw error;
    }
    return (kept) => this.#finish(reservation, kept);
  }

  /** Gives back what a deleted Service had. */
  async release(service: Service): Promise<void> {
    const ports = allPortsOf(service);
    if (ports.length > 0) {
      await this.#releasePorts(() => {
        for (const port of ports) this.#ports.release(BigInt(port));
      });
    }
    await this.#releaseAddresses(clusterIPsOf(service));
  }

  async #finish(reservation: Reservation, kept: boolean): Promise<void> {
    const release = reservation.numbersToReturn(kept);
    if (release) await this.#releasePorts(release);
    await this.#releaseAddresses(reservation.addressesToReturn(kept));
  }

  /** A failure leaves the ports to the repair, as with addresses. */
  async #releasePorts(release: () => void): Promise<void> {
    if (!this.#shared) return release();
    await this.#shared
      .change(release, () => {})
      .catch((error: unknown) => {
        this.#options.log.warn('node ports of a service were not given back', { error: String(error) });
      });
  }

  /** `step` takes ports for the service; where others take too, it may run more than once. */
  async #takePorts(service: Draft<Service>, reservation: Reservation, step: () => void): Promise<void> {
    if (!this.#shared) return step();
    const { ports, healthCheckNodePort } = structuredClone(service.spec);
    await this.#shared.change(step, () => {
      reservation.forgetNumbers();
      Object.assign(service.spec, structuredClone({ ports, healthCheckNodePort }));
    });
  }

  /** A failure leaves the address to the repair: the write itself is done. */
  async #releaseAddresses(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) {
      await this.#addresses.release(address).catch((error: unknown) => {
        this.#options.log.warn('an address of a service was not given back', { address, error: String(error) });
      });
    }
  }

  async #restore(): Promise<void> {
    for (const port of await portsInUse(this.#options.client)) this.#ports.take(BigInt(port));
  }

  async #create(service: Draft<Service>, reservation: Reservation): Promise<void> {
    await this.#takeAddresses(service, reservation);
    if (!hasNodePorts(service)) return;
    await this.#takePorts(service, reservation, () => {
      takeNodePorts(service, this.#ports, reservation);
      if (needsHealthCheckPort(service)) takeHealthCheckPort(service, this.#ports, reservation);
    });
  }

  async #update(service: Draft<Service>, previous: Service, reservation: Reservation): Promise<void> {
    await this.#updateAddresses(service, previous, reservation);
    if (!hasNodePorts(service) && !hasNodePorts(previous)) return;
    await this.#takePorts(service, reservation, () => this.#updatePorts(service, previous, reservation));
  }

  #updatePorts(service: Draft<Service>, previous: Service, reservation: Reservation): void {
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

  async #updateAddresses(service: Draft<Service>, previous: Service, reservation: Reservation): Promise<void> {
    if (keepsDualStackAsItIs(service, previous)) return;
    if (previous.spec.type === 'ExternalName') {
      if (service.spec.type !== 'ExternalName') await this.#takeAddresses(service, reservation);
      return;
    }
    if (previous.spec.clusterIPs?.[0] === headless) return;
    const before = previous.spec.clusterIPs ?? [];
    if (service.spec.type === 'ExternalName') {
      for (const text of before) reservation.releaseAddressLater(text);
      return;
    }
    const [families, oldFamilies] = [service.spec.ipFamilies ?? [], previous.spec.ipFamilies ?? []];
    if (oldFamilies.length === 1 && families.length === 2) {
      const second = await this.#takeAddress(
        service,
        { family: families[1]!, wanted: service.spec.clusterIPs?.[1] ?? '' },
        reservation,
      );
      service.spec.clusterIPs = [service.spec.clusterIPs?.[0] ?? '', second];
    } else if (oldFamilies.length === 2 && families.length === 1 && before[1])
      reservation.releaseAddressLater(before[1]);
  }

  async #takeAddresses(service: Draft<Service>, reservation: Reservation): Promise<void> {
    const { spec } = service;
    if (spec.type === 'ExternalName' || spec.clusterIPs?.[0] === headless) return;
    const given = spec.clusterIPs ?? [];
    const taken: string[] = [];
    for (const [i, family] of (spec.ipFamilies ?? []).entries())
      taken.push(await this.#takeAddress(service, { family, wanted: given[i] ?? '' }, reservation));
    spec.clusterIPs = taken;
    spec.clusterIP = taken[0];
  }

  async #takeAddress(
    service: Draft<Service>,
    { family, wanted }: { readonly family: IPFamily; readonly wanted: string },
    reservation: Reservation,
  ): Promise<string> {
    const { dryRun } = reservation;
    const result = await this.#addresses.take({ family, wanted, service: service as Service, dryRun });
    if (result.ok) {
      if (!dryRun) reservation.tookAddress(result.address);
      return result.address;
    }
    const name = service.metadata.name ?? '';
    if (wanted === '') throw internalError(`failed to allocate a serviceIP for Service "${name}": ${result.problem}`);
    throw invalid({ group: '', kind: 'Service' }, name, [
      invalidValue(
        path('spec', 'clusterIPs'),
        service.spec.clusterIPs ?? [wanted],
        `failed to allocate IP ${wanted}: ${result.problem}`,
      ),
    ]);
  }
}

async function portsInUse(client: Client): Promise<readonly number[]> {
  const { items } = await client.list(services);
  return items.flatMap(allPortsOf);
}

/** Node ports of a Service, that of its health check among them. */
function allPortsOf(service: Service): readonly number[] {
  const { healthCheckNodePort } = service.spec;
  const own = usedNodePorts(service);
  return needsHealthCheckPort(service) && healthCheckNodePort ? [...own, healthCheckNodePort] : own;
}

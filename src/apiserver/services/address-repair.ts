/**
 * Keeps addresses of Services and IPAddress objects one to one: makes the object that a Service lacks, takes away the one that
 * no Service has. Both can come about when a server dies between two writes, or by hand. What the informers show may be
 * behind, so nothing is done before the server itself has confirmed it.
 */
import { type Service, services } from '../../api/gen/core-v1.ts';
import { type IPAddress, ipAddresses, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { cidrContains, parseCidr, parseIp } from '../../apimachinery/addresses.ts';
import { type KubeObject, keyOf } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { addressObject, clusterIPsOf, isAllocated, isLabelled } from './address-object.ts';
import { familyOf } from './address-range.ts';

const name = 'ipallocator-repair-controller';
/** As long as a request may take: until then the Service of an address may still be on its way. */
const creationGraceMs = 60_000;
/** Until then a creation that failed may still be giving its address back. */
const revertGraceMs = 5_000;
const addressPrefix = 'address ';

/** Runs until the context's signal is aborted. */
export async function runAddressRepair(context: ComponentContext): Promise<void> {
  const { informers } = context;
  const repair = new AddressRepair(context);
  const [allServices, addresses] = [informers.of(services), informers.of(ipAddresses)];
  const controller = createController(context, {
    name,
    workers: 5,
    waitFor: [informers.of(serviceCIDRs)],
    maxRetries: 15,
    reconcile: async (key: string) =>
      key.startsWith(addressPrefix) ? repair.address(key.slice(addressPrefix.length)) : repair.service(key),
  });
  controller.watch(allServices);
  controller.watchMapped(addresses, ({ metadata, spec }) => {
    const parent = spec.parentRef;
    const keys = [`${addressPrefix}${metadata.name}`];
    // An address deleted by hand is missed by its Service.
    return parent?.resource === 'services' ? [...keys, `${parent.namespace}/${parent.name}`] : keys;
  });
  await controller.run();
}

class AddressRepair {
  readonly #context: ComponentContext;
  readonly #events: EventRecorder;

  constructor(context: ComponentContext) {
    this.#context = context;
    this.#events = context.eventRecorder(name);
  }

  async service(key: string): Promise<void> {
    const { informers } = this.#context;
    const seen = informers.of(services).get(key);
    if (!seen || clusterIPsOf(seen).every((ip) => isOwnAddress(informers.of(ipAddresses).get(ip), seen))) return;
    const service = await this.#read(services, seen);
    if (!service) return;
    for (const ip of clusterIPsOf(service)) await this.#check(service, ip);
  }

  async #check(service: Service, ip: string): Promise<void> {
    const { client } = this.#context;
    const at = `[${familyOf(ip)}]`;
    const warn = (reason: string, message: string) => this.#events.record(service, 'Warning', reason, message);
    if (!this.#isInRange(ip)) {
      const message = `Cluster IP ${at}: ${ip} is not within any configured Service CIDR; please recreate service`;
      return warn('ClusterIPOutOfRange', message);
    }
    const address = await this.#read(ipAddresses, { metadata: { name: ip } });
    if (!address) {
      warn('ClusterIPNotAllocated', `Cluster IP ${at}: ${ip} is not allocated; repairing`);
      await client.create(ipAddresses, addressObject(ip, service));
      return;
    }
    const parent = address.spec.parentRef;
    if (!isOfService(address, service)) {
      const other =
        parent && isOfServices(address)
          ? await this.#read(services, { metadata: { namespace: parent.namespace, name: parent.name } })
          : undefined;
      if (other) {
        if (clusterIPsOf(other).includes(ip)) {
          const message = `Cluster IP ${at}:${ip} was assigned to multiple services; please recreate service`;
          warn('ClusterIPAlreadyAllocated', message);
        }
        return;
      }
      const { namespace, name: serviceName } = service.metadata;
      const subject = `the ClusterIP ${at}: ${ip} for Service ${namespace}/${serviceName}`;
      warn('ClusterIPNotAllocated', `${subject} has a wrong reference; repairing`);
    } else if (isLabelled(address)) return;
    await this.#delete(address);
    await client.create(ipAddresses, addressObject(ip, service));
  }

  async address(key: string): Promise<ReconcileResult | undefined> {
    const { informers, clock } = this.#context;
    const seen = informers.of(ipAddresses).get(key);
    if (!seen || !isAllocated(seen)) return undefined;
    const parent = seen.spec.parentRef;
    const known = isOfServices(seen) && informers.of(services).get(`${parent?.namespace}/${parent?.name}`);
    if (known && clusterIPsOf(known).includes(key)) return undefined;
    const address = await this.#read(ipAddresses, seen);
    if (!address) return undefined;
    const service = isOfServices(address)
      ? await this.#read(services, { metadata: { namespace: parent?.namespace, name: parent?.name ?? '' } })
      : undefined;
    if (service && clusterIPsOf(service).includes(key)) return undefined;
    const ageMs = clock.now() - (parseTime(address.metadata.creationTimestamp ?? '') ?? 0);
    const graceMs = graceOf(address, service);
    if (ageMs < graceMs) return { againAfterMs: graceMs - ageMs };
    this.#events.record(address, 'Warning', ...complaintOf(address, service));
    await this.#delete(address);
    return undefined;
  }

  #isInRange(ip: string): boolean {
    const address = parseIp(ip);
    const ranges = this.#context.informers
      .of(serviceCIDRs)
      .list()
      .flatMap(({ spec }) => spec?.cidrs ?? []);
    return ranges.some((text) => {
      const cidr = parseCidr(text);
      return address && cidr && cidrContains(cidr, address);
    });
  }

  async #delete({ metadata }: IPAddress): Promise<void> {
    try {
      const preconditions = { uid: metadata.uid };
      await this.#context.client.delete(ipAddresses, { name: metadata.name ?? '' }, { preconditions });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #read<T extends KubeObject>(
    type: ResourceType<T>,
    { metadata }: Pick<KubeObject, 'metadata'>,
  ): Promise<T | undefined> {
    try {
      return await this.#context.client.get(type, { namespace: metadata.namespace, name: metadata.name ?? '' });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function isOfServices({ spec }: IPAddress): boolean {
  return !spec.parentRef?.group && spec.parentRef?.resource === 'services';
}

function isOfService(address: IPAddress, service: Service): boolean {
  const { namespace, name: serviceName } = address.spec.parentRef ?? {};
  return isOfServices(address) && `${namespace}/${serviceName}` === keyOf(service);
}

function isOwnAddress(address: IPAddress | undefined, service: Service): boolean {
  return address !== undefined && isOfService(address, service) && isLabelled(address);
}

/** How old an address must be before it counts as left behind. */
function graceOf(address: IPAddress, service: Service | undefined): number {
  if (!isOfServices(address)) return 0;
  if (!service || service.spec.type === 'ExternalName') return creationGraceMs;
  return revertGraceMs;
}

function complaintOf(address: IPAddress, service: Service | undefined): [reason: string, message: string] {
  const { name: ip } = address.metadata;
  const { group, resource, namespace, name: parentName } = address.spec.parentRef ?? {};
  if (!isOfServices(address)) {
    const reference = `&ParentReference{Group:${group ?? ''},Resource:${resource ?? ''},Namespace:${namespace ?? ''},Name:${parentName ?? ''},}`;
    const change = `not referencing a Service ${reference}: cleaning up`;
    return ['IPAddressNotAllocated', `IPAddress ${ip} appears to have been modified, ${change}`];
  }
  const subject = `IPAddress: ${ip} for Service ${namespace}/${parentName}`;
  return service
    ? ['IPAddressWrongReference', `${subject} has a wrong reference; cleaning up`]
    : ['IPAddressNotAllocated', `${subject} appears to have leaked: cleaning up`];
}

/**
 * Addresses of Services. Each one taken is an IPAddress object named after it, so that creating the object is the taking: two servers
 * over one store never give the same address twice, and what a dead server had taken is seen by everybody. Ranges are the ready
 * ServiceCIDRs. What is kept in memory are hints, which spare tries at addresses that are known to be taken:
 *
 *     ServiceCIDR kubernetes 10.96.0.0/16     10.96.0.1  IPAddress -> services default/kubernetes
 *     ServiceCIDR more       10.200.0.0/24    10.200.0.9 IPAddress -> services shop/cart
 */
import type { IPFamily, Service } from '../../api/gen/core-v1.ts';
import { ipAddresses, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { formatIp, parseIp } from '../../apimachinery/addresses.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';
import { isAlreadyExists, isNotFound } from '../../apimachinery/status.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { addressObject } from './address-object.ts';
import { AddressRange } from './address-range.ts';

export interface AddressPoolOptions {
  /** Of the loopback user. */
  readonly client: Client;
  readonly random: Random;
  /** The server's own ranges: they count in its first moments too, before their ServiceCIDR is there. */
  readonly serviceCidrs: readonly string[];
}

export interface AddressRequest {
  readonly family: IPFamily;
  /** Empty: any. */
  readonly wanted: string;
  readonly service: Pick<Service, 'metadata'>;
  /** Only looks whether there is a range; takes nothing, and does not ask who has the address. */
  readonly dryRun: boolean;
}

/** `problem` is in upstream's words. */
export type AddressResult =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly problem: string };

/** The name of the object that says the server's own ranges. */
const ownServiceCidr = 'kubernetes';

export class AddressPool {
  readonly #options: AddressPoolOptions;
  /** By CIDR. A range stays when its ServiceCIDR goes: it holds nothing but hints. */
  readonly #ranges = new Map<string, AddressRange>();
  #hintsRead: Promise<void> | undefined;

  constructor(options: AddressPoolOptions) {
    this.#options = options;
  }

  async take(request: AddressRequest): Promise<AddressResult> {
    const ranges = await this.#readyRanges(request.family);
    return request.wanted === '' ? this.#takeAny(ranges, request) : this.#takeWanted(ranges, request);
  }

  /** An address that nobody has is no error. */
  async release(address: string): Promise<void> {
    const value = parseIp(address);
    if (!value) return;
    try {
      await this.#options.client.delete(ipAddresses, { name: formatIp(value) });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    for (const range of this.#ranges.values()) if (range.covers(value)) range.numbers.release(value.value);
  }

  async #takeWanted(ranges: readonly AddressRange[], request: AddressRequest): Promise<AddressResult> {
    const address = parseIp(request.wanted);
    const range = address && ranges.find((candidate) => candidate.covers(address));
    if (!address || !range) return refused('the provided network does not match the current range');
    if (!range.numbers.contains(address.value)) {
      const valid = `The range of valid IPs is ${range.text}`;
      return refused(`the provided IP (${request.wanted}) is not in the valid range. ${valid}`);
    }
    if (!request.dryRun && !(await this.#create(range.format(address.value), request)))
      return refused('provided IP is already allocated');
    return { ok: true, address: request.wanted };
  }

  async #takeAny(ranges: readonly AddressRange[], request: AddressRequest): Promise<AddressResult> {
    if (request.dryRun && ranges[0]) return { ok: true, address: ranges[0].networkAddress };
    await this.#readHints();
    let address = await this.#firstFree(ranges, request);
    if (address === undefined) {
      // Another server may have given back what is hinted as taken here.
      this.#hintsRead = undefined;
      await this.#readHints();
      address = await this.#firstFree(ranges, request);
    }
    return address === undefined ? refused('range is full') : { ok: true, address };
  }

  async #firstFree(ranges: readonly AddressRange[], request: AddressRequest): Promise<string | undefined> {
    for (const { numbers, format } of ranges) {
      for (;;) {
        const number = numbers.findFree();
        if (number === undefined) break;
        // Before the object is made, so that whoever asks meanwhile looks elsewhere.
        numbers.take(number);
        try {
          if (await this.#create(format(number), request)) return format(number);
        } catch (error) {
          numbers.release(number);
          throw error;
        }
      }
    }
    return undefined;
  }

  /** False when somebody has the address. */
  async #create(address: string, { service }: AddressRequest): Promise<boolean> {
    try {
      await this.#options.client.create(ipAddresses, addressObject(address, service));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Asked anew each time: nothing may be taken from a range that is about to go. */
  async #readyRanges(family: IPFamily): Promise<readonly AddressRange[]> {
    const { items } = await this.#options.client.list(serviceCIDRs);
    const ready = items.filter(
      ({ metadata, status }) => !metadata.deletionTimestamp && isConditionTrue(status?.conditions, 'Ready'),
    );
    const toldOfOwn = items.some(
      ({ metadata, status }) => metadata.name === ownServiceCidr && status?.conditions?.length,
    );
    const cidrs = ready.flatMap(({ spec }) => spec?.cidrs ?? []);
    return [...new Set(toldOfOwn ? cidrs : [...this.#options.serviceCidrs, ...cidrs])]
      .map((text) => this.#rangeOf(text))
      .filter((range): range is AddressRange => range?.family === family);
  }

  /** Undefined for a range that is too wide to allocate from, which a ServiceCIDR may be. */
  #rangeOf(text: string): AddressRange | undefined {
    let range = this.#ranges.get(text);
    if (range) return range;
    try {
      range = new AddressRange(text, this.#options.random);
    } catch {
      return undefined;
    }
    this.#ranges.set(text, range);
    this.#hintsRead = undefined;
    return range;
  }

  #readHints(): Promise<void> {
    this.#hintsRead ??= this.#listTaken().catch((error: unknown) => {
      this.#hintsRead = undefined;
      throw error;
    });
    return this.#hintsRead;
  }

  async #listTaken(): Promise<void> {
    const { items } = await this.#options.client.list(ipAddresses);
    const taken = items.map(({ metadata }) => parseIp(metadata.name ?? '')).filter((address) => address !== undefined);
    for (const range of this.#ranges.values()) {
      range.numbers.clear();
      for (const address of taken) if (range.covers(address)) range.numbers.take(address.value);
    }
  }
}

function refused(problem: string): AddressResult {
  return { ok: false, problem };
}

/**
 * All ResourceClaims and the devices that are taken by them, as the scheduler knows them: what the informer shows; what it has written itself
 * and the informer does not show yet; and what it has decided and not yet written, so that no two Pods get the same device.
 */
import type { AllocationResult, DeviceRequestAllocationResult, ResourceClaim } from '../../api/gen/resource-v1.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { parseQuantity, type Quantity } from '../../apimachinery/quantity.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { addConsumed, type Consumed } from './capacity.ts';
import type { DevicesInUse } from './device-search.ts';
import { deviceKey } from './pools.ts';

interface Shared {
  readonly amounts: Map<string, Quantity>;
  holders: number;
}

export class ClaimLedger implements DevicesInUse {
  readonly #informer: Informer<ResourceClaim>;
  /** Newer than what the informer shows, by key. */
  readonly #written = new Map<string, ResourceClaim>();
  /** Decided, by uid. */
  readonly #pending = new Map<string, AllocationResult>();
  /** What each claim counts with, by uid. */
  readonly #counted = new Map<string, AllocationResult>();
  readonly #holders = new Map<string, number>();
  readonly #shared = new Map<string, Shared>();

  constructor(informer: Informer<ResourceClaim>) {
    this.#informer = informer;
    informer.onChange({
      added: (claim) => this.#seen(claim),
      updated: (claim) => this.#seen(claim),
      deleted: (claim) => {
        this.#written.delete(keyOf(claim));
        this.#count(claim.metadata.uid ?? '', undefined);
      },
    });
  }

  /** By `namespace/name`. */
  get(key: string): ResourceClaim | undefined {
    return this.#written.get(key) ?? this.#informer.get(key);
  }

  has(device: string): boolean {
    return this.#holders.has(device);
  }

  consumed(device: string): Consumed | undefined {
    return this.#shared.get(device)?.amounts;
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid ?? '');
  }

  decide({ metadata }: ResourceClaim, allocation: AllocationResult): void {
    this.#pending.set(metadata.uid ?? '', allocation);
    this.#count(metadata.uid ?? '', allocation);
  }

  /** It was not written, and will not be. */
  takeBack({ metadata }: ResourceClaim): void {
    const { uid = '' } = metadata;
    if (!this.#pending.delete(uid)) return;
    const known = this.get(keyOf({ metadata }));
    this.#count(uid, known?.metadata.uid === uid ? known.status?.allocation : undefined);
  }

  /** The API server has it so. */
  wrote(claim: ResourceClaim): void {
    const { uid = '' } = claim.metadata;
    this.#pending.delete(uid);
    const shown = this.#informer.get(keyOf(claim));
    if (shown?.metadata.uid !== uid) return this.#count(uid, undefined);
    // While it was pending, what others did to it was not counted.
    if (isOlder(claim, shown)) return this.#count(uid, shown.status?.allocation);
    this.#written.set(keyOf(claim), claim);
    this.#count(uid, claim.status?.allocation);
  }

  #seen(claim: ResourceClaim): void {
    const key = keyOf(claim);
    const written = this.#written.get(key);
    if (written && written.metadata.uid === claim.metadata.uid && isOlder(claim, written)) return;
    this.#written.delete(key);
    if (!this.isPending(claim)) this.#count(claim.metadata.uid ?? '', claim.status?.allocation);
  }

  #count(uid: string, allocation: AllocationResult | undefined): void {
    const before = this.#counted.get(uid);
    if (before) this.#change(before, -1);
    if (allocation) {
      this.#change(allocation, 1);
      this.#counted.set(uid, allocation);
    } else this.#counted.delete(uid);
  }

  #change(allocation: AllocationResult, sign: 1 | -1): void {
    for (const result of allocation.devices?.results ?? []) {
      if (result.adminAccess) continue;
      const device = deviceKey(result.driver, result.pool, result.device);
      if (result.shareID !== undefined) this.#changeShare(device, result, sign);
      else {
        const holders = (this.#holders.get(device) ?? 0) + sign;
        if (holders > 0) this.#holders.set(device, holders);
        else this.#holders.delete(device);
      }
    }
  }

  #changeShare(device: string, { consumedCapacity = {} }: DeviceRequestAllocationResult, sign: 1 | -1): void {
    const shared = this.#shared.get(device) ?? { amounts: new Map(), holders: 0 };
    addConsumed(
      shared.amounts,
      new Map(Object.entries(consumedCapacity).map(([name, text]) => [name, parseQuantity(text)])),
      sign,
    );
    shared.holders += sign;
    if (shared.holders > 0) this.#shared.set(device, shared);
    else this.#shared.delete(device);
  }
}

/** As a version of the same object. */
function isOlder(claim: ResourceClaim, other: ResourceClaim): boolean {
  return compareResourceVersions(claim.metadata.resourceVersion, other.metadata.resourceVersion) < 0;
}

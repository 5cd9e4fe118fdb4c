/**
 * Counters that devices of a pool share, such as the memory of a card that can be cut up: what is there, less what devices in use take.
 * As upstream, a device that several claims share takes counters only in the search that first takes it: later ones do not count it.
 */
import type { Device } from '../../api/gen/resource-v1.ts';
import { parseQuantity, type Quantity } from '../../apimachinery/quantity.ts';
import { type DevicePool, deviceKey } from './pools.ts';

export class PoolCounters {
  /** By set and name: `card-1/memory`. May be negative, where a driver has changed its mind. */
  readonly #left = new Map<string, Quantity>();

  constructor(pool: DevicePool, isInUse: (device: string) => boolean) {
    for (const [set, { counters }] of pool.counterSets)
      for (const [name, { value }] of Object.entries(counters)) this.#left.set(`${set}/${name}`, parseQuantity(value));
    for (const { spec } of [...pool.slices, ...pool.elsewhere])
      for (const device of spec.devices ?? [])
        if (isInUse(deviceKey(pool.driver, pool.name, device.name))) this.#change(device, -1);
  }

  /** False, and nothing is taken, unless there is enough of everything, of others' counters too. */
  take(device: Device): boolean {
    this.#change(device, -1);
    if ([...this.#left.values()].every(({ sign }) => sign >= 0)) return true;
    this.giveBack(device);
    return false;
  }

  giveBack(device: Device): void {
    this.#change(device, 1);
  }

  #change({ consumesCounters = [] }: Device, sign: 1 | -1): void {
    for (const { counterSet, counters } of consumesCounters) {
      for (const [name, { value }] of Object.entries(counters)) {
        const key = `${counterSet}/${name}`;
        const left = this.#left.get(key);
        if (left) this.#left.set(key, sign > 0 ? left.add(parseQuantity(value)) : left.sub(parseQuantity(value)));
      }
    }
  }
}

/**
 * Capacities of a device that several claims share: how much of each a request takes, by the device's policy, and whether it is left.
 * A request that says nothing takes the policy's default, else all of it.
 */
import type { CapacityRequestPolicy, Device, DeviceCapacity } from '../../api/gen/resource-v1.ts';
import { parseQuantity, type Quantity, quantityOf } from '../../apimachinery/quantity.ts';

/** Amounts by the name of the capacity. */
export type Consumed = ReadonlyMap<string, Quantity>;
export type Wanted = Readonly<Record<string, string>> | undefined;

export function consumedBy(wanted: Wanted = {}, { capacity = {} }: Device): Consumed {
  return new Map(Object.entries(capacity).map(([name, one]) => [name, taken(ownOf(wanted, name), one)]));
}

/** `inUse` holds what others have of it. */
export function hasCapacity(wanted: Wanted, device: Device, inUse: readonly (Consumed | undefined)[]): boolean {
  const { capacity = {} } = device;
  if (Object.keys(wanted ?? {}).some((name) => !Object.hasOwn(capacity, name))) return false;
  for (const [name, amount] of consumedBy(wanted, device)) {
    const { requestPolicy, value } = capacity[name]!;
    if (isAgainst(requestPolicy, amount)) return false;
    const total = inUse.reduce((sum, used) => add(sum, used?.get(name)), amount);
    if (total.compare(parseQuantity(value)) > 0) return false;
  }
  return true;
}

export function addConsumed(target: Map<string, Quantity>, consumed: Consumed, sign: 1 | -1): void {
  for (const [name, amount] of consumed) target.set(name, add(target.get(name), sign > 0 ? amount : amount.negate()));
}

const ownOf = (amounts: NonNullable<Wanted>, name: string) =>
  Object.hasOwn(amounts, name) ? amounts[name] : undefined;

const add = (a: Quantity | undefined, b: Quantity | undefined): Quantity =>
  a && b ? a.add(b) : (a ?? b ?? quantityOf(0));

function taken(asked: string | undefined, { requestPolicy, value }: DeviceCapacity): Quantity {
  if (asked === undefined) return parseQuantity(requestPolicy?.default ?? value);
  const amount = parseQuantity(asked);
  const { validRange, validValues } = requestPolicy ?? {};
  if (validRange) {
    const min = parseQuantity(validRange.min);
    if (amount.compare(min) < 0) return min;
    if (!validRange.step) return amount;
    const step = parseQuantity(validRange.step).value();
    const above = amount.value() - min.value();
    return quantityOf(min.value() + step * ((above + step - 1n) / step), 'BinarySI');
  }
  return validValues?.map(parseQuantity).find((valid) => amount.compare(valid) <= 0) ?? amount;
}

function isAgainst(policy: CapacityRequestPolicy | undefined, amount: Quantity): boolean {
  if (!policy || (policy.default !== undefined && amount.equals(parseQuantity(policy.default)))) return false;
  const { validRange, validValues = [] } = policy;
  if (validRange) {
    if (validRange.max !== undefined && amount.compare(parseQuantity(validRange.max)) > 0) return true;
    if (validRange.step === undefined) return false;
    return (amount.value() - parseQuantity(validRange.min).value()) % parseQuantity(validRange.step).value() !== 0n;
  }
  return validValues.length > 0 && !validValues.some((valid) => amount.equals(parseQuantity(valid)));
}

/**
 * What a Pod as a whole asks for and may use: the containers' sum, or what its initialisation needs where that is more; restartable
 * init containers (sidecars) run beside the rest, so they count on both sides. In exact quantities, as quotas and limit ranges state
 * them back to the user; `api/core/v1/pod-resources.ts` has the same rule in plain numbers, for what is added by the million.
 *
 *     containers 1 + 1, init 3                      -> 3
 *     sidecar 1, then init 3, then containers 2     -> max(1 + 2, 1 + 3) = 4
 */
import { isPodLevelResource } from '../../api/core/v1/pod-resources.ts';
import { isSidecar } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { parseQuantity, type Quantity } from '../../apimachinery/quantity.ts';

export type Amounts = ReadonlyMap<string, Quantity>;

export function amountsOf(list: Readonly<Record<string, string>> | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** Requests or limits of the whole Pod, without its overhead unless asked for. */
export function podAmounts(
  pod: Pod,
  of: 'requests' | 'limits',
  options: { readonly overhead?: boolean } = {},
): Map<string, Quantity> {
  const { spec } = pod;
  const total = new Map<string, Quantity>();
  for (const container of spec.containers) addTo(total, containerAmounts(container, of));
  const sidecars = new Map<string, Quantity>();
  const initial = new Map<string, Quantity>();
  for (const container of spec.initContainers ?? []) {
    const own = containerAmounts(container, of);
    if (isSidecar(container)) {
      addTo(total, own);
      addTo(sidecars, own);
      raiseTo(initial, sidecars);
    } else {
      addTo(own, sidecars);
      raiseTo(initial, own);
    }
  }
  raiseTo(total, initial);
  for (const [name, amount] of amountsOf((spec.resources as ResourceRequirements | undefined)?.[of])) {
    if (isPodLevelResource(name)) total.set(name, amount);
  }
  if (options.overhead) {
    for (const [name, amount] of amountsOf(spec.overhead)) {
      // Overhead raises a limit only where there is one.
      const present = total.get(name);
      if (present) total.set(name, present.add(amount));
      else if (of === 'requests') total.set(name, amount);
    }
  }
  return total;
}

function addTo(total: Map<string, Quantity>, more: Amounts): void {
  for (const [name, amount] of more) total.set(name, total.get(name)?.add(amount) ?? amount);
}

function containerAmounts(container: Container, of: 'requests' | 'limits'): Map<string, Quantity> {
  return amountsOf(container.resources?.[of]);
}

function raiseTo(total: Map<string, Quantity>, least: Amounts): void {
  for (const [name, amount] of least) {
    const present = total.get(name);
    if (!present || present.compare(amount) < 0) total.set(name, amount);
  }
}

/**
 * Quantities are kept to a thousandth: anything finer is rounded up when an object is read, so that all parts of the cluster
 * compute with the same number.
 */

import type { Draft } from '../../../apimachinery/meta.ts';
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import type { ResourceRequirements } from '../../gen/core-v1.ts';

/** A cheap look tells most quantities to be coarse enough: only decimals, exponents, micro and nano can be finer. */
const mayBeFiner = /[nu.]|[eE][-]/;

/** Rounds every quantity of a list up to a thousandth, in place. */
export function roundToMilli(quantities: Record<string, string> | undefined | null): void {
  if (!quantities) return;
  for (const [name, quantity] of Object.entries(quantities)) {
    if (typeof quantity !== 'string' || !mayBeFiner.test(quantity)) continue;
    const rounded = parseQuantity(quantity).roundUp(-3).toString();
    if (rounded !== quantity) quantities[name] = rounded;
  }
}

export function defaultResources(resources: Draft<ResourceRequirements> | undefined | null): void {
  roundToMilli(resources?.limits);
  roundToMilli(resources?.requests);
}

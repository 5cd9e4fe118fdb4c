/**
 * Whether a request fits into the quotas of its namespace, and what they have used if it goes through. Pure: quotas in, quotas out;
 * `plugins/resource-quota.ts` stores them.
 */
import { scopeRequirements } from '../../../api/core/v1/resource-quota.ts';
import type { ResourceQuota } from '../../../api/gen/core-v1.ts';
import { parseQuantity, type Quantity, zeroQuantity } from '../../../apimachinery/quantity.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { type Amounts, amountsOf } from '../pod-quantities.ts';
import { refusal } from '../refusal.ts';
import { type Covered, type LimitedResource, refuseUncovered } from './limited-resources.ts';
import { inScope, namesAbout, unstatedResources, usageOf } from './usage.ts';

/** What there is to hold the request against. */
export interface Charging {
  readonly nowMs: number;
  /** What may only be used where a quota covers it. */
  readonly limited?: readonly LimitedResource[] | undefined;
}

/** The quotas as they stand after the request; unchanged ones are the same objects. Throws the refusal. */
export function chargeQuotas(
  quotas: readonly ResourceQuota[],
  attributes: AdmissionAttributes,
  { nowMs, limited = [] }: Charging,
): readonly ResourceQuota[] {
  const { resource, object, oldObject, operation } = attributes;
  const concerned = quotas.filter((quota) => concerns(quota, attributes, object));
  for (const quota of concerned) refuseIncomplete(quota, attributes);
  if (concerned.length === 0 && limited.length === 0) return quotas;

  const usage = usageOf(resource, object, nowMs);
  const negative = [...usage].filter(([, amount]) => amount.sign < 0).map(([name]) => name);
  if (negative.length > 0) {
    throw refusal(attributes, `quota usage is negative for resource(s): ${negative.sort().join(',')}`);
  }
  // An update pays the difference, but only to quotas that already paid for the old object.
  const isUpdate = operation === 'UPDATE' && !!oldObject?.metadata.resourceVersion;
  const difference = isUpdate ? subtract(usage, usageOf(resource, oldObject, nowMs)) : usage;
  const deltaFor = (quota: ResourceQuota) => (isUpdate && concerns(quota, attributes, oldObject) ? difference : usage);
  // What takes nothing more than before needs no cover.
  const takes = concerned.length > 0 ? concerned.map(deltaFor) : [difference];
  if (takes.every((amounts) => [...amounts.values()].every((amount) => amount.isZero))) return quotas;
  refuseUncovered(limited, coverOf(quotas, concerned, attributes), { attributes, usage });
  return quotas.map((quota) => (concerned.includes(quota) ? charge(quota, deltaFor(quota), attributes) : quota));
}

/** A scope covers whether or not the rest of its quota fits the object. */
function coverOf(
  quotas: readonly ResourceQuota[],
  concerned: readonly ResourceQuota[],
  { resource, object }: AdmissionAttributes,
): Covered {
  return {
    names: new Set(concerned.flatMap((quota) => namesAbout(resource, Object.keys(quota.status?.hard ?? {})))),
    scopes: quotas.flatMap(scopeRequirements).filter((scope) => inScope(scope, resource, object)),
  };
}

function concerns(quota: ResourceQuota, { resource }: AdmissionAttributes, object: unknown): boolean {
  const names = namesAbout(resource, Object.keys(quota.status?.hard ?? {}));
  return names.length > 0 && scopeRequirements(quota).every((scope) => inScope(scope, resource, object));
}

function refuseIncomplete(quota: ResourceQuota, attributes: AdmissionAttributes): void {
  const { resource, object } = attributes;
  const names = namesAbout(resource, Object.keys(quota.status?.hard ?? {}));
  const unstated = unstatedResources(resource, object, names);
  if (unstated !== undefined) throw refusal(attributes, `failed quota: ${quota.metadata.name}: ${unstated}`);
  if (names.every((name) => quota.status?.used?.[name] !== undefined)) return;
  // The controller has not yet counted what is there.
  throw refusal(
    attributes,
    `status unknown for quota: ${quota.metadata.name}, resources: ${[...names].sort().join(',')}`,
  );
}

function charge(quota: ResourceQuota, delta: Amounts, attributes: AdmissionAttributes): ResourceQuota {
  const hard = amountsOf(quota.status?.hard);
  const used = amountsOf(quota.status?.used);
  const requested = new Map([...delta].filter(([name, amount]) => hard.has(name) && !amount.isZero));
  if (requested.size === 0) return quota;
  const total = (name: string) => (used.get(name) ?? zeroQuantity).add(requested.get(name) ?? zeroQuantity);
  const exceeded = [...requested.keys()]
    .filter((name) => requested.get(name)!.sign > 0 && total(name).compare(hard.get(name)!) > 0)
    .sort();
  if (exceeded.length > 0 && attributes.subresource !== 'status') {
    const list = (amounts: Amounts) => exceeded.map((name) => `${name}=${amounts.get(name) ?? zeroQuantity}`).join(',');
    throw refusal(
      attributes,
      `exceeded quota: ${quota.metadata.name}, requested: ${list(requested)}, used: ${list(used)}, limited: ${list(hard)}`,
    );
  }
  const after = { ...quota.status?.used };
  for (const name of requested.keys()) after[name] = total(name).toString();
  return { ...quota, status: { ...quota.status, used: after } };
}

/** Upstream never gives back by an update: the quota controller recounts what became free. */
function subtract(usage: Amounts, before: Amounts): Map<string, Quantity> {
  return new Map(
    [...usage].map(([name, amount]) => {
      const left = amount.sub(before.get(name) ?? parseQuantity('0'));
      return [name, left.sign < 0 ? zeroQuantity : left];
    }),
  );
}

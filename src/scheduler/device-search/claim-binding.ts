/**
 * Writes what was decided about a Pod's claims before the Pod is bound: the devices, and that the Pod may use them. Then waits until drivers
 * have made ready what must be made ready first (`bindingConditions`), as long as that may take.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { type AllocationResult, type ResourceClaim, resourceClaims } from '../../api/gen/resource-v1.ts';
import { protectionFinalizer } from '../../api/resource/pod-claims.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { isConflict, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { claimName } from './requests.ts';

export interface BindingContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const mostTries = 5;

/** The claim as it is then. A conflict is tried again on the newest claim, as long as nobody else has taken it. */
export async function bindClaim(
  pod: Pod,
  { claim, allocation }: { readonly claim: ResourceClaim; readonly allocation: AllocationResult | undefined },
  { client, clock, signal }: BindingContext,
): Promise<ResourceClaim> {
  let current = claim;
  for (let tries = 1; ; tries++) {
    try {
      return await write(pod, { claim: current, allocation }, { client, clock, signal });
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      if (!isConflict(error.cause) || tries === mostTries) throw error;
      const { namespace, name = '' } = claim.metadata;
      current = await client.get(resourceClaims, { namespace, name }, { signal }).catch((cause) => {
        throw new Error(`get updated claim ${claimName(claim)} after conflict: ${messageOf(cause)}`, { cause });
      });
    }
  }
}

class WriteFailed extends Error {}

async function write(
  pod: Pod,
  { claim, allocation }: { readonly claim: ResourceClaim; readonly allocation: AllocationResult | undefined },
  { client, clock, signal }: BindingContext,
): Promise<ResourceClaim> {
  const who = `claim ${claimName(claim)}`;
  const failed = (what: string) => (cause: unknown) => {
    throw new WriteFailed(`${what} claim ${claimName(claim)}: ${messageOf(cause)}`, { cause });
  };
  if (claim.metadata.deletionTimestamp) throw new Error(`${who} got deleted in the meantime`);
  let current = claim;
  if (allocation) {
    if (claim.status?.allocation) throw new Error(`${who} got allocated elsewhere in the meantime`);
    const { finalizers = [] } = claim.metadata;
    if (!finalizers.includes(protectionFinalizer)) {
      const metadata = { ...claim.metadata, finalizers: [...finalizers, protectionFinalizer] };
      current = await client
        .update(resourceClaims, { ...claim, metadata }, { signal })
        .catch(failed('add finalizer to'));
    }
  }
  const decided = allocation ?? current.status?.allocation;
  if (!decided) throw new Error(`${who} got deallocated elsewhere in the meantime`);
  const { name = '', uid = '' } = pod.metadata;
  const status = {
    ...current.status,
    allocation: { ...decided, allocationTimestamp: decided.allocationTimestamp ?? formatTime(clock.now()) },
    reservedFor: [...(current.status?.reservedFor ?? []), { resource: 'pods', name, uid }],
  };
  return client
    .updateStatus(resourceClaims, { ...current, status }, { signal })
    .catch(failed(allocation ? 'add allocation and reservation to' : 'add reservation to'));
}

/** Throws what a driver says went wrong. A claim without such conditions is ready. */
export function isReady(claim: ResourceClaim): boolean {
  const { allocation, devices = [] } = claim.status ?? {};
  if (!allocation) return false;
  for (const result of allocation.devices?.results ?? []) {
    const { bindingConditions = [], bindingFailureConditions = [], device, driver, pool } = result;
    if (bindingConditions.length === 0) continue;
    const told = devices.find((one) => one.device === device && one.driver === driver && one.pool === pool);
    if (!told) return false;
    const isTrue = (type: string) => told.conditions?.find((one) => one.type === type && one.status === 'True');
    const failure = bindingFailureConditions.map(isTrue).find((one) => one !== undefined);
    if (failure) {
      const why = `reason=${failure.reason}, message=${JSON.stringify(failure.message)}`;
      throw new Error(`device binding failed: claim=${claim.metadata.name}, ${why}`);
    }
    if (!bindingConditions.every(isTrue)) return false;
  }
  return true;
}

export function hasConditions({ status }: ResourceClaim): boolean {
  return (
    status?.allocation?.devices?.results?.some(({ bindingConditions = [] }) => bindingConditions.length > 0) ?? false
  );
}

/** Whether its devices should have been ready by now. */
export function isOverdue(claim: ResourceClaim, nowMs: number, timeoutMs: number): boolean {
  const at = claim.status?.allocation?.allocationTimestamp;
  return at !== undefined && hasConditions(claim) && Date.parse(at) + timeoutMs < nowMs;
}

export interface ReadinessSource {
  get(key: string): ResourceClaim | undefined;
  onChange(look: () => void): { remove(): void };
}

/** Resolves when all are ready; rejects with what went wrong, or when it takes too long. */
export function whenReady(
  claims: readonly ResourceClaim[],
  source: ReadinessSource,
  { clock, signal, timeoutMs }: Pick<BindingContext, 'clock' | 'signal'> & { readonly timeoutMs: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (error?: unknown) => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      registration.remove();
      if (error === undefined) resolve();
      else reject(error);
    };
    const onAbort = () => finish(signal.reason);
    const look = () => {
      try {
        for (const claim of claims) {
          const current = source.get(keyOf(claim));
          if (!current) return finish(new Error(`could not find ResourceClaim "${keyOf(claim)}"`));
          if (!isReady(current)) return;
        }
        finish();
      } catch (error) {
        finish(error);
      }
    };
    const timer = clock.after(timeoutMs, () => finish(new Error('device binding timeout: context deadline exceeded')));
    signal.addEventListener('abort', onAbort, { once: true });
    const registration = source.onChange(look);
    look();
  });
}

/**
 * ServiceCIDRs: makes each one ready for use, and lets one go only when no address would be left without a range. The allocator in
 * the API server takes addresses from ready ranges alone, so a range that is being deleted gets no new ones.
 */
import { type IPAddress, ipAddresses, type ServiceCIDR, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { type Cidr, cidrContains, cidrIncludes, parseCidr, parseIp } from '../../apimachinery/addresses.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import { formatTime, parseTime } from '../../apimachinery/time.ts';
import type { CauseNote } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';

const name = 'service-cidr-controller';
const finalizer = 'networking.k8s.io/service-cidr-finalizer';
/** For allocators that have not heard of the deletion yet. */
const deletionGraceMs = 10_000;
const managedByLabel = 'ipaddress.kubernetes.io/managed-by';

interface ReadyCondition {
  readonly type: 'Ready';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** What brings a ServiceCIDR further; `wait` ends the plan. */
export type ServiceCidrAction =
  | { readonly kind: 'addFinalizer' | 'removeFinalizer' }
  | { readonly kind: 'setCondition'; readonly condition: ReadyCondition }
  | { readonly kind: 'wait'; readonly forMs: number };

export interface ServiceCidrFacts {
  readonly ranges: readonly ServiceCIDR[];
  readonly addresses: readonly IPAddress[];
}

const ready: ReadyCondition = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: 'Kubernetes Service CIDR is ready',
};
const blocked: ReadyCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'Terminating',
  message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
};

export async function runServiceCidrController(context: ComponentContext): Promise<void> {
  const ranges = context.informers.of(serviceCIDRs);
  const addresses = context.informers.of(ipAddresses);
  const controller = createController(context, {
    name,
    maxRetries: 15,
    waitFor: [ranges, addresses],
    async reconcile(key: string): Promise<ReconcileResult | undefined> {
      const range = ranges.get(key);
      if (!range) return undefined;
      const facts = { ranges: ranges.list(), addresses: addresses.list() };
      for (const action of planServiceCidr(range, facts, context.clock.now())) {
        if (action.kind === 'wait')
          return { againAfterMs: action.forMs, causes: [graceUntil(context.clock.now() + action.forMs)] };
        await carryOut(context, range, action);
      }
      return undefined;
    },
  });
  // A range that comes or goes can free another one, as can an address that goes.
  controller.watchMapped(ranges, (range) => [
    range.metadata.name ?? '',
    ...ranges
      .list()
      .filter((other) => overlap(range, other))
      .map(({ metadata }) => metadata.name ?? ''),
  ]);
  controller.watchMapped(addresses, (address) =>
    rangesWith(address, ranges.list()).map(({ metadata }) => metadata.name ?? ''),
  );
  await controller.run();
}

function graceUntil(untilMs: number): CauseNote {
  const message = 'API servers that have not heard of the deletion yet may still give its addresses out';
  return { reason: 'WaitingForAllocators', message, untilMs };
}

export function planServiceCidr(range: ServiceCIDR, facts: ServiceCidrFacts, nowMs: number): ServiceCidrAction[] {
  const { deletionTimestamp, finalizers = [] } = range.metadata;
  const guarded = finalizers.includes(finalizer);
  if (!deletionTimestamp)
    return [...(guarded ? [] : [{ kind: 'addFinalizer' } as const]), ...conditionAction(range, ready)];
  if (!canGo(range, facts)) return conditionAction(range, blocked);
  const forMs = (parseTime(deletionTimestamp) ?? nowMs) + deletionGraceMs - nowMs;
  if (forMs > 0) return [{ kind: 'wait', forMs }];
  return guarded ? [{ kind: 'removeFinalizer' }] : [];
}

function conditionAction({ status }: ServiceCIDR, condition: ReadyCondition): ServiceCidrAction[] {
  const present = findCondition(status?.conditions, 'Ready');
  const same =
    present?.status === condition.status &&
    (present.reason ?? '') === condition.reason &&
    present.message === condition.message;
  return same ? [] : [{ kind: 'setCondition', condition }];
}

/** Whether others hold all of the range, or no address is in this one alone. */
function canGo(range: ServiceCIDR, { ranges, addresses }: ServiceCidrFacts): boolean {
  const others = ranges.filter(({ metadata }) => metadata.name !== range.metadata.name);
  const outer = others.flatMap(cidrsOf);
  if (cidrsOf(range).every((cidr) => outer.some((other) => cidrIncludes(other, cidr)))) return true;
  return !addresses.some((address) => {
    const holders = rangesWith(address, ranges);
    return holders.length === 1 && holders[0]!.metadata.name === range.metadata.name;
  });
}

/** Ranges that hold the address, if it is one that the allocator made. */
function rangesWith({ metadata }: IPAddress, ranges: readonly ServiceCIDR[]): readonly ServiceCIDR[] {
  const address = parseIp(metadata.name ?? '');
  if (!address || metadata.labels?.[managedByLabel] !== 'ipallocator.k8s.io') return [];
  return ranges.filter((range) => cidrsOf(range).some((cidr) => cidrContains(cidr, address)));
}

function overlap(a: ServiceCIDR, b: ServiceCIDR): boolean {
  return cidrsOf(a).some((one) => cidrsOf(b).some((other) => cidrIncludes(one, other) || cidrIncludes(other, one)));
}

function cidrsOf({ spec }: ServiceCIDR): readonly Cidr[] {
  return (spec?.cidrs ?? []).map(parseCidr).filter((cidr) => cidr !== undefined);
}

async function carryOut(
  { client, clock }: ComponentContext,
  { metadata }: ServiceCIDR,
  action: Exclude<ServiceCidrAction, { readonly kind: 'wait' }>,
): Promise<void> {
  const at = { name: metadata.name ?? '' };
  try {
    if (action.kind === 'setCondition') {
      const condition = { ...action.condition, lastTransitionTime: formatTime(clock.now()) };
      const body = { metadata: at, status: { conditions: [condition] } };
      const options = { subresource: 'status', fieldManager: name, force: true };
      await client.patch(serviceCIDRs, at, { type: 'apply', body }, options);
      return;
    }
    const change = action.kind === 'addFinalizer' ? 'finalizers' : '$deleteFromPrimitiveList/finalizers';
    await client.patch(serviceCIDRs, at, { type: 'strategic', body: { metadata: { [change]: [finalizer] } } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

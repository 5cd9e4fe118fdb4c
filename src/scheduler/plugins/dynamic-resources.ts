/**
 * Devices decide where a Pod can run: those that its ResourceClaims have already, and for claims without any, whether a node can reach
 * devices that nobody has. The decision counts from the moment it is made; before the Pod is bound it is written into the claims, with
 * the Pod among those who use them. A claim that keeps its only user from every node is taken its devices again.
 *
 * Loaded when the first Pod asks for devices.
 */
import { matchesNodeSelector } from '../../api/core/v1/node-affinity.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import {
  type AllocationResult,
  type Device,
  type DeviceClass,
  deviceClasses,
  type ResourceClaim,
  type ResourceSlice,
  resourceClaims,
  resourceSlices,
} from '../../api/gen/resource-v1.ts';
import { checkOwner, claimNameOf, isReservedFor } from '../../api/resource/pod-claims.ts';
import { type DeviceMatcher, deviceMatcher } from '../../api/resource/selector-expression.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import type { Informer } from '../../reconcile/informer.ts';
import type { NodeInfo } from '../cluster-state.ts';
import { allocationResult } from '../device-search/allocation-result.ts';
import { bindClaim, hasConditions, isOverdue, isReady, whenReady } from '../device-search/claim-binding.ts';
import { ClaimLedger } from '../device-search/claim-ledger.ts';
import { attemptBudget, type SearchBudget, SearchTooLong, searchDevices } from '../device-search/device-search.ts';
import { SliceIndex } from '../device-search/pools.ts';
import { claimName } from '../device-search/requests.ts';
import {
  normalizeByHighest,
  type PreparedPlugin,
  type Rejection,
  SchedulingFailure,
  type SchedulingPlugin,
} from '../framework.ts';

const name = 'DynamicResources';
/** How long drivers may take to make devices ready. */
const bindingTimeoutMs = 600_000;
const mostAlternatives = 8;
/** Compiled expressions that are kept. */
const mostMatchers = 100;

type Sources = Pick<ComponentContext, 'client' | 'clock' | 'informers' | 'log' | 'random' | 'signal'> & {
  /** Something changed that a Pod may have waited for. */
  onChange(): void;
  event(pod: Pod, reason: string, message: string): void;
};

export interface DevicePlugin extends SchedulingPlugin {
  /** Resolves when all that there is is known; before, it decides nothing rightly. */
  whenKnown(): Promise<void>;
  prepare(pod: Pod): PreparedPlugin | Rejection | undefined;
}

/** Follows what there is from then on, so one is enough. */
export function dynamicResources(sources: Sources): DevicePlugin {
  const plugin = new DynamicResources(sources);
  return {
    whenKnown: () => plugin.whenKnown(),
    name,
    weight: 2,
    helpedBy: [],
    mayEnqueue: (pod) => plugin.mayEnqueue(pod),
    prepare: (pod) => plugin.prepare(pod),
  };
}

const reject = (reason: string): Rejection => ({ plugin: name, reasons: [reason], resolvable: false });

class DynamicResources {
  readonly #sources: Sources;
  readonly #ledger: ClaimLedger;
  readonly #claims: Informer<ResourceClaim>;
  readonly #slices: Informer<ResourceSlice>;
  readonly #classes: Informer<DeviceClass>;
  readonly #matchers = new Map<string, DeviceMatcher>();
  #index: SliceIndex | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
    const { informers, onChange } = sources;
    this.#claims = informers.of(resourceClaims);
    this.#slices = informers.of(resourceSlices);
    this.#classes = informers.of(deviceClasses);
    this.#ledger = new ClaimLedger(this.#claims);
    this.#claims.onChange({ added: onChange, updated: onChange, deleted: onChange });
    this.#classes.onChange({ added: onChange, updated: onChange });
    const sliceChanged = () => {
      this.#index = undefined;
      onChange();
    };
    this.#slices.onChange({ added: sliceChanged, updated: sliceChanged, deleted: sliceChanged });
  }

  async whenKnown(): Promise<void> {
    const { signal } = this.#sources;
    await Promise.all([this.#claims, this.#slices, this.#classes].map((informer) => informer.whenSynced(signal)));
  }

  mayEnqueue(pod: Pod): Rejection | undefined {
    const claims = this.#claimsOf(pod);
    return 'reasons' in claims ? claims : undefined;
  }

  prepare(pod: Pod): PreparedPlugin | Rejection | undefined {
    if ((pod.spec.resourceClaims?.length ?? 0) === 0) return undefined;
    const claims = this.#claimsOf(pod);
    if ('reasons' in claims) return claims;
    if (claims.length === 0) return undefined;
    for (const claim of claims) {
      if (claim.status?.allocation) continue;
      if (this.#ledger.isPending(claim))
        return reject(`resource claim ${claimName(claim)} is in the process of being allocated`);
      const missing = this.#missingClass(claim);
      if (missing) return missing;
    }
    return new ClaimedPod(pod, claims, {
      ...this.#sources,
      ledger: this.#ledger,
      search: (node, wanted, budget) => this.#search(node, wanted, budget),
      onClaim: (look) => this.#claims.onChange({ updated: look, deleted: look }),
    });
  }

  #claimsOf(pod: Pod): readonly ResourceClaim[] | Rejection {
    const claims: ResourceClaim[] = [];
    try {
      for (const entry of pod.spec.resourceClaims ?? []) {
        const { name: claimed, isOwn } = claimNameOf(pod, entry);
        if (claimed === undefined) continue;
        const key = `${pod.metadata.namespace}/${claimed}`;
        const claim = this.#ledger.get(key);
        if (!claim) return reject(`could not find ResourceClaim "${key}"`);
        if (claim.metadata.deletionTimestamp)
          return reject(`resourceclaim ${JSON.stringify(claimed)} is being deleted`);
        if (isOwn) checkOwner(pod, claim);
        claims.push(claim);
      }
    } catch (error) {
      return reject(messageOf(error));
    }
    return claims;
  }

  #missingClass({ spec }: ResourceClaim): Rejection | undefined {
    for (const { name: request, exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
      const wanted = exactly
        ? [[request, exactly.deviceClassName] as const]
        : firstAvailable.map((one) => [`${request}/${one.name}`, one.deviceClassName] as const);
      const missing = wanted.find(([, deviceClass]) => !this.#classes.get(deviceClass));
      if (missing) return reject(`request ${missing[0]}: device class ${missing[1]} does not exist`);
    }
    return undefined;
  }

  #search(
    { name: nodeName, node }: NodeInfo,
    claims: readonly ResourceClaim[],
    budget: SearchBudget,
  ): readonly AllocationResult[] | Rejection {
    this.#index ??= new SliceIndex(this.#slices.list());
    try {
      const outcome = searchDevices(claims, {
        node,
        pools: this.#index.poolsFor(node),
        inUse: this.#ledger,
        budget,
        classOf: (deviceClass) => this.#classes.get(deviceClass),
        matcherOf: (expression) => this.#matcherOf(expression),
      });
      if (!outcome.solutions) return reject(outcome.reason);
      return outcome.solutions.map((solution) => allocationResult(solution, node, this.#sources.random));
    } catch (error) {
      const isTooLong = error instanceof SearchTooLong;
      const message = isTooLong ? `node ${nodeName}: timed out trying to allocate devices` : messageOf(error);
      throw new SchedulingFailure(`running "${name}" filter plugin: ${message}`, { cause: error });
    }
  }

  #matcherOf(expression: string): DeviceMatcher {
    const known = this.#matchers.get(expression);
    if (known) return known;
    const matcher = remembered(deviceMatcher(expression));
    const [oldest] = this.#matchers.keys();
    if (this.#matchers.size >= mostMatchers && oldest !== undefined) this.#matchers.delete(oldest);
    this.#matchers.set(expression, matcher);
    return matcher;
  }
}

/** A device says the same to each node that can reach it, in each attempt, until its driver publishes another. */
function remembered(matcher: DeviceMatcher): DeviceMatcher {
  const answers = new WeakMap<Device, boolean>();
  return (driver, device, onCost) => {
    const answer = answers.get(device) ?? matcher(driver, device, onCost);
    answers.set(device, answer);
    return answer;
  };
}

interface ClaimedPodSources extends Sources {
  readonly ledger: ClaimLedger;
  search(
    node: NodeInfo,
    claims: readonly ResourceClaim[],
    budget: SearchBudget,
  ): readonly AllocationResult[] | Rejection;
  onClaim(look: () => void): { remove(): void };
}

/** One Pod in one attempt. */
class ClaimedPod implements PreparedPlugin {
  readonly #pod: Pod;
  readonly #sources: ClaimedPodSources;
  readonly #budget = attemptBudget();
  /** Without devices so far. */
  readonly #wanting: readonly ResourceClaim[];
  #claims: readonly ResourceClaim[];
  /** By node. */
  readonly #found = new Map<string, readonly AllocationResult[]>();
  /** Have devices that some node cannot use, or that failed to become ready. */
  readonly #unavailable = new Set<ResourceClaim>();
  #decided: ReadonlyMap<ResourceClaim, AllocationResult> = new Map();

  constructor(pod: Pod, claims: readonly ResourceClaim[], sources: ClaimedPodSources) {
    this.#pod = pod;
    this.#claims = claims;
    this.#sources = sources;
    this.#wanting = claims.filter(({ status }) => !status?.allocation);
  }

  filter(node: NodeInfo): Rejection | undefined {
    const unavailable = this.#claims.filter((claim) => claim.status?.allocation && !this.#isUsable(claim, node));
    if (this.#wanting.length > 0) {
      const found = this.#sources.search(node, this.#wanting, this.#budget);
      if ('reasons' in found) return found;
      this.#found.set(node.name, found);
    }
    for (const claim of unavailable) this.#unavailable.add(claim);
    return unavailable.length > 0 ? reject('resourceclaim not available on the node') : undefined;
  }

  #isUsable(claim: ResourceClaim, { node }: NodeInfo): boolean {
    const selector = claim.status?.allocation?.nodeSelector;
    if (selector && !matchesNodeSelector(selector, node)) return false;
    try {
      return isReady(claim) || !isOverdue(claim, this.#sources.clock.now(), bindingTimeoutMs);
    } catch {
      return false;
    }
  }

  /** Better where earlier alternatives were to be had. */
  score({ name: nodeName }: NodeInfo): number {
    let score = 0;
    const found = this.#found.get(nodeName) ?? [];
    for (const [index, claim] of this.#wanting.entries()) {
      const given = new Set(found[index]?.devices?.results?.map(({ request }) => request));
      for (const { name: request, firstAvailable = [] } of claim.spec.devices?.requests ?? [])
        for (const [place, alternative] of firstAvailable.entries())
          if (given.has(`${request}/${alternative.name}`)) score += mostAlternatives - place;
    }
    return score;
  }

  normalize(scores: Parameters<NonNullable<PreparedPlugin['normalize']>>[0]): void {
    normalizeByHighest(scores, false);
  }

  reserve(node: NodeInfo): void {
    const found = this.#found.get(node.name) ?? [];
    this.#decided = new Map(this.#wanting.map((claim, index) => [claim, found[index]!]));
    for (const [claim, allocation] of this.#decided) this.#sources.ledger.decide(claim, allocation);
  }

  async beforeBind(node: NodeInfo, signal: AbortSignal): Promise<void> {
    const { client, clock, event, ledger, onClaim } = this.#sources;
    const bound: ResourceClaim[] = [];
    for (const claim of this.#claims) {
      if (isReservedFor(claim, this.#pod)) {
        bound.push(claim);
        continue;
      }
      const written = await bindClaim(
        this.#pod,
        { claim, allocation: this.#decided.get(claim) },
        { client, clock, signal },
      );
      ledger.wrote(written);
      bound.push(written);
      this.#claims = this.#claims.map((one) => (one === claim ? written : one));
    }
    if (!bound.some(hasConditions)) return;
    event(this.#pod, 'BindingConditionsPending', `waiting for binding conditions for device on node ${node.name}`);
    const source = { get: (key: string) => ledger.get(key), onChange: onClaim };
    await whenReady(bound, source, { clock, signal, timeoutMs: bindingTimeoutMs });
  }

  /** The Pod was not bound: its claims are not its any more. */
  async unreserve(): Promise<void> {
    const { client, ledger, log, signal } = this.#sources;
    for (const claim of this.#decided.keys()) ledger.takeBack(claim);
    for (const claim of this.#claims.filter((one) => isReservedFor(one, this.#pod))) {
      const { namespace, name: claimed = '', uid } = claim.metadata;
      const body = {
        metadata: { uid },
        status: { reservedFor: [{ $patch: 'delete', uid: this.#pod.metadata.uid }] },
      };
      const ref = { namespace, name: claimed };
      await client
        .patch(resourceClaims, ref, { type: 'strategic', body }, { subresource: 'status', signal })
        .catch((error) => log.warn('a claim stays reserved', { claim: claimName(claim), error: messageOf(error) }));
    }
  }

  /** Whether others could go where this Pod's claims keep it from going. */
  whenNowhere(): string {
    const { client, log, signal, ledger } = this.#sources;
    for (const claim of this.#unavailable) {
      const current = ledger.get(keyOf(claim));
      if (current?.metadata.uid !== claim.metadata.uid || !current?.status?.allocation) continue;
      const users = current.status.reservedFor ?? [];
      if (users.some(({ uid }) => uid !== this.#pod.metadata.uid)) continue;
      const status = { ...current.status, reservedFor: undefined, allocation: undefined, devices: undefined };
      client.updateStatus(resourceClaims, { ...current, status }, { signal }).then(
        (written) => ledger.wrote(written),
        (error) => log.warn('a claim keeps its devices', { claim: claimName(claim), error: messageOf(error) }),
      );
      return 'deallocation of ResourceClaim completed';
    }
    return 'still not schedulable';
  }
}

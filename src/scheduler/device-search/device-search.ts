/**
 * Finds devices for claims on one node: claim by claim, request by request, device by device, the first that fits, going back where no
 * further one can be had. The first whole solution is taken. Within a request devices are only taken in the order of the pools, for
 * which of two equal ones comes first makes no difference. How much may be looked at is limited, since this is a search through all
 * combinations.
 *
 * Length: all steps of the search work on one state, which the steps back restore.
 */

import type { Node } from '../../api/gen/core-v1.ts';
import type { Device, DeviceTaint, ResourceClaim, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type { DeviceMatcher } from '../../api/resource/selector-expression.ts';
import type { Quantity } from '../../apimachinery/quantity.ts';
import { messageOf } from '../../apimachinery/status.ts';
import { addConsumed, type Consumed, consumedBy, hasCapacity } from './capacity.ts';
import { type Candidate, type Constraint, constraintOf } from './constraints.ts';
import { PoolCounters } from './counters.ts';
import { type DevicePool, deviceKey, poolKey, reaches } from './pools.ts';
import { type ClaimRequest, claimName, type RequestReading, requestsOf, type WantedDevices } from './requests.ts';

/** What is taken already, in the whole cluster. Devices by `deviceKey`. */
export interface DevicesInUse {
  has(device: string): boolean;
  /** Of a device that several share; undefined where nobody has any of it. */
  consumed(device: string): Consumed | undefined;
}

/** What is left of what one attempt to place a Pod may look at, on all nodes together. */
export interface SearchBudget {
  looks: number;
  cost: number;
}

export interface SearchContext {
  readonly node: Node;
  readonly pools: readonly DevicePool[];
  readonly inUse: DevicesInUse;
  readonly budget: SearchBudget;
  readonly classOf: RequestReading['classOf'];
  matcherOf(expression: string): DeviceMatcher;
}

export interface TakenDevice {
  readonly wanted: WantedDevices;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  /** Set where the device is shared. */
  readonly consumed: Consumed | undefined;
}

/** Of one claim, with what was chosen for each of its requests. */
export interface ClaimSolution {
  readonly claim: ResourceClaim;
  readonly devices: readonly TakenDevice[];
  readonly chosen: readonly WantedDevices[];
}

export type SearchOutcome =
  | { readonly solutions: readonly ClaimSolution[] }
  /** Not on this node. */
  | { readonly solutions: undefined; readonly reason: string };

/** Thrown where the search is given up. */
export class SearchTooLong extends Error {}

/** As many as a claim's status holds. */
const mostDevices = 32;
/** Of devices looked at and steps taken, over all the steps back. */
const mostLooks = 200_000;
/** Of all evaluations of expressions together. */
const mostCost = 2_000_000;
/** As many nodes may take all that one may. */
const mostLongSearches = 50;

export const attemptBudget = (): SearchBudget => ({
  looks: mostLooks * mostLongSearches,
  cost: mostCost * mostLongSearches,
});

/** Throws what is wrong with a claim or a class wherever it is tried. */
export function searchDevices(claims: readonly ResourceClaim[], context: SearchContext): SearchOutcome {
  return new DeviceSearch(claims, context).run();
}

interface Listed {
  readonly pool: DevicePool;
  readonly slice: ResourceSlice;
  readonly device: Device;
  readonly key: string;
}

interface ClaimState {
  readonly claim: ResourceClaim;
  readonly requests: readonly ClaimRequest[];
  readonly constraints: readonly Constraint[];
  readonly devices: TakenDevice[];
  readonly chosen: WantedDevices[];
}

/** What a step is to find, and the place in the list where it begins. */
interface Step {
  readonly claim: number;
  readonly request: number;
  /** Set once an alternative is being tried. */
  readonly wanted?: WantedDevices;
  readonly taken: number;
  readonly from: number;
}

/** `tooMany`: no devices after this one would do, for the claim's status cannot hold them. */
type Found = 'yes' | 'no' | 'tooMany';

class DeviceSearch {
  readonly #context: SearchContext;
  readonly #claims: readonly ClaimState[];
  /** Of the pools that can be taken from, in their order. */
  readonly #listed: readonly Listed[];
  readonly #selectable = new Map<WantedDevices, Map<string, boolean>>();
  readonly #all = new Map<WantedDevices, readonly Listed[]>();
  readonly #counters = new Map<string, PoolCounters>();
  /** Taken by this search: which claims have the device. */
  readonly #taken = new Map<string, Set<number>>();
  readonly #consumed = new Map<string, { readonly amounts: Map<string, Quantity>; holders: number }>();
  #looks = 0;
  #cost = 0;

  constructor(claims: readonly ResourceClaim[], context: SearchContext) {
    this.#context = context;
    this.#listed = context.pools
      .filter(({ isIncomplete, isInvalid }) => !isIncomplete && !isInvalid)
      .flatMap(listDevices);
    this.#claims = claims.map((claim) => this.#stateOf(claim));
  }

  #stateOf(claim: ResourceClaim): ClaimState {
    const requests = requestsOf(claim, {
      classOf: this.#context.classOf,
      onEach: (wanted) => void this.#countOf(claim, wanted),
    });
    this.#checkSize(claim, requests);
    const constraints = (claim.spec.devices?.constraints ?? []).map((constraint, index) => {
      const known = constraintOf(constraint);
      if (known) return known;
      const problem = 'empty constraint (unsupported constraint type?)';
      throw new Error(`claim ${claimName(claim)}, constraint #${index}: ${problem}`);
    });
    return { claim, requests, constraints, devices: [], chosen: [] };
  }

  run(): SearchOutcome {
    if (this.#step({ claim: 0, request: 0, taken: 0, from: 0 }) !== 'yes') {
      const isInvalid = this.#context.pools.some((pool) => pool.isInvalid);
      const reason = isInvalid ? 'invalid resource pools were encountered' : 'cannot allocate all claims';
      return { solutions: undefined, reason };
    }
    return { solutions: this.#claims.map(({ claim, devices, chosen }) => ({ claim, devices, chosen })) };
  }

  #checkSize(claim: ResourceClaim, requests: readonly ClaimRequest[]): void {
    let least = 0;
    for (const { choices } of requests) least += Math.min(...choices.map((wanted) => this.#countOf(claim, wanted)));
    if (least <= mostDevices) return;
    const problem = `number of requested devices ${least} exceeds the claim limit of ${mostDevices}`;
    throw new Error(`claim ${claimName(claim)}: ${problem}`);
  }

  #countOf(claim: ResourceClaim, wanted: WantedDevices): number {
    return wanted.mode === 'All' ? this.#allOf(claim, wanted).length : wanted.count;
  }

  /** Those that a request for all devices means. */
  #allOf(claim: ResourceClaim, wanted: WantedDevices): readonly Listed[] {
    const known = this.#all.get(wanted);
    if (known) return known;
    const where = `claim ${claimName(claim)}, request ${wanted.alternative ?? wanted.request}`;
    const all = this.#context.pools.flatMap((pool) => {
      const what = pool.isIncomplete ? 'currently being updated' : pool.isInvalid ? 'currently invalid' : undefined;
      if (what) throw new Error(`${where}: asks for all devices, but resource pool ${poolKey(pool)} is ${what}`);
      return listDevices(pool).filter((one) => this.#isSelectable(claim, wanted, one) && this.#isLeft(wanted, one));
    });
    this.#all.set(wanted, all);
    return all;
  }

  #look(): void {
    if (++this.#looks > mostLooks || --this.#context.budget.looks < 0) throw new SearchTooLong();
  }

  #step({ claim: index, request, taken, from, wanted }: Step): Found {
    this.#look();
    const state = this.#claims[index];
    if (!state) return 'yes';
    const current = state.requests[request];
    if (!current) {
      // Too many for a later claim is no reason to look no further here: with other devices it may need fewer.
      return this.#step({ claim: index + 1, request: 0, taken: 0, from: 0 }) === 'yes' ? 'yes' : 'no';
    }
    if (!wanted) return this.#choose(state, current, { claim: index, request });
    const count = this.#countOf(state.claim, wanted);
    if (wanted.mode === 'All' && count === 0) return 'no';
    if (taken >= count) return this.#step({ claim: index, request: request + 1, taken: 0, from: 0 });
    if (state.devices.length + count - taken > mostDevices) return 'tooMany';
    const next = { claim: index, request, wanted, taken: taken + 1 };
    if (wanted.mode === 'All')
      return this.#takeNext(state, this.#allOf(state.claim, wanted)[taken]!, { ...next, from: 0 });
    for (let place = from; place < this.#listed.length; place++) {
      this.#look();
      const one = this.#listed[place]!;
      if (!this.#isFree(wanted, one, index) || !this.#isSelectable(state.claim, wanted, one)) continue;
      if (!this.#isLeft(wanted, one)) continue;
      const found = this.#takeNext(state, one, { ...next, from: place + 1 });
      if (found !== 'no') return found;
    }
    return 'no';
  }

  #choose(state: ClaimState, { choices }: ClaimRequest, at: Pick<Step, 'claim' | 'request'>): Found {
    let outcome: Found = 'tooMany';
    for (const wanted of choices) {
      state.chosen[at.request] = wanted;
      const found = this.#step({ ...at, wanted, taken: 0, from: 0 });
      if (found === 'yes') return found;
      if (found === 'no') outcome = 'no';
    }
    return outcome;
  }

  #takeNext(state: ClaimState, one: Listed, next: Step & Pick<Required<Step>, 'wanted'>): Found {
    const giveBack = this.#take(state, one, next);
    if (!giveBack) return 'no';
    const found = this.#step(next);
    if (found !== 'yes') giveBack();
    return found;
  }

  #isFree({ adminAccess }: WantedDevices, { device, key }: Listed, claim: number): boolean {
    if (adminAccess) return device.allowMultipleAllocations === true || !this.#taken.get(key)?.has(claim);
    return !this.#context.inUse.has(key) && !this.#taken.has(key);
  }

  /** Whether the node reaches it, and class and request want it. */
  #isSelectable(claim: ResourceClaim, wanted: WantedDevices, one: Listed): boolean {
    const known = this.#selectable.get(wanted) ?? new Map<string, boolean>();
    const answer = known.get(one.key) ?? this.#select(claim, wanted, one);
    this.#selectable.set(wanted, known.set(one.key, answer));
    return answer;
  }

  #select(claim: ResourceClaim, { deviceClass, selectors }: WantedDevices, { device, pool, slice }: Listed): boolean {
    const sets = [
      [`class ${deviceClass.metadata.name}`, deviceClass.spec.selectors ?? []],
      [`claim ${claimName(claim)}`, selectors],
    ] as const;
    for (const [who, list] of sets) {
      for (const [index, { cel }] of list.entries()) {
        try {
          if (!this.#matches(cel?.expression ?? '', pool.driver, device)) return false;
        } catch (error) {
          if (error instanceof SearchTooLong) throw error;
          throw new Error(`${who}: selector #${index}: ${messageOf(error)}`, { cause: error });
        }
      }
    }
    return slice.spec.perDeviceNodeSelection !== true || reaches(device, this.#context.node);
  }

  #matches(expression: string, driver: string, device: Device): boolean {
    const isMatch = this.#context.matcherOf(expression)(driver, device, (cost) => {
      this.#cost += cost;
      this.#context.budget.cost -= cost;
    });
    if (this.#cost > mostCost || this.#context.budget.cost < 0) throw new SearchTooLong();
    return isMatch;
  }

  #isLeft({ capacity }: WantedDevices, { device, key }: Listed): boolean {
    return hasCapacity(capacity, device, [this.#context.inUse.consumed(key), this.#consumed.get(key)?.amounts]);
  }

  /** Takes the device, and says how to give it back; undefined where it cannot be had. */
  #take(state: ClaimState, one: Listed, { claim, wanted }: Step & { wanted: WantedDevices }) {
    const { device, key, pool, slice } = one;
    const isShared = device.allowMultipleAllocations === true;
    if (!this.#isFree(wanted, one, claim)) return undefined;
    if ((device.taints ?? []).some((taint) => isInTheWay(taint, wanted))) return undefined;
    const counters = this.#usesCounters(one) ? this.#countersOf(pool) : undefined;
    if (counters?.take(device) === false) return undefined;
    const candidate: Candidate = {
      driver: pool.driver,
      device,
      request: wanted.request,
      subRequest: wanted.alternative,
    };
    const objecting = state.constraints.findIndex((constraint) => !constraint.add(candidate));
    const added = objecting < 0 ? state.constraints : state.constraints.slice(0, objecting);
    const giveBack = () => {
      counters?.giveBack(device);
      for (const constraint of added) constraint.remove(candidate);
    };
    if (objecting >= 0 || !this.#isLeft(wanted, one)) {
      giveBack();
      if (objecting < 0 || wanted.mode !== 'All') return undefined;
      const problem = `cannot add device ${key} because a claim constraint would not be satisfied`;
      throw new Error(`claim ${claimName(state.claim)}, request ${wanted.alternative ?? wanted.request}: ${problem}`);
    }
    const consumed = isShared ? consumedBy(wanted.capacity, device) : undefined;
    this.#note(key, claim, consumed);
    state.devices.push({ wanted, driver: pool.driver, pool: pool.name, device, slice, consumed });
    return () => {
      state.devices.pop();
      this.#forget(key, claim, consumed);
      giveBack();
    };
  }

  /** Those who share a device use its counters once. */
  #usesCounters({ device, key }: Listed): boolean {
    if ((device.consumesCounters?.length ?? 0) === 0) return false;
    const isUsed = this.#context.inUse.consumed(key) !== undefined || this.#consumed.has(key);
    return device.allowMultipleAllocations !== true || !isUsed;
  }

  #note(key: string, claim: number, consumed: Consumed | undefined): void {
    if (!consumed) {
      this.#taken.set(key, (this.#taken.get(key) ?? new Set()).add(claim));
      return;
    }
    const entry = this.#consumed.get(key) ?? { amounts: new Map(), holders: 0 };
    addConsumed(entry.amounts, consumed, 1);
    entry.holders++;
    this.#consumed.set(key, entry);
  }

  #forget(key: string, claim: number, consumed: Consumed | undefined): void {
    if (!consumed) {
      const holders = this.#taken.get(key);
      holders?.delete(claim);
      if (holders?.size === 0) this.#taken.delete(key);
      return;
    }
    const entry = this.#consumed.get(key)!;
    addConsumed(entry.amounts, consumed, -1);
    if (--entry.holders === 0) this.#consumed.delete(key);
  }

  #countersOf(pool: DevicePool): PoolCounters {
    const key = poolKey(pool);
    const { inUse } = this.#context;
    const counters = this.#counters.get(key) ?? new PoolCounters(pool, (device) => inUse.has(device));
    this.#counters.set(key, counters);
    return counters;
  }
}

function listDevices(pool: DevicePool): Listed[] {
  return pool.slices.flatMap((slice) =>
    (slice.spec.devices ?? []).map((device) => ({
      pool,
      slice,
      device,
      key: deviceKey(pool.driver, pool.name, device.name),
    })),
  );
}

/** Of effects that nobody knows none is in the way. */
function isInTheWay(taint: DeviceTaint, { tolerations = [] }: WantedDevices): boolean {
  if (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') return false;
  return !tolerations.some(({ effect, key, operator, value }) => {
    if ((effect && effect !== taint.effect) || (key && key !== taint.key)) return false;
    return operator === 'Exists' || ((operator ?? 'Equal') === 'Equal' && (value ?? '') === (taint.value ?? ''));
  });
}

/**
 * The pools of devices that a node can reach, from the ResourceSlices that drivers publish. A pool is its newest generation; it is
 * incomplete while slices of that are missing, and invalid when its slices contradict each other: nothing is taken from either. Pools and
 * slices go by their names, so that drivers can say what is taken first; pools with devices that must be made ready come last.
 */
import { matchesNodeSelector } from '../../api/core/v1/node-affinity.ts';
import type { Node, NodeSelector } from '../../api/gen/core-v1.ts';
import type { CounterSet, Device, ResourceSlice } from '../../api/gen/resource-v1.ts';

export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  readonly isIncomplete: boolean;
  readonly isInvalid: boolean;
  /** With devices that the node may reach. */
  readonly slices: readonly ResourceSlice[];
  /** Whose devices use up the same counters. */
  readonly elsewhere: readonly ResourceSlice[];
  readonly counterSets: ReadonlyMap<string, CounterSet>;
}

export interface NodePlace {
  readonly nodeName?: string | undefined;
  readonly allNodes?: boolean | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
}

export const poolKey = ({ driver, name }: Pick<DevicePool, 'driver' | 'name'>): string => `${driver}/${name}`;

/** Of a device wherever it is: names of drivers and devices have no slashes. */
export const deviceKey = (driver: string, pool: string, device: string): string => `${driver}/${pool}/${device}`;

const devicesOf = ({ spec }: ResourceSlice): readonly Device[] => spec.devices ?? [];
const hasCounters = ({ spec }: ResourceSlice): boolean => (spec.sharedCounters?.length ?? 0) > 0;
const sameText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export function reaches({ nodeName, allNodes, nodeSelector }: NodePlace, node: Node): boolean {
  if (nodeName) return node.metadata.name === nodeName;
  return allNodes === true || (nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node));
}

/** All slices of the cluster, found by node and by pool; made anew when one changes. */
export class SliceIndex {
  readonly #onNode = new Map<string, ResourceSlice[]>();
  readonly #shared: ResourceSlice[] = [];
  readonly #byPool = new Map<string, ResourceSlice[]>();

  constructor(slices: readonly ResourceSlice[]) {
    for (const slice of slices) {
      const { nodeName } = slice.spec;
      if (nodeName && !hasCounters(slice)) addTo(this.#onNode, nodeName, slice);
      else this.#shared.push(slice);
      addTo(this.#byPool, poolKeyOf(slice), slice);
    }
  }

  poolsFor(node: Node): readonly DevicePool[] {
    const near = [...(this.#onNode.get(node.metadata.name ?? '') ?? []), ...this.#shared];
    const relevant = near.filter((slice) => isRelevant(slice, node));
    const plain: DevicePool[] = [];
    const withConditions: DevicePool[] = [];
    for (const [key, slices] of Map.groupBy(relevant, poolKeyOf)) {
      const pool = poolOf(newest(slices), this.#byPool.get(key) ?? []);
      if (pool) (needsConditions(pool) ? withConditions : plain).push(pool);
    }
    return [...plain.sort(byName), ...withConditions.sort(byName)];
  }
}

function poolKeyOf({ spec }: ResourceSlice): string {
  return poolKey({ driver: spec.driver, name: spec.pool.name });
}

function addTo(map: Map<string, ResourceSlice[]>, key: string, slice: ResourceSlice): void {
  const list = map.get(key);
  if (list) list.push(slice);
  else map.set(key, [slice]);
}

/** Counters are needed wherever devices that use them are. */
function isRelevant(slice: ResourceSlice, node: Node): boolean {
  if (hasCounters(slice)) return true;
  const { nodeName, allNodes, nodeSelector, perDeviceNodeSelection } = slice.spec;
  if (nodeName || allNodes || nodeSelector) return reaches(slice.spec, node);
  return perDeviceNodeSelection === true && devicesOf(slice).some((device) => reaches(device, node));
}

function newest(slices: readonly ResourceSlice[]): readonly ResourceSlice[] {
  const generation = Math.max(...slices.map(({ spec }) => spec.pool.generation));
  return slices.filter(({ spec }) => spec.pool.generation === generation);
}

/** Undefined: a newer generation is coming, of which nothing is near this node yet. */
function poolOf(slices: readonly ResourceSlice[], all: readonly ResourceSlice[]): DevicePool | undefined {
  const { driver, pool } = slices[0]!.spec;
  const base = { driver, name: pool.name, isIncomplete: false, isInvalid: false, elsewhere: [] };
  const nothing = { slices: [], counterSets: new Map<string, CounterSet>() };
  let elsewhere: readonly ResourceSlice[] = [];
  if (slices.length !== pool.resourceSliceCount) {
    if (all.some(({ spec }) => spec.pool.generation > pool.generation)) return undefined;
    const whole = all.filter(({ spec }) => spec.pool.generation === pool.generation);
    if (whole.length !== pool.resourceSliceCount) return { ...base, ...nothing, isIncomplete: true };
    elsewhere = whole.filter((slice) => !slices.includes(slice));
  }
  const sorted = slices.toSorted((a, b) => sameText(a.metadata.name ?? '', b.metadata.name ?? ''));
  const withDevices = sorted.filter((slice) => !hasCounters(slice));
  const counterSets = countersOf(sorted.filter(hasCounters));
  const isValid =
    hasUniqueNames(withDevices) &&
    counterSets &&
    [...sorted, ...elsewhere].every((slice) => isCovered(slice, counterSets));
  if (!isValid) return { ...base, ...nothing, isInvalid: true };
  return { ...base, slices: withDevices, elsewhere, counterSets };
}

function hasUniqueNames(slices: readonly ResourceSlice[]): boolean {
  const names = slices.flatMap(devicesOf).map(({ name }) => name);
  return new Set(names).size === names.length;
}

/** Undefined where two have the same name. */
function countersOf(slices: readonly ResourceSlice[]): ReadonlyMap<string, CounterSet> | undefined {
  const sets = slices.flatMap(({ spec }) => spec.sharedCounters ?? []);
  const byName = new Map(sets.map((set) => [set.name, set]));
  return byName.size === sets.length ? byName : undefined;
}

/** Whether all counters that its devices use are there. */
function isCovered(slice: ResourceSlice, sets: ReadonlyMap<string, CounterSet>): boolean {
  return devicesOf(slice).every(({ consumesCounters = [] }) =>
    consumesCounters.every(({ counterSet, counters }) => {
      const set = sets.get(counterSet);
      return set !== undefined && Object.keys(counters).every((name) => Object.hasOwn(set.counters, name));
    }),
  );
}

function needsConditions({ slices }: DevicePool): boolean {
  return slices.some((slice) => devicesOf(slice).some(({ bindingConditions }) => bindingConditions !== undefined));
}

function byName(a: DevicePool, b: DevicePool): number {
  return sameText(a.driver, b.driver) || sameText(a.name, b.name);
}

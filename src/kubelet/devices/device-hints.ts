/**
 * Devices and memory nodes: on which sets of nodes as many devices are as a container wants, and which devices lie where the
 * topology manager has decided. Pure; the rules are upstream's. Resources of which no device names a node have no opinion.
 *
 *     2 devices on node 0, 1 on node 1; 2 wanted: {0} preferred, {0,1}
 */
import { allMasks, countOf, type NodeMask, nodesIn, type TopologyHint } from '../resource-managers/topology-hints.ts';
import { nowhere } from './held-devices.ts';

/** By device: ids of the memory nodes that it is close to. */
export type DevicePlaces = ReadonlyMap<string, readonly number[]>;

export interface HintRequest {
  readonly places: DevicePlaces;
  readonly available: ReadonlySet<string>;
  /** What init containers of the Pod had: a set of nodes must hold all of it. */
  readonly reusable: ReadonlySet<string>;
  readonly count: number;
}

export function hasPlaces(places: DevicePlaces): boolean {
  return [...places.values()].some((nodes) => nodes.length > 0);
}

/** `nodeIds`: of the machine's memory nodes by their place in a mask. */
export function deviceHints(
  nodeIds: readonly number[],
  { available, count, places, reusable }: HintRequest,
): readonly TopologyHint[] {
  const bitOf = new Map(nodeIds.map((id, place) => [id, 1 << place]));
  const withDevices = nodeIds.filter((id) => [...places.values()].some((nodes) => nodes.includes(id)));
  const bits = (withDevices.length > 0 ? withDevices : nodeIds).map((id) => bitOf.get(id)!);
  const masks = allMasks(bits.length).map((mask) => nodesIn(mask).reduce((sum, place) => sum | bits[place]!, 0));
  const isNear = (mask: NodeMask, id: string) =>
    (places.get(id) ?? []).some((node) => (mask & (bitOf.get(node) ?? 0)) !== 0);
  const amount = (mask: NodeMask, ids: Iterable<string>) => [...ids].filter((id) => isNear(mask, id)).length;
  const smallest = Math.min(bits.length, ...masks.filter((mask) => amount(mask, places.keys()) >= count).map(countOf));
  const placed = [...reusable].filter((id) => (places.get(id) ?? []).length > 0);
  return masks
    .filter((mask) => placed.every((id) => isNear(mask, id)))
    .filter((mask) => placed.length + amount(mask, available) >= count)
    .map((mask) => ({ nodes: mask, preferred: countOf(mask) === smallest }));
}

export interface Alignment {
  /** On the nodes of the hint. */
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  /** Of no node. */
  readonly elsewhere: readonly string[];
}

/** What is free, by whether it lies where it should. Without a hint, or where devices have no places, all lies elsewhere. */
export function alignDevices(
  nodeIds: readonly number[],
  { nodes: hinted }: Pick<TopologyHint, 'nodes'>,
  { available, places }: Pick<HintRequest, 'available' | 'places'>,
): Alignment {
  if (hinted === undefined || !hasPlaces(places)) return { aligned: [], unaligned: [], elsewhere: [...available] };
  const wanted = new Set(nodesIn(hinted).map((place) => nodeIds[place]));
  const placeOf = (id: string) => {
    const nodes = places.get(id) ?? [];
    return nodes.find((node) => wanted.has(node)) ?? nodes[0] ?? nowhere;
  };
  const groups = Map.groupBy(available, (id) => {
    const place = placeOf(id);
    return place === nowhere ? 'elsewhere' : wanted.has(place) ? 'aligned' : 'unaligned';
  });
  const group = (name: keyof Alignment) => groups.get(name) ?? [];
  return { aligned: group('aligned'), unaligned: group('unaligned'), elsewhere: group('elsewhere') };
}

/**
 * Zones and how fast their unhealthy Nodes may be emptied: pure. When part of a zone fails the fault is probably the network's or
 * ours, and driving thousands of Pods onto the rest would do more harm than waiting.
 *
 *     all of a zone unhealthy             FullDisruption      the normal rate: elsewhere there is room
 *     at least 55 %, more than 2 Nodes    PartialDisruption   the secondary rate; 0 in zones of up to 50 Nodes
 *     every zone wholly unhealthy                             0 everywhere: it must be us
 */
import type { Node } from '../../api/gen/core-v1.ts';

export type ZoneState = 'Initial' | 'Normal' | 'FullDisruption' | 'PartialDisruption';

export interface RateSettings {
  /** Nodes a second. */
  readonly evictionRate: number;
  readonly secondaryEvictionRate: number;
  readonly largeClusterThreshold: number;
  readonly unhealthyThreshold: number;
}

const excludeLabel = 'node.kubernetes.io/exclude-disruption';
const regionLabels = ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'];
const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];

/** Region and zone together; Nodes without labels share one nameless zone. */
export function zoneOf({ metadata }: Node): string {
  const region = firstOf(regionLabels, metadata.labels);
  const zone = firstOf(zoneLabels, metadata.labels);
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`;
}

/** Asked several times for each Node at each look, so it makes no list. */
function firstOf(names: readonly string[], labels: Readonly<Record<string, string>> | undefined): string {
  for (const name of names) if (labels?.[name] !== undefined) return labels[name];
  return '';
}

/** Whether a Node's health says something about its zone's. */
export function countsForDisruption({ metadata }: Node): boolean {
  return metadata.labels?.[excludeLabel] === undefined;
}

/** `ready` holds the Ready status of each Node of the zone. */
function zoneState(ready: readonly string[], settings: RateSettings): ZoneState {
  const unhealthy = ready.filter((status) => status !== 'True').length;
  if (unhealthy > 0 && unhealthy === ready.length) return 'FullDisruption';
  if (unhealthy > 2 && unhealthy / ready.length >= settings.unhealthyThreshold) return 'PartialDisruption';
  return 'Normal';
}

export interface ZonePlan {
  readonly states: ReadonlyMap<string, ZoneState>;
  /** Nodes a second, by zone; zones that are not named keep theirs. */
  readonly rates: ReadonlyMap<string, number>;
  /** Everything has just become unhealthy: forget whom we were going to taint, and untaint all. */
  readonly reprieve: boolean;
  /** Something is healthy again after all was not: everyone's silence counts from now. */
  readonly restart: boolean;
}

export function planZones(
  readyByZone: ReadonlyMap<string, readonly string[]>,
  before: ReadonlyMap<string, ZoneState>,
  settings: RateSettings,
): ZonePlan {
  const states = new Map([...readyByZone].map(([zone, ready]) => [zone, zoneState(ready, settings)]));
  const known = [...before].filter(([zone]) => readyByZone.has(zone)).map(([, state]) => state);
  const allWere = known.length > 0 && known.every((state) => state === 'FullDisruption');
  const allAre = states.size > 0 && [...states.values()].every((state) => state === 'FullDisruption');
  const rates = new Map<string, number>();
  if (allAre) {
    for (const zone of states.keys()) rates.set(zone, 0);
    return { states, rates, reprieve: !allWere, restart: false };
  }
  for (const [zone, state] of states) {
    if (allWere || before.get(zone) !== state)
      rates.set(zone, rateOf(state, readyByZone.get(zone)?.length ?? 0, settings));
  }
  return { states, rates, reprieve: false, restart: allWere };
}

function rateOf(state: ZoneState, size: number, settings: RateSettings): number {
  if (state !== 'PartialDisruption') return settings.evictionRate;
  return size > settings.largeClusterThreshold ? settings.secondaryEvictionRate : 0;
}

/** Why Pods are not yet driven from an unhealthy Node, for people. `ahead`: how many Nodes of its zone go first. */
export function heldBack(state: ZoneState, { rate, ahead }: { readonly rate: number; readonly ahead: number }): string {
  if (rate > 0) {
    const turn = ahead === 0 ? 'it is next' : `${ahead} of its zone go first`;
    return `Pods are evicted from ${rate} nodes a second in its zone (${state}): ${turn}`;
  }
  return state === 'FullDisruption'
    ? 'no node of the cluster is healthy, so the fault is taken to be the connection: nothing is evicted'
    : 'too many nodes of its zone are unhealthy, and the zone is small: nothing is evicted until more of them are well';
}

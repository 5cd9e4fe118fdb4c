/**
 * Options of the CPU and topology managers, as strings in a KubeletConfiguration: checked whole, for a kubelet that half understands what it
 * is asked for must not start. Pure; what may be combined, and the messages, are upstream's.
 */
import { quote } from '../../apimachinery/go-text.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { KubeletConfiguration } from '../configuration.ts';

export interface CpuPolicyOptions {
  readonly fullCoresOnly: boolean;
  readonly spreadsOverNodes: boolean;
  readonly alignsBySocket: boolean;
  readonly spreadsOverCores: boolean;
  readonly keepsReservedFree: boolean;
  readonly alignsByCache: boolean;
}

export interface TopologyPolicyOptions {
  readonly prefersClosest: boolean;
  readonly maxNodes: number;
}

type Configuration = Pick<
  KubeletConfiguration,
  'cpuManagerPolicyOptions' | 'topologyManagerPolicyOptions' | 'featureGates'
>;

const fullCores = 'full-pcpus-only';
const acrossNodes = 'distribute-cpus-across-numa';
const bySocket = 'align-by-socket';
const acrossCores = 'distribute-cpus-across-cores';
const strictReservation = 'strict-cpu-reservation';
const byCache = 'prefer-align-cpus-by-uncorecache';

/** By option, which gate it needs; absent: none. */
const cpuOptions: ReadonlyMap<string, 'Alpha' | 'Beta' | undefined> = new Map([
  [fullCores, undefined],
  [strictReservation, undefined],
  [byCache, undefined],
  [acrossNodes, 'Beta'],
  [bySocket, 'Alpha'],
  [acrossCores, 'Alpha'],
]);

const excluding = [
  [fullCores, acrossCores],
  [acrossNodes, acrossCores],
  [byCache, acrossCores],
  [byCache, acrossNodes],
] as const;

export function cpuPolicyOptions({ cpuManagerPolicyOptions: given, featureGates }: Configuration): CpuPolicyOptions {
  for (const [name, value] of Object.entries(given)) {
    if (!cpuOptions.has(name)) throw new Error(`unknown CPU Manager Policy option: ${quote(name)}`);
    const level = cpuOptions.get(name);
    if (level && !isGateOn(featureGates, `CPUManagerPolicy${level}Options`))
      throw new Error(`CPU Manager Policy ${level}-level Options not enabled, but option ${quote(name)} provided`);
    booleanOf(name, value);
  }
  const isOn = (name: string) => given[name] !== undefined && booleanOf(name, given[name]);
  for (const [one, other] of excluding)
    if (isOn(one) && isOn(other))
      throw new Error(`static policy options ${one} and ${other} can not be used at the same time`);
  return {
    fullCoresOnly: isOn(fullCores),
    spreadsOverNodes: isOn(acrossNodes),
    alignsBySocket: isOn(bySocket),
    spreadsOverCores: isOn(acrossCores),
    keepsReservedFree: isOn(strictReservation),
    alignsByCache: isOn(byCache),
  };
}

const closestNodes = 'prefer-closest-numa-nodes';
const maxAllowable = 'max-allowable-numa-nodes';
const defaultMaxNodes = 8;

export function topologyPolicyOptions({ topologyManagerPolicyOptions: given }: Configuration): TopologyPolicyOptions {
  for (const name of Object.keys(given))
    if (name !== closestNodes && name !== maxAllowable)
      throw new Error(`unknown Topology Manager Policy option: ${quote(name)}`);
  return {
    prefersClosest: given[closestNodes] !== undefined && booleanOf(closestNodes, given[closestNodes]),
    maxNodes: given[maxAllowable] === undefined ? defaultMaxNodes : nodeCountOf(given[maxAllowable]),
  };
}

function nodeCountOf(text: string): number {
  if (!/^[+-]?\d+$/.test(text))
    throw new Error(
      `unable to convert policy option to integer ${quote(maxAllowable)}: strconv.Atoi: parsing ${quote(text)}: invalid syntax`,
    );
  const count = Number(text);
  if (count < defaultMaxNodes)
    throw new Error(`the minimum value of ${quote(maxAllowable)} should not be less than ${defaultMaxNodes}`);
  return count;
}

function booleanOf(name: string, text: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return false;
  throw new Error(`bad value for option ${quote(name)}: strconv.ParseBool: parsing ${quote(text)}: invalid syntax`);
}

/**
 * What `--feature-gates` and the `featureGates` of a configuration file ask for, held against the gates of the release: what is locked
 * stays as it is, what needs another gate is on only with it, `AllAlpha` and `AllBeta` turn those that were not named. Which code asks
 * for which gate is that code's business; a gate that nothing asks for changes nothing.
 *
 * The documents switch single gates off, of which others have come to depend since. Upstream refuses that until those are named too;
 * here what nobody asked for goes off with what it needs.
 */
import { aggregate } from '../apimachinery/go-text.ts';
import type { FeatureGate } from './feature-gate.ts';
import { FlagError } from './flags.ts';
import { gates as gatesOfTheRelease } from './gen/feature-gates.ts';

/** By name. Gates that were neither named nor turned with all of their stage are absent, and as they are by default. */
export type FeatureGates = Readonly<Record<string, boolean>>;

/** The documents name them as gates that have an effect; the release has them no more, or locks them. */
const documentedGates: Readonly<Record<string, FeatureGate>> = {
  NodeOutOfServiceVolumeDetach: { stage: 'BETA', isOn: true },
  NodeSwap: { stage: 'BETA', isOn: true },
  TopologyManager: { stage: 'BETA', isOn: true },
};

const gates: Readonly<Record<string, FeatureGate>> = { ...gatesOfTheRelease, ...documentedGates };

/** Names come from users, who may say `constructor`. */
const gateOf = (name: string): FeatureGate | undefined => (Object.hasOwn(gates, name) ? gates[name] : undefined);

const stagesByGate: Readonly<Record<string, FeatureGate['stage']>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };

/** Whether the feature is on; one that nobody knows is off. */
export function isGateOn(asked: FeatureGates, name: string): boolean {
  return asked[name] ?? gateOf(name)?.isOn ?? false;
}

export interface CheckedGates {
  readonly gates: FeatureGates;
  /** In upstream's words, for the log. */
  readonly warnings: readonly string[];
}

/** Throws a `FlagError` with all that cannot be, in upstream's words. */
export function checkedGates(asked: FeatureGates): CheckedGates {
  const turned: Record<string, boolean> = {};
  for (const [name, stage] of Object.entries(stagesByGate)) {
    const isOn = asked[name];
    if (isOn === undefined) continue;
    for (const [other, gate] of Object.entries(gates)) if (gate.stage === stage) turned[other] = isOn;
  }
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const [name, isOn] of Object.entries(asked)) {
    if (Object.hasOwn(stagesByGate, name)) continue;
    const gate = gateOf(name);
    if (!gate) warnings.push(`unrecognized feature gate: ${name}`);
    else if (gate.isLocked && gate.isOn !== isOn)
      problems.push(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`);
    else turned[name] = isOn;
    const word = gate && { GA: 'GA', DEPRECATED: 'deprecated', ALPHA: undefined, BETA: undefined }[gate.stage];
    if (word) warnings.push(`setting ${word} feature gate ${name}=${isOn}. It will be removed in a future release.`);
  }
  if (problems.length === 0) problems.push(...withoutNeeded(turned));
  if (problems.length > 0) throw new FlagError(aggregate(problems));
  return { gates: turned, warnings };
}

/** Turns off what is on by default and lacks what it needs; what was asked for and lacks it is a problem. */
function withoutNeeded(turned: Record<string, boolean>): readonly string[] {
  const problems: string[] = [];
  let before: number;
  do {
    before = Object.keys(turned).length;
    for (const [name, { requires = [] }] of Object.entries(gates)) {
      const off = isGateOn(turned, name) ? requires.filter((other) => !isGateOn(turned, other)) : [];
      if (off.length === 0) continue;
      if (turned[name] === undefined) turned[name] = false;
      else problems.push(`${name} is enabled, but depends on features that are disabled: [${off.join(' ')}]`);
    }
  } while (Object.keys(turned).length > before && problems.length === 0);
  return problems;
}

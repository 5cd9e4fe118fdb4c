/**
 * `coracle/sim`: clusters on virtual time, from one node to thousands, with faults, the same for the same seed. `docs/simulation.md` is the guide.
 *
 *     import { simulate } from 'coracle/sim';
 *
 *     await using cluster = await simulate({ seed: 1, nodes: 3 });
 */
export type { Adversary, CallFault, WatchFault } from './link.ts';
export type { PodScript, ScriptOf } from './node/pod-script.ts';
export type { NodeOptions, SimulatedNode } from './node/simulated-node.ts';
export type { SimulatedProcess } from './process.ts';
export { apply, cordon, drain } from './scenario/actions.ts';
export { declaredScenario } from './scenario/declared.ts';
export {
  isScenario,
  runScenario,
  type Scenario,
  type ScenarioReport,
  type ScenarioStage,
  scenario,
} from './scenario/scenario.ts';
export type { TimelineEntry } from './scenario/timeline.ts';
export { type ComponentName, type Simulation, type SimulationOptions, simulate } from './simulation.ts';

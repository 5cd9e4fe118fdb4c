/**
 * A scenario: a cluster, a story, and how long to watch. Written in TypeScript as the default export of a file, or in YAML (`declared.ts`);
 * `coracle sim run` plays either and prints what happened.
 *
 *     export default scenario({
 *       nodes: [{ name: 'a' }, { name: 'b' }],
 *       objects: [web],
 *       async play({ cluster, note }) {
 *         note('a loses its power');
 *         cluster.node('a').powerOff();
 *         await cluster.advance(10 * 60_000);
 *       },
 *     });
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { type Simulation, type SimulationOptions, simulate } from '../simulation.ts';
import { apply } from './actions.ts';
import { Timeline, type TimelineEntry } from './timeline.ts';

export interface ScenarioStage {
  readonly cluster: Simulation;
  /** Writes a line of the script's own into the timeline. */
  note(what: string): void;
}

export interface Scenario extends Omit<SimulationOptions, 'seed'> {
  /** Default 1. */
  readonly seed?: number | undefined;
  readonly description?: string | undefined;
  /** What is there when the story begins; it begins when all its Pods are ready. */
  readonly objects?: readonly KubeObject[] | undefined;
  play(stage: ScenarioStage): Promise<void>;
}

export interface ScenarioReport {
  readonly description: string;
  readonly seed: number;
  /** Of all that was written; the same for the same seed. */
  readonly digest: string;
  readonly virtualSeconds: number;
  readonly writes: number;
  /** Components that failed by themselves: a bug of theirs. */
  readonly failures: readonly string[];
  readonly timeline: readonly TimelineEntry[];
}

/** Checks the form, and nothing else. */
export function scenario(definition: Scenario): Scenario {
  return definition;
}

export function isScenario(value: unknown): value is Scenario {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Scenario>).play === 'function';
}

/** Long enough for what is given to come up. */
const prepareMs = 5 * 60_000;

export async function runScenario(definition: Scenario, seed = definition.seed ?? 1): Promise<ScenarioReport> {
  await using cluster = await simulate({ ...definition, seed });
  const timeline = new Timeline(cluster);
  await cluster.until(() => cluster.areNodesReady(), { withinMs: prepareMs, what: 'the readiness of all nodes' });
  for (const object of definition.objects ?? []) await apply(cluster.client, object);
  await cluster.advance(1000);
  await cluster.until(() => cluster.arePodsReady(), { withinMs: prepareMs, what: 'the readiness of all pods' });
  timeline.begin();
  const beganMs = cluster.nowMs();
  await definition.play({ cluster, note: (what) => timeline.note(what) });
  return {
    description: definition.description ?? '',
    seed,
    digest: cluster.history.digest(),
    virtualSeconds: (cluster.nowMs() - beganMs) / 1000,
    writes: cluster.history.changes,
    failures: cluster.failures,
    timeline: timeline.entries,
  };
}

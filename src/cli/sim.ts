/** `coracle sim run`: plays a scenario and prints its timeline. */
import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CommandError } from '../cluster/command-error.ts';
import { declaredScenario, isScenario, runScenario, type Scenario, type ScenarioReport } from '../sim/index.ts';

export interface SimRunOptions {
  readonly output?: 'json' | undefined;
  readonly seed?: number | undefined;
  print(text: string): void;
}

/** Resolves to the exit status: 1 when a component failed by itself. */
export async function runSimulation(file: string, options: SimRunOptions): Promise<number> {
  const report = await runScenario(await scenarioIn(file), options.seed);
  options.print(options.output === 'json' ? JSON.stringify(report, undefined, 2) : timelineText(report));
  return report.failures.length === 0 ? 0 : 1;
}

async function scenarioIn(file: string): Promise<Scenario> {
  const path = resolve(file);
  try {
    if (/^\.ya?ml$/.test(extname(path))) return declaredScenario(readFileSync(path, 'utf8'));
    const { default: exported } = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    if (isScenario(exported)) return exported;
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`, advice);
  }
  throw new CommandError(`${file} has no scenario as its default export.`, advice);
}

const advice = 'See docs/simulation.md for the form of a scenario, and examples/scenarios for five of them.';

function timelineText({
  description,
  seed,
  timeline,
  virtualSeconds,
  writes,
  digest,
  failures,
}: ScenarioReport): string {
  const width = Math.max(0, ...timeline.map(({ object }) => object.length));
  const lines = timeline.map(({ atSeconds, object, what }) => {
    return `${atSeconds.toFixed(3).padStart(10)}  ${object.padEnd(width)}  ${what}`;
  });
  return [
    ...(description ? [description.trim()] : []),
    ...lines,
    ...failures.map((failure) => `FAILED ${failure}`),
    `${virtualSeconds} virtual seconds, ${writes} writes, seed ${seed}, history ${digest}`,
  ].join('\n');
}

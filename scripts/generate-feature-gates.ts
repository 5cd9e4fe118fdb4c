/**
 * Derives the table of feature gates (`src/serving/gen/feature-gates.ts`) from the facts. `--check` fails when the file on disk is not
 * what would be written.
 */
import { publish, readFacts } from './generated-files.ts';

interface Gate {
  readonly default: boolean;
  readonly stage: string;
  readonly locked?: boolean;
  readonly requires?: readonly string[];
}

const facts: { readonly version: string; readonly gates: Readonly<Record<string, Gate>> } =
  readFacts('v1.36/feature-gates.json');

/** Some stand in the facts as expressions of the language they come from: `featuregate.Feature(clientfeatures.AtomicFIFO)`. */
const plainName = (text: string) => /(\w+)\)?$/.exec(text)![1]!;

const rows = Object.entries(facts.gates).map(([name, { default: isOn, stage, locked, requires: needed = [] }]) => {
  const requires = needed.map(plainName);
  const row = { stage, isOn, ...(locked ? { isLocked: true } : {}), ...(requires.length > 0 ? { requires } : {}) };
  return `  ${name}: ${JSON.stringify(row)},`;
});
const text = [
  `/** Feature gates of ${facts.version}. Derived from facts/ by scripts/generate-feature-gates.ts: change the facts, not this file. */`,
  "import type { FeatureGate } from '../feature-gate.ts';",
  '',
  'export const gates: Readonly<Record<string, FeatureGate>> = {',
  ...rows,
  '};',
  '',
].join('\n');
publish(new Map([['src/serving/gen/feature-gates.ts', text]]));

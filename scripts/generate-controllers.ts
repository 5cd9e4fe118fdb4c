/**
 * Derives the list of the controller manager's controllers (`src/controllers/gen/controllers.ts`) from the facts: names, aliases,
 * feature gates, which are on by default. `--check` fails when the file on disk is not what would be written.
 */
import { publish, readFacts } from './generated-files.ts';

interface ControllerFact {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly enabledByDefault: boolean;
  readonly runsByDefault?: boolean;
  readonly cloudProvider?: boolean;
  readonly gates?: readonly { readonly name: string; readonly default: boolean | null }[];
}

const facts: {
  readonly release: string;
  readonly controllers: Readonly<Record<string, readonly ControllerFact[]>>;
} = readFacts('v1.36/flags.json');

const rows = (facts.controllers['kube-controller-manager'] ?? []).map((fact) => {
  const row = {
    name: fact.name,
    aliases: fact.aliases ?? [],
    enabledByDefault: fact.enabledByDefault,
    gates: (fact.gates ?? []).map(({ name, default: on }) => ({ name, default: on === true })),
    cloud: fact.cloudProvider === true,
  };
  return `  ${JSON.stringify(row)},`;
});
const text = [
  `/** Controllers of kube-controller-manager, ${facts.release}. Derived from facts/ by scripts/generate-controllers.ts: change the facts, not this file. */`,
  '',
  'export interface ControllerRow {',
  '  readonly name: string;',
  '  /** Older names that `--controllers` still takes. */',
  '  readonly aliases: readonly string[];',
  '  /** Whether `*` includes it. */',
  '  readonly enabledByDefault: boolean;',
  '  /** All must be on for it to run. */',
  '  readonly gates: readonly { readonly name: string; readonly default: boolean }[];',
  '  /** Runs in the cloud controller manager. */',
  '  readonly cloud: boolean;',
  '}',
  '',
  'export const controllerRows: readonly ControllerRow[] = [',
  ...rows,
  '];',
  '',
].join('\n');

publish(new Map([['src/controllers/gen/controllers.ts', text]]));

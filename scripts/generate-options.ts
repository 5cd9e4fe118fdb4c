/**
 * Derives each component's table of flags (`src/<component>/gen/flags.ts`) from the facts. `--check` fails when a file on disk is
 * not what would be written.
 */
import { publish, readFacts } from './generated-files.ts';

const facts: {
  readonly release: string;
  readonly components: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
} = readFacts('v1.36/flags.json');

const folders: Readonly<Record<string, string>> = {
  'kube-apiserver': 'apiserver',
  'kube-controller-manager': 'controllers',
  'kube-scheduler': 'scheduler',
  kubelet: 'kubelet',
  'kube-proxy': 'proxy',
};

const files = new Map<string, string>();
for (const [component, folder] of Object.entries(folders)) {
  const lines = (facts.components[component] ?? []).map((flag) => {
    const { name, type, default: initial, deprecated, configField } = flag;
    const row = {
      name,
      type,
      default: initial ?? null,
      ...(deprecated ? { deprecated: true } : {}),
      ...(configField ? { configField: true } : {}),
    };
    return `  ${JSON.stringify(row)},`;
  });
  const text = [
    `/** Flags of ${component}, ${facts.release}. Derived from facts/ by scripts/generate-options.ts: change the facts, not this file. */`,
    "import type { FlagDefinition } from '../../serving/flags.ts';",
    '',
    'export const flags: readonly FlagDefinition[] = [',
    ...lines,
    '];',
    '',
  ].join('\n');
  files.set(`src/${folder}/gen/flags.ts`, text);
}
publish(files);

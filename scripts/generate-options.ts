/**
 * Derives each component's table of flags (`src/<component>/gen/flags.ts`) from the facts. `--check` fails when a file on disk is
 * not what would be written.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const facts: {
  readonly release: string;
  readonly components: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
} = JSON.parse(readFileSync(resolve(root, 'facts/v1.36/flags.json'), 'utf8'));

const folders: Readonly<Record<string, string>> = {
  'kube-apiserver': 'apiserver',
  'kube-controller-manager': 'controllers',
  'kube-scheduler': 'scheduler',
  kubelet: 'kubelet',
  'kube-proxy': 'proxy',
};

let stale = false;
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
  const path = resolve(root, `src/${folder}/gen/flags.ts`);
  if (process.argv.includes('--check')) {
    let current = '';
    try {
      current = readFileSync(path, 'utf8');
    } catch {}
    if (current !== text) {
      console.error(`${path} is not current: run node scripts/generate-options.ts`);
      stale = true;
    }
    continue;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
process.exit(stale ? 1 : 0);

/**
 * Derives the fields of `KubeletConfiguration` (name, type, default) into `src/kubelet/gen/configuration-fields.ts` from the
 * committed facts. Run it after changing the facts: `node scripts/generate-kubelet-configuration.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly default?: unknown;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const facts = JSON.parse(readFileSync(`${root}facts/v1.36/component-config.json`, 'utf8')) as {
  types: Record<string, { fields: readonly Field[] }>;
};
const fields = facts.types['kubeletconfig/v1beta1.KubeletConfiguration']!.fields.filter(({ name }) => name !== '');

function kindOf({ type, list, map }: Field): string {
  if (map) return 'map';
  if (list) return 'list';
  return type.startsWith('ref:') ? 'object' : type;
}

writeFileSync(
  `${root}src/kubelet/gen/configuration-fields.ts`,
  [
    '/** Fields of KubeletConfiguration. Derived from facts/ by scripts/generate-kubelet-configuration.ts: change the facts, not this file. */',
    'export interface ConfigurationField {',
    '  readonly kind: string;',
    '  readonly default?: unknown;',
    '}',
    '',
    'export const configurationFields: Readonly<Record<string, ConfigurationField>> = {',
    ...fields.map(
      (field) =>
        `  ${field.name}: ${JSON.stringify({ kind: kindOf(field), ...(field.default === undefined ? {} : { default: field.default }) })},`,
    ),
    '};',
    '',
  ].join('\n'),
);

/**
 * Derives the fields of `KubeletConfiguration` (name, type, default) into `src/kubelet/gen/configuration-fields.ts` from the
 * facts. `--check` fails when the file on disk is not what would be written.
 */
import { publish, readFacts } from './generated-files.ts';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly default?: unknown;
}

const facts: { readonly types: Readonly<Record<string, { readonly fields: readonly Field[] }>> } =
  readFacts('v1.36/component-config.json');
const fields = facts.types['kubeletconfig/v1beta1.KubeletConfiguration']!.fields.filter(({ name }) => name !== '');

function kindOf({ type, list, map }: Field): string {
  if (map) return 'map';
  if (list) return 'list';
  return type.startsWith('ref:') ? 'object' : type;
}

const text = [
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
].join('\n');

publish(new Map([['src/kubelet/gen/configuration-fields.ts', text]]));

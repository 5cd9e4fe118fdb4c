/**
 * Derives the fields of the configuration files that the components read, with all types they refer to, into
 * `src/cluster/gen/component-configuration.ts`. `--check` fails when the file on disk is not what would be written.
 */
import { publish, readFacts } from './generated-files.ts';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly inline?: boolean;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly string[];
}

const facts: {
  readonly types: Readonly<Record<string, { readonly fields: readonly Field[] }>>;
} = readFacts('v1.36/component-config.json');
const roots = [
  'kubescheduler/v1.KubeSchedulerConfiguration',
  'kubeproxy/v1alpha1.KubeProxyConfiguration',
  'audit/v1.Policy',
  'apiserver/v1.EncryptionConfiguration',
  'apiserver/v1.AdmissionConfiguration',
  'apiserver/v1.AuthenticationConfiguration',
  'apiserver/v1.AuthorizationConfiguration',
  'kubeletconfig/v1.CredentialProviderConfig',
];
const shortName = (type: string) => type.replace(/^.*\./, '');

function fieldsOf(type: string): readonly Field[] {
  return (facts.types[type]?.fields ?? []).flatMap((field) =>
    field.inline ? fieldsOf(field.type.replace(/^ref:/, '')) : [field],
  );
}

const tables = new Map<string, readonly Field[]>();
/** Metadata of a file is the writer's own. */
const unread = new Set(['ref:meta/v1.ObjectMeta']);

function walk(type: string): void {
  if (tables.has(type)) return;
  const fields = fieldsOf(type);
  tables.set(type, fields);
  for (const field of fields) if (field.type.startsWith('ref:') && !unread.has(field.type)) walk(field.type.slice(4));
}
for (const type of roots) walk(type);

const rows = [...tables].map(([type, fields]) => {
  const lines = fields.map(({ name, type: kind, list, map, default: initial, enum: values }) => {
    const isObject = kind.startsWith('ref:') && !unread.has(kind);
    const row = {
      kind: isObject ? 'object' : unread.has(kind) ? 'any' : kind,
      ...(isObject ? { type: shortName(kind) } : {}),
      ...(list ? { list: true } : {}),
      ...(map ? { map: true } : {}),
      ...(initial === undefined ? {} : { default: initial }),
      ...(values === undefined ? {} : { values }),
    };
    return `    ${name}: ${JSON.stringify(row)},`;
  });
  return `  ${shortName(type)}: {\n${lines.join('\n')}\n  },`;
});
const text = `/** Fields of configuration files. Derived from facts/ by scripts/generate-component-configuration.ts: change the facts, not this file. */
export interface FileField {
  readonly kind: string;
  /** Of an object: the name of its own table. */
  readonly type?: string;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly default?: unknown;
  readonly values?: readonly string[];
}

export const configurationTypes: Readonly<Record<string, Readonly<Record<string, FileField>>>> = {
${rows.join('\n')}
};
`;

publish(new Map([['src/cluster/gen/component-configuration.ts', text]]));

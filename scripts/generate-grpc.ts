/**
 * Derives the types and the wire tables of the gRPC interfaces that a kubelet speaks from the committed facts: one file for each row of
 * `interfaces`. Windows messages are left out. `--check` fails when a file on disk is not what would be written.
 */
import { dirname, relative } from 'node:path';
import { publish, readFacts } from './generated-files.ts';

interface FactField {
  readonly name: string;
  readonly type: string;
  readonly tag: number;
  readonly label?: 'repeated';
  readonly kind?: 'message' | 'enum';
}

interface Facts {
  readonly package: string;
  readonly services: Record<string, Record<string, { request: string; response: string; stream?: 'server' }>>;
  readonly enums: Record<string, Record<string, number>>;
  readonly messages: Record<string, readonly FactField[]>;
}

/** Where the codec lies that the tables are for. */
const codec = 'src/kubelet/grpc/codec.ts';

const interfaces = [
  {
    title: 'The Container Runtime Interface v1',
    facts: 'cri/cri-v1.json',
    target: 'src/kubelet/runtime/cri/gen/cri-v1.ts',
  },
  {
    title: 'How plugins of a node present themselves, v1',
    facts: 'node-plugins/plugin-registration-v1.json',
    target: 'src/kubelet/plugins/gen/plugin-registration-v1.ts',
  },
  {
    title: 'The Container Storage Interface v1, as a node speaks it',
    facts: 'node-plugins/csi-v1.json',
    target: 'src/kubelet/csi/gen/csi-v1.ts',
  },
  {
    title: 'Plugins that have devices for containers, v1beta1',
    facts: 'node-plugins/device-plugin-v1beta1.json',
    target: 'src/kubelet/devices/gen/device-plugin-v1beta1.ts',
  },
  {
    title: 'Drivers that make claimed devices ready, v1',
    facts: 'node-plugins/dra-v1.json',
    target: 'src/kubelet/dynamic-resources/gen/dra-v1.ts',
  },
  {
    title: 'Drivers that tell how claimed devices fare, v1alpha1',
    facts: 'node-plugins/dra-health-v1alpha1.json',
    target: 'src/kubelet/dynamic-resources/gen/dra-health-v1alpha1.ts',
  },
  {
    title: 'What containers of a node hold, told to other programs, v1',
    facts: 'node-plugins/pod-resources-v1.json',
    target: 'src/kubelet/pod-resources/gen/pod-resources-v1.ts',
  },
];

const isWindows = (name: string) => name.includes('Windows') || name === 'windows';
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const typeName = (name: string) => name.replaceAll('.', '');

function scalarType(field: FactField): string {
  if (field.kind) return typeName(field.type);
  switch (field.type) {
    case 'string':
      return 'string';
    case 'bool':
      return 'boolean';
    case 'bytes':
      return 'Uint8Array';
    case 'int64':
    case 'uint64':
      return 'bigint';
    case 'int32':
    case 'uint32':
    case 'double':
      return 'number';
    default:
      throw new Error(`no TypeScript type for ${field.type}`);
  }
}

function fieldLine(field: FactField): string {
  const name = camel(field.name);
  if (field.type === 'map<string,string>') return `  readonly ${name}: Readonly<Record<string, string>>;`;
  if (field.label === 'repeated') return `  readonly ${name}: readonly ${scalarType(field)}[];`;
  if (field.kind === 'message') return `  readonly ${name}?: ${scalarType(field)} | undefined;`;
  return `  readonly ${name}: ${scalarType(field)};`;
}

function tableRow(field: FactField): string {
  const kind = field.type === 'map<string,string>' ? 'map' : (field.kind ?? field.type);
  const parts = [
    field.tag,
    camel(field.name),
    kind,
    field.kind ? typeName(field.type) : '',
    field.label === 'repeated' ? 1 : 0,
  ];
  return `      ${JSON.stringify(parts)},`;
}

function generate({ title, facts: path, target }: (typeof interfaces)[number]): string {
  const facts: Facts = readFacts(path);
  const fromTarget = relative(dirname(target), codec);
  const lines: string[] = [
    `/** ${title}. Derived from facts/${path} by scripts/generate-grpc.ts: change the facts, not this file. */`,
    `import { type GrpcService, WireTable } from '${fromTarget}';`,
    '',
  ];
  const messages = Object.entries(facts.messages)
    .filter(([name]) => !isWindows(name))
    .map(([name, fields]) => ({
      name: typeName(name),
      fields: fields.filter((field) => !isWindows(field.type) && !isWindows(field.name)),
    }));
  lines.push(...typesOf(facts, messages), ...tableOf(facts, messages), ...servicesOf(facts));
  return lines.join('\n');
}

interface Message {
  readonly name: string;
  readonly fields: readonly FactField[];
}

function typesOf(facts: Facts, messages: readonly Message[]): string[] {
  const lines: string[] = [];
  for (const [name, values] of Object.entries(facts.enums)) {
    const names = Object.keys(values).map((value) => `'${value}'`);
    lines.push(`export type ${typeName(name)} = ${names.join(' | ')};`, '');
  }
  for (const { name, fields } of messages) {
    if (fields.length === 0) lines.push(`export type ${name} = Readonly<Record<never, never>>;`, '');
    else lines.push(`export interface ${name} {`, ...fields.map(fieldLine), '}', '');
  }
  lines.push('/** Message type by name, for the codec. */', 'export interface Messages {');
  for (const { name } of messages) lines.push(`  ${name}: ${name};`);
  return [...lines, '}', ''];
}

function tableOf(facts: Facts, messages: readonly Message[]): string[] {
  const lines = ['export const wire = new WireTable<Messages>({', '  messages: {'];
  for (const { name, fields } of messages) {
    if (fields.length === 0) lines.push(`    ${name}: [],`);
    else lines.push(`    ${name}: [`, ...fields.map(tableRow), '    ],');
  }
  lines.push('  },', '  enums: {');
  for (const [name, values] of Object.entries(facts.enums)) {
    const byNumber: string[] = [];
    for (const [value, number] of Object.entries(values)) byNumber[number] = value;
    lines.push(`    ${typeName(name)}: ${JSON.stringify(byNumber)},`);
  }
  return [...lines, '  },', '});', ''];
}

function servicesOf(facts: Facts): string[] {
  const lines: string[] = [];
  for (const [service, methods] of Object.entries(facts.services)) {
    lines.push(`export interface ${service}Methods {`);
    for (const [method, call] of Object.entries(methods))
      lines.push(`  ${method}: { request: ${call.request}; response: ${call.response} };`);
    const name = service.endsWith('Service') ? service : `${service}Service`;
    lines.push(
      '}',
      '',
      `export const ${name[0]!.toLowerCase()}${name.slice(1)}: GrpcService<${service}Methods> = {`,
      `  name: '${facts.package}.${service}',`,
      '  wire,',
      '  methods: {',
    );
    for (const [method, call] of Object.entries(methods)) {
      const streams = call.stream === 'server' ? ', streams: true' : '';
      lines.push(`    ${method}: { request: '${call.request}', response: '${call.response}'${streams} },`);
    }
    lines.push('  },', '};', '');
  }
  return lines;
}

publish(new Map(interfaces.map((one) => [one.target, generate(one)])));

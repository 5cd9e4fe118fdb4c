/**
 * Derives the types and the wire table of the Container Runtime Interface into `src/kubelet/runtime/cri/gen/` from the committed
 * facts in `facts/cri/cri-v1.json`. Windows messages are left out. `--check` fails when the file on disk is not what would be written.
 */
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

const facts: Facts = readFacts('cri/cri-v1.json');

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
  return `    ${JSON.stringify(parts)},`;
}

const header =
  '/** The Container Runtime Interface v1. Derived from facts/cri by scripts/generate-cri.ts: change the facts, not this file. */';
const lines: string[] = [header, ''];
for (const [name, values] of Object.entries(facts.enums)) {
  lines.push(
    `export type ${typeName(name)} = ${Object.keys(values)
      .map((value) => `'${value}'`)
      .join(' | ')};`,
    '',
  );
}
const messages = Object.entries(facts.messages).filter(([name]) => !isWindows(name));
for (const [name, fields] of messages) {
  const own = fields.filter((field) => !isWindows(field.type) && !isWindows(field.name));
  if (own.length === 0) lines.push(`export type ${name} = Readonly<Record<never, never>>;`, '');
  else lines.push(`export interface ${name} {`, ...own.map(fieldLine), '}', '');
}
lines.push('/** Message type by name, for the codec. */', 'export interface Messages {');
for (const [name] of messages) lines.push(`  ${name}: ${name};`);
lines.push('}', '');
lines.push('/** A field on the wire: tag, name, kind, referenced type, 1 if repeated. */');
lines.push(
  'export type WireField = readonly [tag: number, name: string, kind: string, reference: string, repeated: 0 | 1];',
  '',
);
lines.push('export const wireMessages: Readonly<Record<string, readonly WireField[]>> = {');
for (const [name, fields] of messages) {
  const own = fields.filter((field) => !isWindows(field.type) && !isWindows(field.name));
  if (own.length === 0) lines.push(`  ${name}: [],`);
  else lines.push(`  ${name}: [`, ...own.map(tableRow), '  ],');
}
lines.push('};', '', 'export const wireEnums: Readonly<Record<string, readonly string[]>> = {');
for (const [name, values] of Object.entries(facts.enums)) {
  const byNumber: string[] = [];
  for (const [value, number] of Object.entries(values)) byNumber[number] = value;
  lines.push(`  ${typeName(name)}: ${JSON.stringify(byNumber)},`);
}
lines.push('};', '');
for (const [service, methods] of Object.entries(facts.services)) {
  lines.push(`export interface ${service}Methods {`);
  for (const [method, call] of Object.entries(methods))
    lines.push(`  ${method}: { request: ${call.request}; response: ${call.response} };`);
  lines.push('}', '', `export const ${service[0]!.toLowerCase()}${service.slice(1)} = {`);
  for (const [method, call] of Object.entries(methods)) {
    lines.push(
      `  ${method}: { request: '${call.request}', response: '${call.response}', streams: ${call.stream === 'server'} },`,
    );
  }
  lines.push('} as const;', '');
}
publish(new Map([['src/kubelet/runtime/cri/gen/cri-v1.ts', lines.join('\n')]]));

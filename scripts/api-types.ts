/**
 * Writes one TypeScript module per API package: interfaces (deeply readonly), closed enums as unions of literals, and a
 * `ResourceType` constant per served resource. Inlined fields are copied into their parent, so a type is its JSON.
 */
import { type Facts, type FieldFact, type ResourceFact, splitTypeId, type TypeFact } from './facts.ts';

/** Path of each module, relative to the project, to its text. */
export function typescriptModules(facts: Facts): Map<string, string> {
  const modules = new Map<string, string>();
  for (const pack of Object.keys(facts.packages)) {
    const folder = pack.startsWith('meta/') ? 'src/apimachinery/gen' : 'src/api/gen';
    modules.set(`${folder}/${moduleName(pack)}.ts`, new ModuleWriter(facts, pack).text());
  }
  return modules;
}

const scalars: Readonly<Record<string, string>> = {
  string: 'string',
  int32: 'number',
  int64: 'number',
  bool: 'boolean',
  float64: 'number',
  bytes: 'string',
  quantity: 'string',
  intOrString: 'number | string',
  time: 'string',
  microTime: 'string',
  duration: 'string',
  rawExtension: 'unknown',
  json: 'unknown',
};

class ModuleWriter {
  readonly #facts: Facts;
  readonly #pack: string;
  readonly #imports = new Set<string>();
  readonly #topLevel = new Set<string>();
  readonly #lists = new Set<string>();

  constructor(facts: Facts, pack: string) {
    this.#facts = facts;
    this.#pack = pack;
    for (const kinds of Object.values(facts.kinds)) {
      for (const kind of Object.values(kinds)) {
        this.#topLevel.add(kind.type);
        if (kind.list) this.#lists.add(kind.list);
      }
    }
  }

  text(): string {
    const body: string[] = [];
    for (const [id, fact] of Object.entries(this.#facts.named)) {
      const { pack, name } = splitTypeId(id);
      if (pack !== this.#pack || !fact.enum) continue;
      body.push(`export type ${name} = ${(fact.values ?? []).map(quote).join(' | ')};\n`);
    }
    for (const [id, type] of Object.entries(this.#facts.types)) {
      if (splitTypeId(id).pack === this.#pack) body.push(this.#type(id, type));
    }
    const { group, version } = this.#facts.packages[this.#pack]!;
    const resources = this.#facts.resources.filter((r) => r.group === group && r.version === version);
    const served = this.#pack.startsWith('meta/') ? [] : resources;
    for (const resource of served) body.push(this.#resource(resource));
    return [this.#header(served.length > 0), ...body].join('\n');
  }

  #header(hasResources: boolean): string {
    const meta = this.#pack.startsWith('meta/');
    const lines = [
      `/** Types of ${this.#pack}. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */`,
    ];
    if (hasResources) lines.push(`import type { ResourceType } from '../../apimachinery/resource.ts';`);
    for (const pack of [...this.#imports].sort()) {
      const file = `${moduleName(pack)}.ts`;
      const path = pack.startsWith('meta/') && !meta ? `../../apimachinery/gen/${file}` : `./${file}`;
      lines.push(`import type * as ${alias(pack)} from '${path}';`);
    }
    return `${lines.join('\n')}\n`;
  }

  #type(id: string, type: TypeFact): string {
    const { name } = splitTypeId(id);
    if (type.jsonList) return `export type ${name} = readonly ${this.#scalar(type.jsonList)}[];\n`;
    if (type.jsonOneOf) {
      const members = type.jsonOneOf.map((member) => this.#fieldType(type.fields.find((f) => f.name === member)!));
      return `export type ${name} = ${members.join(' | ')};\n`;
    }
    const lines = this.#fields(id, type).map((line) => `  ${line}\n`);
    if (lines.length === 0) return `export type ${name} = Readonly<Record<string, never>>;\n`;
    return `export interface ${name} {\n${lines.join('')}}\n`;
  }

  #fields(id: string, type: TypeFact): string[] {
    const lines: string[] = [];
    for (const field of type.fields) {
      if (field.inline) {
        const inlined = field.type.slice('ref:'.length);
        if (inlined === 'meta/v1.TypeMeta')
          lines.push('readonly kind?: string | undefined;', 'readonly apiVersion?: string | undefined;');
        else lines.push(...this.#fields(inlined, this.#facts.types[inlined]!));
        continue;
      }
      const key = /^[A-Za-z_$][\w$]*$/.test(field.name) ? field.name : quote(field.name);
      const text = this.#fieldType(field);
      lines.push(this.#isRequired(id, field) ? `readonly ${key}: ${text};` : `readonly ${key}?: ${text} | undefined;`);
    }
    return lines;
  }

  /**
   * Besides what the API requires: `metadata` of kinds, and a `spec` that is not a pointer (templates have one too). Whatever was
   * decoded has them, and all code reads them. `src/apimachinery/decode.ts` fills by the same rule.
   */
  #isRequired(id: string, field: FieldFact): boolean {
    if (!field.optional) return true;
    if (this.#lists.has(id)) return field.name === 'metadata' || field.name === 'items';
    if (field.pointer || !field.type.startsWith('ref:')) return false;
    return field.name === 'spec' || (field.name === 'metadata' && this.#topLevel.has(id));
  }

  #fieldType(field: FieldFact): string {
    let text =
      field.enum && field.named && this.#facts.named[field.named]?.enum
        ? this.#name(field.named)
        : this.#scalar(field.type);
    if (field.enum && !field.named) text = field.enum.map(quote).join(' | ');
    if (field.map) return `Readonly<Record<string, ${text}>>`;
    if (field.list) return text.includes('|') ? `readonly (${text})[]` : `readonly ${text}[]`;
    return text;
  }

  #scalar(type: string): string {
    if (type.startsWith('ref:')) return this.#name(type.slice('ref:'.length));
    const text = scalars[type];
    if (text === undefined) throw new Error(`unknown scalar type ${type}`);
    return text;
  }

  #name(id: string): string {
    const { pack, name } = splitTypeId(id);
    if (pack === this.#pack) return name;
    this.#imports.add(pack);
    return `${alias(pack)}.${name}`;
  }

  #resource(resource: ResourceFact): string {
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    const kind = this.#facts.kinds[apiVersion]?.[resource.kind];
    if (!kind) throw new Error(`resource ${resource.resource} of ${apiVersion} has no kind ${resource.kind}`);
    return [
      `export const ${resourceConstant(resource)}: ResourceType<${this.#name(kind.type)}> = {`,
      `  group: ${quote(resource.group)},`,
      `  version: ${quote(resource.version)},`,
      `  resource: ${quote(resource.resource)},`,
      `  kind: ${quote(resource.kind)},`,
      `  namespaced: ${resource.namespaced},`,
      `  singular: ${quote(resource.singular)},`,
      `  shortNames: ${list(resource.shortNames)},`,
      `  categories: ${list(resource.categories)},`,
      `  verbs: ${list(resource.verbs)},`,
      `  subresources: ${list(resource.subresources.map((s) => s.name))},`,
      '};\n',
    ].join('\n');
  }
}

/** `core/v1` is the module `core-v1`. */
function moduleName(pack: string): string {
  return pack.replace('/', '-');
}

/** `rbac/v1` is imported as `rbacV1`. */
function alias(pack: string): string {
  return pack.replace(/\/(.)/, (_, first: string) => first.toUpperCase());
}

/**
 * The plural of the kind in camel case: NetworkPolicy, networkpolicies -> networkPolicies; CSIDriver -> csiDrivers. A resource that is
 * not named after its kind (metrics: `nodes` of NodeMetrics) is called after the kind.
 */
function resourceConstant({ kind, resource }: ResourceFact): string {
  const lower = kind.toLowerCase();
  let common = 0;
  while (common < resource.length && resource[common] === lower[common]) common++;
  const plural = common < lower.length - 1 ? kind : kind.slice(0, common) + resource.slice(common);
  const acronym = /^[A-Z]+(?=[A-Z][a-z])|^[A-Z]/.exec(plural)?.[0] ?? '';
  return acronym.toLowerCase() + plural.slice(acronym.length);
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function list(items: readonly string[]): string {
  return `[${items.map(quote).join(', ')}]`;
}

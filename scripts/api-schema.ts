/**
 * Writes the kind tables, `src/api/gen/schema.json`: what `src/apimachinery/schema.ts` loads. Types keep the facts' words; kinds,
 * resources, discovery and field selectors are joined so that a reader finds each thing in one place. One entry per line.
 */
import type { Facts } from './facts.ts';

interface DiscoveryFacts {
  readonly groups: readonly object[];
  readonly resources: readonly DiscoveryResource[];
  readonly gates: readonly object[];
  readonly apiPriorities: readonly object[];
  readonly storagePrefixes: readonly { readonly group: string; readonly resource: string; readonly prefix: string }[];
  readonly sharedStorage: readonly (readonly string[])[];
}

interface DiscoveryResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly singularName: string;
  readonly subresources?: readonly object[];
  readonly [fact: string]: unknown;
}

export function schemaDocument(
  facts: Facts,
  discovery: DiscoveryFacts,
  selectors: { readonly resources: readonly object[] },
): string {
  const kinds: Record<string, object> = {};
  for (const [apiVersion, byKind] of Object.entries(facts.kinds)) {
    for (const [kind, fact] of Object.entries(byKind)) kinds[`${apiVersion}/${kind}`] = fact;
  }
  return document({
    release: facts.release,
    packages: facts.packages,
    types: facts.types,
    kinds,
    everyGroupVersion: facts.everyGroupVersion,
    resources: resources(facts, discovery),
    groups: discovery.groups,
    apiPriorities: discovery.apiPriorities,
    gates: discovery.gates,
    selectors: selectors.resources,
  });
}

/** The API server's resources in discovery's order, then those of other servers (metrics.k8s.io), marked `external`. */
function resources(facts: Facts, discovery: DiscoveryFacts): object[] {
  const result: object[] = [];
  const known = new Set<string>();
  for (const resource of discovery.resources) {
    const { singularName, ...rest } = resource;
    const key = `${resource.group}/${resource.version}/${resource.resource}`;
    known.add(key);
    result.push({
      ...rest,
      singular: singularName,
      ...kindIds(facts, resource),
      subresources: resource.subresources ?? [],
      storagePrefix: storagePrefix(discovery, resource),
    });
  }
  for (const resource of facts.resources) {
    if (known.has(`${resource.group}/${resource.version}/${resource.resource}`)) continue;
    result.push({
      ...resource,
      storageVersionHashNeeded: undefined,
      ...kindIds(facts, resource),
      enabledByDefault: false,
      external: true,
    });
  }
  return result;
}

function kindIds(
  facts: Facts,
  resource: { group: string; version: string; kind: string },
): { type: string; list?: string } {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  const kind = facts.kinds[apiVersion]?.[resource.kind];
  if (!kind) throw new Error(`no kind ${resource.kind} in ${apiVersion}`);
  return kind.list === undefined ? { type: kind.type } : { type: kind.type, list: kind.list };
}

/**
 * Where etcd keeps the objects, under `/registry/`: the resource's name, behind its group for groups that came after the core ones
 * were laid out flat, unless upstream named the folder otherwise.
 */
function storagePrefix(discovery: DiscoveryFacts, resource: DiscoveryResource): string {
  const { group, resource: name } = resource;
  const special = discovery.storagePrefixes.find((p) => p.group === group && p.resource === name);
  if (special) return special.prefix;
  if (group === 'events.k8s.io') return 'events';
  const grouped = ['apiextensions.k8s.io', 'apiregistration.k8s.io'];
  return grouped.includes(group) ? `${group}/${name}` : name;
}

/** JSON with one line per entry of each top-level table. */
function document(tables: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(tables).map(([name, table]) => {
    if (Array.isArray(table))
      return `${JSON.stringify(name)}:[\n${table.map((row) => JSON.stringify(row)).join(',\n')}\n]`;
    if (typeof table !== 'object' || table === null) return `${JSON.stringify(name)}:${JSON.stringify(table)}`;
    const rows = Object.entries(table).map(([key, row]) => `${JSON.stringify(key)}:${JSON.stringify(row)}`);
    return `${JSON.stringify(name)}:{\n${rows.join(',\n')}\n}`;
  });
  return `{\n${parts.join(',\n')}\n}\n`;
}

/**
 * Which resources this server serves, and in which form each is kept. Several versions of a resource share one `StoredKind`:
 * one place in the store, one watch cache, one behaviour; the version in which they are kept is the hub, and the others are
 * converted from and to it. The built-in ones come from the kind tables at start; custom ones come and go while the server runs. Looked up
 * by group, version and resource, and by nothing slower.
 */

import { behaviourOf } from '../api/behaviours.ts';
import { conversionTo } from '../api/conversions.ts';
import { builtinResources, builtinSchema } from '../api/schema.ts';
import { apiVersionOf, groupResource } from '../apimachinery/resource.ts';
import type { ResourceRow, SelectorRow, SubresourceRow } from '../apimachinery/schema.ts';
import { once } from '../base/once.ts';
import { deprecationWarning } from './deprecation.ts';
import { tableCodec } from './encoding/resource-codec.ts';
import type { ServedResource, StoredKind } from './served-resource.ts';
import { fieldReader } from './watch-cache/selectable-fields.ts';

export interface ResourceConfig {
  /** As `--runtime-config`: `api/all`, `api/ga`, `api/beta`, `api/alpha`, `group/version`, `group/version/resource`. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>> | undefined;
  readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
}

export class ServedResources {
  readonly #byKey = new Map<string, ServedResource>();
  /** How many resources each apiVersion has. */
  readonly #versions = new Map<string, number>();
  readonly #builtInGroups = new Set<string>();
  readonly #storedByName = new Map<string, StoredKind>();
  readonly #listeners: ((gone: readonly StoredKind[]) => void)[] = [];
  /** Raised with every change: what was derived from an older one is out of date. */
  generation = 0;

  constructor(config: ResourceConfig = {}) {
    const rows = enabledResources(config);
    const stored = new Map<string, StoredKind>();
    for (const row of rows) {
      this.#builtInGroups.add(row.group);
      const served = serve(row, rows, stored);
      (served.stored?.versions as Map<string, ServedResource> | undefined)?.set(served.apiVersion, served);
      this.#add(served);
    }
    for (const kind of stored.values()) this.#storedByName.set(kind.name, kind);
  }

  /**
   * Puts the versions of a custom resource in the place of those it had. What the server itself serves it keeps: a custom resource
   * cannot take a built-in one's place.
   */
  replace(previous: readonly ServedResource[], next: readonly ServedResource[]): void {
    const gone = new Set<StoredKind>();
    for (const served of previous) {
      const key = keyOf(served.row.group, served.row.version, served.row.resource);
      if (this.#byKey.get(key) !== served) continue;
      this.#byKey.delete(key);
      this.#count(served.apiVersion, -1);
      if (!served.stored) continue;
      gone.add(served.stored);
      if (this.#storedByName.get(served.stored.name) === served.stored) this.#storedByName.delete(served.stored.name);
    }
    for (const served of next) {
      const { group, version, resource } = served.row;
      if (this.#byKey.has(keyOf(group, version, resource))) continue;
      this.#add(served);
      if (served.stored) this.#storedByName.set(served.stored.name, served.stored);
      if (served.stored) gone.delete(served.stored);
    }
    this.generation++;
    for (const listener of this.#listeners) listener([...gone]);
  }

  /** What a served resource tells of itself has changed, and nothing else. */
  touch(): void {
    this.generation++;
  }

  /** Calls back after every change of what is served, with what is served no longer. */
  onChange(listener: (gone: readonly StoredKind[]) => void): void {
    this.#listeners.push(listener);
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#byKey.get(keyOf(group, version, resource));
  }

  /** Whether any resource of this group version is served: decides between two kinds of 404. */
  hasVersion(group: string, version: string): boolean {
    return this.#versions.has(apiVersionOf({ group, version }));
  }

  /** Whether this is a path of the core group or of another one that is built in, whatever stands there. */
  isBelowBuiltIn(path: string): boolean {
    const [, root, group = ''] = path.split('/');
    if (root === 'api') return true;
    return root === 'apis' && group !== '' && this.#builtInGroups.has(group);
  }

  /** By its name, as in `poddisruptionbudgets.policy`; undefined when it is not served. */
  storedNamed(name: string): StoredKind | undefined {
    return this.#storedByName.get(name);
  }

  all(): IterableIterator<ServedResource> {
    return this.#byKey.values();
  }

  #add(served: ServedResource): void {
    this.#byKey.set(keyOf(served.row.group, served.row.version, served.row.resource), served);
    this.#count(served.apiVersion, 1);
  }

  #count(apiVersion: string, change: 1 | -1): void {
    const count = (this.#versions.get(apiVersion) ?? 0) + change;
    if (count > 0) this.#versions.set(apiVersion, count);
    else this.#versions.delete(apiVersion);
  }
}

export function subresourceOf(served: ServedResource, name: string): SubresourceRow | undefined {
  return served.row.subresources.find((subresource) => subresource.name === name);
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}

function serve(row: ResourceRow, rows: readonly ResourceRow[], known: Map<string, StoredKind>): ServedResource {
  const apiVersion = apiVersionOf(row);
  const stored = row.storageVersion === undefined ? undefined : storedKind(row, rows, known);
  return {
    row,
    apiVersion,
    listKind: `${row.kind}List`,
    codec: stored?.hub === row ? stored.codec : tableCodec(row, row.type),
    stored,
    conversion: stored === undefined || stored.hub === row ? undefined : conversionTo(stored.hub, row),
    selectors: selectorsOf(row),
    deprecation: deprecationWarning(row),
  };
}

function storedKind(row: ResourceRow, rows: readonly ResourceRow[], known: Map<string, StoredKind>): StoredKind {
  const prefix = `/registry/${row.storagePrefix}/`;
  const existing = known.get(prefix);
  if (existing) return existing;
  const sharing = rows.filter((other) => other.storagePrefix === row.storagePrefix);
  const hub = sharing.find((other) => apiVersionOf(other) === row.storageVersion) ?? sharing[0]!;
  const behaviour = once(() => behaviourOf(hub));
  const selectableFields = once(() => fieldReader(selectorsOf(hub), hub.namespaced, behaviour()));
  const kind: StoredKind = {
    name: groupResource(hub),
    prefix,
    namespaced: hub.namespaced,
    hub,
    hubApiVersion: apiVersionOf(hub),
    codec: tableCodec(hub, hub.type),
    get behaviour() {
      return behaviour();
    },
    selectors: selectorsOf(hub),
    custom: false,
    versions: new Map(),
    selectableFields: (object) => selectableFields()(object),
    get keepsStatus() {
      return behaviour().keepsStatus ?? hub.subresources.some((subresource) => subresource.name === 'status');
    },
  };
  known.set(prefix, kind);
  return kind;
}

function selectorsOf(row: ResourceRow): SelectorRow | undefined {
  return builtinSchema().document.selectors.find((s) => s.group === row.group && s.resource === row.resource);
}

/** Those whose group no version of this server knows, sorted; given as `group/version`. */
export function unknownGroupVersions(groupVersions: readonly string[]): readonly string[] {
  const known = new Set(builtinSchema().document.groups.map(({ group }) => group));
  return [...new Set(groupVersions)].filter((text) => !known.has(text.split('/')[0] ?? '')).sort();
}

function enabledResources({ runtimeConfig = {}, featureGates = {} }: ResourceConfig): ResourceRow[] {
  const { groups, gates } = builtinSchema().document;
  const stability = new Map(
    groups.flatMap((group) =>
      group.versions.map((version) => [`${group.group}/${version.version}`, version.stability] as const),
    ),
  );
  const defaultGates = new Map(gates.map((gate) => [gate.gate, gate.default]));
  return builtinResources().filter((row) => {
    const apiVersion = apiVersionOf(row);
    const level = stability.get(`${row.group}/${row.version}`);
    const version = [apiVersion, `${row.group}/${row.version}`, `api/${level}`, 'api/all']
      .map((key) => runtimeConfig[key])
      .find((value) => value !== undefined);
    const enabled = runtimeConfig[`${apiVersion}/${row.resource}`] ?? version ?? row.enabledByDefault;
    const gated = row.gate === undefined || (featureGates[row.gate] ?? defaultGates.get(row.gate) ?? false);
    return enabled && gated;
  });
}

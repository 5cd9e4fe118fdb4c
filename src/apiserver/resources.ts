/**
 * Which resources this server serves, and in which form each is kept. Several versions of a resource share one `StoredKind`:
 * one place in the store, one watch cache, one behaviour; the version in which they are kept is the hub, and the others are
 * converted from and to it. Built from the kind tables at start and looked up by group, version and resource ever after.
 */

import { behaviourOf } from '../api/behaviours.ts';
import { type Conversion, conversionTo } from '../api/conversions.ts';
import type { KindBehaviour } from '../api/kind.ts';
import { builtinResources, builtinSchema } from '../api/schema.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { apiVersionOf, groupResource } from '../apimachinery/resource.ts';
import type { ResourceRow, SelectorRow, SubresourceRow, TypeSchema } from '../apimachinery/schema.ts';
import { deprecationWarning } from './deprecation.ts';
import { fieldReader } from './watch-cache/selectable-fields.ts';

/** What all served versions of one resource have in common. */
export interface StoredKind {
  /** `pods`, `deployments.apps`: of the hub version. */
  readonly name: string;
  /** Where the objects lie: `/registry/pods/`. */
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly hub: ResourceRow;
  readonly hubApiVersion: string;
  readonly type: TypeSchema;
  readonly behaviour: KindBehaviour;
  /** Facts on field selectors of the hub version. */
  readonly selectors: SelectorRow | undefined;
  readonly keepsStatus: boolean;
  /** Every served version, by apiVersion. */
  readonly versions: ReadonlyMap<string, ServedResource>;
  /** Values that field selectors compare, under the hub version's names. */
  selectableFields(object: KubeObject): Readonly<Record<string, string>>;
}

/** One resource in one served version. */
export interface ServedResource {
  readonly row: ResourceRow;
  readonly apiVersion: string;
  readonly type: TypeSchema;
  /** Absent for resources without storage: reviews and the like. */
  readonly stored: StoredKind | undefined;
  /** Between this version and the hub; absent for the hub itself. */
  readonly conversion: Conversion | undefined;
  readonly selectors: SelectorRow | undefined;
  /** What clients are warned of, if anything. */
  readonly deprecation: string | undefined;
}

export interface ResourceConfig {
  /** As `--runtime-config`: `api/all`, `api/ga`, `api/beta`, `api/alpha`, `group/version`, `group/version/resource`. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>> | undefined;
  readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
}

export class ServedResources {
  readonly #byKey = new Map<string, ServedResource>();
  readonly #versions = new Set<string>();
  readonly stored: readonly StoredKind[];

  constructor(config: ResourceConfig = {}) {
    const rows = enabledResources(config);
    const stored = new Map<string, StoredKind>();
    for (const row of rows) {
      const served = serve(row, rows, stored);
      (served.stored?.versions as Map<string, ServedResource> | undefined)?.set(served.apiVersion, served);
      this.#byKey.set(keyOf(row.group, row.version, row.resource), served);
      this.#versions.add(served.apiVersion);
    }
    this.stored = [...stored.values()];
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#byKey.get(keyOf(group, version, resource));
  }

  /** Whether any resource of this group version is served: decides between two kinds of 404. */
  hasVersion(group: string, version: string): boolean {
    return this.#versions.has(apiVersionOf({ group, version }));
  }

  all(): IterableIterator<ServedResource> {
    return this.#byKey.values();
  }

  /** Discovery's input: the rows that are switched on. */
  rows(): ResourceRow[] {
    return [...this.#byKey.values()].map((served) => served.row);
  }
}

export function subresourceOf(served: ServedResource, name: string): SubresourceRow | undefined {
  return served.row.subresources.find((subresource) => subresource.name === name);
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}

function serve(row: ResourceRow, rows: readonly ResourceRow[], known: Map<string, StoredKind>): ServedResource {
  const schema = builtinSchema();
  const apiVersion = apiVersionOf(row);
  const stored = row.storageVersion === undefined ? undefined : storedKind(row, rows, known);
  return {
    row,
    apiVersion,
    get type() {
      return schema.type(row.type);
    },
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
  const schema = builtinSchema();
  const behaviour = once(() => behaviourOf(hub));
  const selectableFields = once(() => fieldReader(selectorsOf(hub), hub.namespaced, behaviour()));
  const kind: StoredKind = {
    name: groupResource(hub),
    prefix,
    namespaced: hub.namespaced,
    hub,
    hubApiVersion: apiVersionOf(hub),
    get type() {
      return schema.type(hub.type);
    },
    get behaviour() {
      return behaviour();
    },
    selectors: selectorsOf(hub),
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

/** What needs a kind's code is worked out when it is first asked for: see `behaviours.ts`. */
function once<T>(compute: () => T): () => T {
  let memo: { readonly value: T } | undefined;
  return () => {
    memo ??= { value: compute() };
    return memo.value;
  };
}

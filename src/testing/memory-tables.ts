/** What a `MemoryApi` keeps: a table of each resource, one revision for all, and the changes since the past was last forgotten. */
import { isDeepStrictEqual } from 'node:util';
import { parseFieldSelector } from '../apimachinery/fields.ts';
import { parseLabelSelector } from '../apimachinery/labels.ts';
import { type Draft, type KubeObject, keyOf } from '../apimachinery/meta.ts';
import { apiVersionOf, type GroupVersionResource } from '../apimachinery/resource.ts';
import type { ResourceRow } from '../apimachinery/schema.ts';
import { expired } from '../apimachinery/status.ts';
import { deepFreeze } from '../base/deep-freeze.ts';

export type Loose = Draft<KubeObject> & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
} & Record<string, unknown>;

export interface Table {
  readonly row: ResourceRow;
  /** By `namespace/name`. Frozen. */
  readonly objects: Map<string, KubeObject>;
}

export interface Change {
  readonly table: Table;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  readonly revision: number;
}

export type ChangeListener = (change: Change) => void;

/** The objects that a list or a watch is about. */
export interface Selection {
  readonly table: Table;
  readonly matches: (object: KubeObject) => boolean;
}

export class MemoryTables {
  readonly #tables = new Map<string, Table>();
  readonly #listeners: ChangeListener[] = [];
  #changes: Change[] = [];
  #revision = 1;
  #oldest = 0;

  /** Each resource is kept in its storage version, and served in that one alone. */
  constructor(rows: Iterable<ResourceRow>) {
    for (const row of rows) if (row.storageVersion) this.#tables.set(tableKey(row), { row, objects: new Map() });
  }

  get revision(): number {
    return this.#revision;
  }

  get rows(): readonly ResourceRow[] {
    return [...this.#tables.values()].map(({ row }) => row);
  }

  find(type: GroupVersionResource): Table | undefined {
    return this.#tables.get(tableKey(type));
  }

  of(type: GroupVersionResource): Table {
    const table = this.find(type);
    if (!table) throw new Error(`no resource ${tableKey(type)}`);
    return table;
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Puts a new version of an object in its place; what is the same as before stays as it is. */
  store(table: Table, object: Loose): KubeObject {
    const previous = table.objects.get(keyOf(object));
    object.apiVersion = apiVersionOf(table.row);
    object.kind = table.row.kind;
    if (previous && isDeepStrictEqual(withoutVersion(object), withoutVersion(previous))) return previous;
    return this.#write(table, object, previous ? 'MODIFIED' : 'ADDED');
  }

  remove(table: Table, object: Loose): KubeObject {
    return this.#write(table, object, 'DELETED');
  }

  /** Whether nothing keeps an object that is being deleted any more. */
  mayGo({ row }: Table, { metadata, spec }: Loose): boolean {
    if (!metadata.deletionTimestamp || (metadata.finalizers?.length ?? 0) > 0) return false;
    if (row.resource === 'namespaces') return ((spec?.finalizers as string[] | undefined) ?? []).length === 0;
    return row.resource !== 'pods' || !metadata.deletionGracePeriodSeconds;
  }

  /** What happened to these objects after the version; without one, as if all that are there had just come. */
  since(table: Table, version: string | undefined): readonly Change[] {
    if (version === undefined || version === '' || version === '0')
      return [...table.objects.values()].map((object) => ({
        ...{ table, type: 'ADDED', object, previous: undefined, revision: this.#revision },
      }));
    if (Number(version) < this.#oldest) throw expired(`too old resource version: ${version} (${this.#oldest})`);
    return this.#changes.filter((change) => change.table === table && change.revision > Number(version));
  }

  compact(): void {
    this.#oldest = this.#revision;
    this.#changes = [];
  }

  #write(table: Table, object: Loose, type: Change['type']): KubeObject {
    const key = keyOf(object);
    const previous = table.objects.get(key);
    object.metadata.resourceVersion = String(++this.#revision);
    const stored = deepFreeze(object) as KubeObject;
    if (type === 'DELETED') table.objects.delete(key);
    else table.objects.set(key, stored);
    const change = { table, type, object: stored, previous, revision: this.#revision };
    this.#changes.push(change);
    for (const listener of this.#listeners) listener(change);
    return stored;
  }
}

export function selectionOf(
  table: Table,
  namespace: string | undefined,
  query: ReadonlyMap<string, string> | undefined,
): Selection {
  const labels = parseLabelSelector(query?.get('labelSelector') ?? '');
  const { requirements } = parseFieldSelector(query?.get('fieldSelector') ?? '');
  const matches = (object: KubeObject) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.matches(object.metadata.labels) &&
    requirements.every(({ field, operator, value }) => (valueAt(object, field) === value) === (operator !== '!='));
  return { table, matches };
}

function valueAt(object: KubeObject, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return value === undefined ? '' : String(value);
}

function withoutVersion(object: object & { readonly metadata: KubeObject['metadata'] }): unknown {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function tableKey({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}/${resource}`;
}

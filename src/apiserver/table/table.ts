/**
 * What `kubectl get` prints: the columns of each kind, computed here so that clients need not know the kinds. Never cached, for ages
 * depend on the clock. A kind without columns of its own has its name and its time of creation.
 */
import { defaultColumns } from '../../api/columns.ts';
import type { Column, KindBehaviour, RowCondition } from '../../api/kind.ts';
import { invalid as invalidField, path } from '../../apimachinery/field-error.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { invalid } from '../../apimachinery/status.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly version: 'v1' | 'v1beta1';
  readonly includeObject: IncludeObject;
  readonly nowMs: number;
  /** A watch tells its columns with the first event only. Default true. */
  readonly headers?: boolean;
}

/** The object as the client's version has it, and as its columns read it. */
export interface TableRow {
  readonly served: KubeObject;
  readonly hub: KubeObject;
}

export function tableOf(
  behaviour: Pick<KindBehaviour, 'columns' | 'rowConditions' | 'compareRows'> | undefined,
  rows: readonly TableRow[],
  options: TableOptions & { readonly metadata: object },
): object {
  const shown = behaviour?.columns ?? defaultColumns;
  const ordered = behaviour?.compareRows ? rows.toSorted((a, b) => behaviour.compareRows!(a.hub, b.hub)) : rows;
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: options.metadata,
    columnDefinitions: options.headers === false ? null : shown.map(definitionOf),
    rows: ordered.map((row) => ({
      cells: shown.map((column) => column.cell(row.hub, options.nowMs)),
      ...conditionsOf(behaviour?.rowConditions?.(row.hub)),
      ...rowObject(row.served, options),
    })),
  };
}

/**
 * A bookmark as a Table: a row without cells, for there is no object; its metadata stands where a client looks for it, whatever
 * it asked for.
 */
export function bookmarkTable(bookmark: KubeObject, version: TableOptions['version']): object {
  const { resourceVersion } = bookmark.metadata;
  const rows = [{ cells: [], object: partialMetadata(bookmark, version) }];
  const apiVersion = `meta.k8s.io/${version}`;
  return { kind: 'Table', apiVersion, metadata: { resourceVersion }, columnDefinitions: null, rows };
}

/** An object without anything but its metadata. */
export function partialMetadata(object: KubeObject, version: string): object {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

export function partialMetadataList(items: readonly object[], version: string, metadata: object): object {
  return { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata, items };
}

/** `?includeObject=`; what a row carries beside its cells. Throws 422 for what it does not know. */
export function parseIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const error = invalidField(path('includeObject'), value, "must be 'Metadata', 'Object', 'None', or empty");
  throw invalid({ group: 'meta.k8s.io', kind: 'TableOptions' }, '', [error]);
}

function definitionOf(column: Column<KubeObject>): object {
  return {
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? '',
    priority: column.priority ?? 0,
  };
}

function conditionsOf(conditions: readonly RowCondition[] = []): { conditions?: readonly RowCondition[] } {
  return conditions.length > 0 ? { conditions } : {};
}

function rowObject(object: KubeObject, { includeObject, version }: TableOptions): { object?: object } {
  if (includeObject === 'None') return {};
  return { object: includeObject === 'Object' ? object : partialMetadata(object, version) };
}

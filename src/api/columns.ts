/**
 * The words of which tables are made: the columns that nearly every kind has, and how labels, selectors, containers and access
 * modes are written into a cell. The texts are upstream's, since people and scripts read them.
 */

import type { LabelSelector } from '../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import type { Container } from './gen/core-v1.ts';
import { age } from './human-duration.ts';
import type { Column } from './kind.ts';

export interface ColumnOptions {
  readonly description?: string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
}

export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
  cell: (object) => object.metadata.name ?? '',
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  type: 'string',
  description:
    'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
  cell: (object, nowMs) => age(object.metadata.creationTimestamp, nowMs),
};

/** Columns of kinds that have none of their own. */
export const defaultColumns: readonly Column<KubeObject>[] = [
  nameColumn,
  {
    name: 'Created At',
    type: 'date',
    description: ageColumn.description!,
    cell: (object) => object.metadata.creationTimestamp ?? null,
  },
];

export function text<T>(name: string, cell: Column<T>['cell'], options: ColumnOptions = {}): Column<T> {
  return column('string', name, cell, options);
}

export function integer<T>(name: string, cell: Column<T>['cell'], options: ColumnOptions = {}): Column<T> {
  return column('integer', name, cell, options);
}

export function boolean<T>(name: string, cell: Column<T>['cell'], options: ColumnOptions = {}): Column<T> {
  return column('boolean', name, cell, options);
}

function column<T>(
  type: Column<T>['type'],
  name: string,
  cell: Column<T>['cell'],
  { description, wide }: ColumnOptions,
): Column<T> {
  return { name, type, ...(description ? { description } : {}), ...(wide ? { priority: 1 } : {}), cell };
}

/** `a=1,b=2`, in order of keys; `<none>` for no labels. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}

/** `a=1,b in (x,y),!c`; empty for a selector that asks nothing. Undefined when an operator is not one. */
export function selectorText(selector: LabelSelector | undefined): string | undefined {
  const requirements: [key: string, text: string][] = [];
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) requirements.push([key, `${key}=${value}`]);
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const list = values.toSorted().join(',');
    if (operator === 'In') requirements.push([key, `${key} in (${list})`]);
    else if (operator === 'NotIn') requirements.push([key, `${key} notin (${list})`]);
    else if (operator === 'Exists') requirements.push([key, key]);
    else if (operator === 'DoesNotExist') requirements.push([key, `!${key}`]);
    else return undefined;
  }
  requirements.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return requirements.map(([, requirement]) => requirement).join(',');
}

/** A selector in a cell: `<none>` when it asks nothing. */
export function labelSelectorText(selector: LabelSelector | undefined): string {
  const selection = selectorText(selector);
  if (selection === undefined) return '<error>';
  return selection === '' ? '<none>' : selection;
}

/** The two wide columns of everything that has a Pod template. */
export function containerColumns<T>(containersOf: (object: T) => readonly Container[] | undefined): Column<T>[] {
  return [
    text('Containers', (object) => (containersOf(object) ?? []).map(({ name }) => name).join(','), {
      description: 'Names of each container in the template.',
      wide: true,
    }),
    text('Images', (object) => (containersOf(object) ?? []).map(({ image }) => image ?? '').join(','), {
      description: 'Images referenced by each container in the template.',
      wide: true,
    }),
  ];
}

const accessModeShortNames: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];

export function accessModesText(modes: readonly string[] | undefined): string {
  const short = accessModeShortNames.filter(([mode]) => modes?.includes(mode)).map(([, name]) => name);
  return short.join(',');
}

/** `a,b,c + 2 more...` once there are more than `most`. */
export function withMore(list: readonly string[], most: number, total = list.length): string {
  const shown = list.slice(0, most).join(',');
  return total > most ? `${shown} + ${total - most} more...` : shown;
}

/** Addresses of a load balancer: IPs or host names, sorted, each once. */
export function loadBalancerText(
  ingress: readonly { readonly ip?: string | undefined; readonly hostname?: string | undefined }[] | undefined,
): string {
  const addresses = (ingress ?? []).map(({ ip, hostname }) => ip || hostname || '').filter((address) => address !== '');
  return [...new Set(addresses)].sort().join(',');
}

/**
 * Managers: who has which fields of an object, as `metadata.managedFields` tells it. An entry is known by its operation, manager and
 * subresource, and an Update also by its apiVersion; there is one entry for each. This file reads, writes, orders and limits
 * entries; what a write does to them is in `ownership.ts`.
 */
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { type FieldSet, isMember, parseFieldSet, union } from './field-set.ts';

export type ManagerOperation = 'Apply' | 'Update';

export interface Manager {
  readonly manager: string;
  readonly operation: ManagerOperation;
  readonly subresource: string;
  /** The version whose fields these are. */
  readonly apiVersion: string;
  readonly time: string | undefined;
  /** Never empty. */
  readonly fields: FieldSet;
}

/** Who writes. */
export type Writer = Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>;

/** By identity. */
export type Managers = ReadonlyMap<string, Manager>;

export function identityOf({ manager, operation, apiVersion, subresource }: Writer): string {
  const version = operation === 'Apply' ? '' : apiVersion;
  return `${manager}\0${operation}\0${version}\0${subresource}`;
}

/** Whether a client asks to forget all owners: an empty list, or one of an empty entry. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (entries === undefined) return false;
  return entries.length === 0 || (entries.length === 1 && Object.values(entries[0]!).every((value) => !value));
}

/** Entries that this server wrote: their field sets are used as they are. */
export function storedManagers(entries: readonly ManagedFieldsEntry[] | undefined): Managers {
  return collect(entries ?? [], (fields) => fields as FieldSet | undefined);
}

/** Entries that a client sent. Throws `Error` when they are none. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Managers {
  for (const [index, { operation, apiVersion, fieldsType }] of entries.entries()) {
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
    if (!apiVersion) throw new Error('apiVersion must not be empty');
    if (!fieldsType) throw new Error(`missing fieldsType in managed fields entry ${index}`);
    if (fieldsType !== 'FieldsV1') {
      throw new Error(`invalid fieldsType "${fieldsType}" in managed fields entry ${index}`);
    }
  }
  return collect(entries, parseFieldSet);
}

function collect(
  entries: readonly ManagedFieldsEntry[],
  read: (fields: unknown) => FieldSet | undefined,
): Map<string, Manager> {
  const managers = new Map<string, Manager>();
  for (const entry of entries) {
    const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsV1 } = entry;
    const fields = read(fieldsV1);
    const writer = { manager, operation: operation as ManagerOperation, apiVersion, subresource };
    // An entry of nothing is kept as upstream keeps it: until the next write.
    managers.set(identityOf(writer), { ...writer, time, fields: fields ?? noFields });
  }
  return managers;
}

const noFields: FieldSet = Object.freeze({});

/** Whether nothing is left in a set that may come from an empty entry. */
export function holdsNothing(fields: FieldSet | undefined): boolean {
  return fields === undefined || isMember(fields);
}

/**
 * As they stand in an object (`share` may give an equal set in the place of each); undefined where there is nobody. Applied
 * entries first, then by time and name.
 */
export function managerEntries(
  managers: Managers,
  share: (writer: Writer, fields: FieldSet) => FieldSet = (_, fields) => fields,
): ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  const sorted = [...managers.values()];
  if (sorted.length > 1) sorted.sort(compareManagers);
  return sorted.map((entry) => {
    const { manager, operation, apiVersion, time, subresource } = entry;
    return {
      ...(manager === '' ? {} : { manager }),
      operation,
      apiVersion,
      ...(time === undefined ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: share(entry, entry.fields),
      ...(subresource === '' ? {} : { subresource }),
    };
  });
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    // Times are in seconds and of one form, so their text sorts as they do; none is the oldest.
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const mostUpdateEntries = 10;
const ancientChanges = 'ancient-changes';

/** Folds the oldest entries of updates into one per version, until there are no more than ten. */
export function capManagers(managers: Managers): Managers {
  let updates = 0;
  for (const { operation } of managers.values()) if (operation === 'Update') updates++;
  if (updates <= mostUpdateEntries) return managers;
  const result = new Map(managers);
  const oldest = [...managers].filter(([, { operation }]) => operation === 'Update');
  oldest.sort(([a, x], [b, y]) => compareText(x.time ?? '', y.time ?? '') || compareText(a, b));
  const firsts = new Map<string, string>();
  for (const [identity, entry] of oldest) {
    if (updates <= mostUpdateEntries) break;
    const { apiVersion, time } = entry;
    const first = firsts.get(apiVersion);
    if (first === undefined) {
      firsts.set(apiVersion, identity);
      continue;
    }
    const bucket: Writer = { manager: ancientChanges, operation: 'Update', apiVersion, subresource: '' };
    const key = identityOf(bucket);
    const gathered = result.get(key) ?? result.get(first)!;
    if (!result.has(key)) result.delete(first);
    result.delete(identity);
    result.set(key, { ...bucket, time, fields: union(gathered.fields, entry.fields)! });
    updates--;
  }
  return result;
}

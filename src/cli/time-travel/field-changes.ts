/**
 * What differs between two states of an object, field by field, and who is written down as having done it. Items of lists are told apart by
 * what names them, where they have such a field, so that an insertion is not a change of everything after it:
 *
 *     spec.template.spec.containers[name=web].image: nginx:1 -> nginx:2
 */
import type { ManagedFieldsEntry } from '../../apimachinery/gen/meta-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';

export interface FieldChange {
  readonly path: string;
  /** Undefined: it was not there. */
  readonly before: unknown;
  readonly after: unknown;
  readonly steps: readonly Step[];
}

/** A field, or an item of a list: itself, where it is an object. */
type Step = { readonly field: string } | { readonly item: unknown };

type JsonObject = Readonly<Record<string, unknown>>;

/** Fields that name the items of a list, if every item has one of its own. */
const namingFields = ['name', 'type', 'key', 'ip', 'uid', 'mountPath', 'containerPort', 'port', 'host'];

/** What every write changes says nothing. */
const bookkeeping: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'generation']);

/** In the order of the newer state; what is gone comes last at its level. */
export function fieldChanges(before: KubeObject, after: KubeObject): FieldChange[] {
  const changes: FieldChange[] = [];
  compare(withoutBookkeeping(before), withoutBookkeeping(after), { path: '', steps: [] }, changes);
  return changes;
}

/**
 * Those who wrote: whose entry is new or has another time. Whose entry only shrank has lost fields to them. None, when the write came within
 * the second of their last one.
 */
export function writersOf(before: KubeObject | undefined, after: KubeObject): readonly ManagedFieldsEntry[] {
  const known = new Set((before?.metadata.managedFields ?? []).map(identityOf));
  return (after.metadata.managedFields ?? []).filter((entry) => !known.has(identityOf(entry)));
}

/** Those who have one of the changed fields. */
export function ownersOf(after: KubeObject, changes: readonly FieldChange[]): readonly ManagedFieldsEntry[] {
  const entries = after.metadata.managedFields ?? [];
  return entries.filter(({ fieldsV1 }) => changes.some(({ steps }) => owns(fieldsV1, steps)));
}

function identityOf({ manager, operation, subresource, apiVersion, time }: ManagedFieldsEntry): string {
  return JSON.stringify([manager, operation, subresource, apiVersion, time]);
}

/** Who did this of several: whoever has the field, or the only one there is. */
export function writerOf(
  writers: readonly ManagedFieldsEntry[],
  { steps }: FieldChange,
): ManagedFieldsEntry | undefined {
  return writers.length === 1 ? writers[0] : writers.find(({ fieldsV1 }) => owns(fieldsV1, steps));
}

export function owns(fields: unknown, steps: readonly Step[]): boolean {
  let node = fields;
  for (const [i, step] of steps.entries()) {
    if (!isObject(node)) return false;
    const next: unknown = 'field' in step ? node[`f:${step.field}`] : itemOf(node, step.item);
    if (next === undefined) return false;
    // Who has a list or a map as a whole has everything in it.
    if (i > 0 && isObject(next) && Object.keys(next).length === 0) return true;
    node = next;
  }
  return true;
}

/** The manager as `kubectl get --show-managed-fields` names it. */
export function managerText({ manager = 'unknown', operation, subresource }: ManagedFieldsEntry): string {
  return `${manager} (${[operation, subresource].filter(Boolean).join(' ')})`;
}

function itemOf(node: JsonObject, item: unknown): unknown {
  if (!isObject(item)) return node[`v:${JSON.stringify(item)}`];
  const element = Object.keys(node).find((name) => {
    if (!name.startsWith('k:')) return false;
    const keys = JSON.parse(name.slice(2)) as JsonObject;
    return Object.entries(keys).every(([key, value]) => item[key] === value);
  });
  return element === undefined ? undefined : node[element];
}

interface Place {
  readonly path: string;
  readonly steps: readonly Step[];
}

function compare(before: unknown, after: unknown, place: Place, changes: FieldChange[]): void {
  if (Array.isArray(before) && Array.isArray(after)) return compareLists(before, after, { place, changes });
  if (isObject(before) && isObject(after)) {
    for (const field of new Set([...Object.keys(after), ...Object.keys(before)])) {
      const steps = [...place.steps, { field }];
      compare(before[field], after[field], { path: joined(place.path, field), steps }, changes);
    }
    return;
  }
  if (before !== after) changes.push({ ...place, before, after });
}

interface ListPlace {
  readonly place: Place;
  readonly changes: FieldChange[];
}

function compareLists(before: readonly unknown[], after: readonly unknown[], { place, changes }: ListPlace): void {
  const naming = namingFields.find((field) => isNaming(field, before) && isNaming(field, after));
  const nameOf = (item: unknown, index: number) => (naming === undefined ? index : (item as JsonObject)[naming]);
  const old = new Map(before.map((item, index) => [nameOf(item, index), item]));
  const names = new Map(after.map((item, index) => [nameOf(item, index), item]));
  for (const [name, item] of [...names, ...[...old].filter(([name]) => !names.has(name))]) {
    const path = `${place.path}[${naming === undefined ? '' : `${naming}=`}${name}]`;
    compare(old.get(name), names.get(name), { path, steps: [...place.steps, { item }] }, changes);
  }
}

function isNaming(field: string, items: readonly unknown[]): boolean {
  const names = items.map((item) => (isObject(item) ? item[field] : undefined));
  return names.every((name) => name !== undefined) && new Set(names).size === items.length;
}

/** Names with dots or slashes, as labels have them, in brackets. */
function joined(path: string, field: string): string {
  if (/^[\w-]+$/.test(field)) return path === '' ? field : `${path}.${field}`;
  return `${path}[${field}]`;
}

function withoutBookkeeping(object: KubeObject): unknown {
  const metadata = Object.entries(object.metadata).filter(([field]) => !bookkeeping.has(field));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What a write does to the owners of fields. An update gives its manager what it set and takes that from all others; what it removed
 * nobody has any more. An apply merges a configuration into the object: its manager has exactly the fields the configuration speaks of; what it
 * had before and now leaves out is removed from the object unless somebody else has it; what others have with another value is a
 * conflict, unless forced.
 *
 * Field sets belong to a version: those of another are compared in that version. This file knows neither storage nor requests; what a kind's
 * fields are, how versions convert and which fields a write may not touch are its arguments.
 */
import { shareEqualParts } from '../../base/deep-freeze.ts';
import { type Comparison, compareObjects, type JsonObject } from './comparison.ts';
import { fieldsOf } from './configuration.ts';
import { difference, type FieldSet, intersection, union, without } from './field-set.ts';
import { capManagers, holdsNothing, identityOf, type Manager, type Managers, type Writer } from './managers.ts';
import { mergeConfiguration, removeFields, withStructFields } from './merge.ts';
import { reconciledFields } from './schema-change.ts';
import type { Shape } from './shape.ts';

/** A kind in the version of the write. */
export interface OwnedKind {
  readonly apiVersion: string;
  readonly shape: Shape;
  /** Fields that this write cannot change, so that nobody gets them by it (`status` of an update of the whole). */
  readonly reset: FieldSet | undefined;
  /** The same object in another version, and that version's shape; undefined when nobody knows the version any more. */
  inVersion(object: JsonObject, apiVersion: string): { readonly object: JsonObject; readonly shape: Shape } | undefined;
  /** The shape of a version; undefined for one that is no more. */
  shapeIn(apiVersion: string): Shape | undefined;
  /** `reconciledFields`, for those who remember which sets need nothing. */
  reconciled?(shape: Shape, set: FieldSet): FieldSet;
  /** The reverse: from that version to the version of the write. */
  fromVersion(object: JsonObject, apiVersion: string): JsonObject;
}

export interface UpdateRequest {
  readonly kind: OwnedKind;
  readonly live: JsonObject;
  readonly next: JsonObject;
  readonly managers: Managers;
  readonly writer: Writer;
  readonly now: string;
}

export interface ApplyRequest extends Omit<UpdateRequest, 'next'> {
  readonly config: JsonObject;
  readonly force: boolean;
}

export interface Conflict {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

export type ApplyOutcome =
  /** `object` is undefined when the configuration changes nothing. */
  | { readonly object: JsonObject | undefined; readonly managers: Managers }
  | { readonly conflicts: readonly Conflict[] };

/** Fields that are nobody's: the server's own, and the object's name. */
const unowned: FieldSet = {
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': {
    '.': {},
    'f:clusterName': {},
    'f:creationTimestamp': {},
    'f:generation': {},
    'f:managedFields': {},
    'f:name': {},
    'f:namespace': {},
    'f:resourceVersion': {},
    'f:selfLink': {},
    'f:uid': {},
  },
};

/** Managers after a create, update or patch. `live` is `{}` for a creation. */
export function updateOwnership({ kind, live, next, writer, now, ...request }: UpdateRequest): Managers {
  const managers = reconciledManagers(kind, request.managers);
  const own = unlessReset(compareObjects(kind.shape, live, next), kind.reset);
  const result = new Map<string, Manager>();
  const self = identityOf(writer);
  for (const [identity, manager] of managers) {
    const changed = comparisonFor(kind, manager.apiVersion, { live, next, own });
    if (changed === undefined) continue;
    // What the writer sets it has below: left where it is, it leaves the set of whoever writes the same fields again as it was.
    const taken = identity === self ? intersection(changed.set, unowned) : changed.set;
    const fields = difference(difference(manager.fields, taken), changed.removed);
    if (!holdsNothing(fields))
      result.set(identity, fields === manager.fields ? manager : { ...manager, fields: fields! });
  }
  const set = difference(own.set, unowned);
  if (!holdsNothing(set)) {
    const previous = result.get(self);
    result.set(self, { ...writer, time: now, fields: union(previous?.fields, set)! });
  }
  return capManagers(result);
}

/** Managers and object after an apply. */
export function applyOwnership(request: ApplyRequest): ApplyOutcome {
  const { kind, live, config, writer, now, force } = request;
  const identity = identityOf(writer);
  const managers = new Map(reconciledManagers(kind, request.managers));
  const last = managers.get(identity);
  const fields = without(fieldsOf(kind.shape, config), kind.reset);
  managers.set(identity, { ...writer, time: last?.time, fields: fields ?? {} });
  const merged = shareMembers(mergeConfiguration(kind.shape, live, config) as JsonObject, live);
  const next = last === undefined ? merged : prune(kind, merged, { managers, identity, last });
  const changes = compareObjects(kind.shape, live, next);
  const own = unlessReset(changes, kind.reset);
  const conflicts: Conflict[] = [];
  for (const [other, manager] of [...managers]) {
    if (other === identity) continue;
    const changed = comparisonFor(kind, manager.apiVersion, { live, next, own });
    if (changed === undefined) {
      managers.delete(other);
      continue;
    }
    const taken = intersection(manager.fields, changed.set);
    if (!holdsNothing(taken)) conflicts.push({ manager, fields: taken! });
    const kept = difference(difference(manager.fields, taken), changed.removed);
    if (holdsNothing(kept)) managers.delete(other);
    else managers.set(other, { ...manager, fields: kept! });
  }
  if (conflicts.length > 0 && !force) return { conflicts: conflicts.sort(byIdentity) };
  const changed = changes.set !== undefined || changes.removed !== undefined;
  const mine = difference(fields, unowned);
  if (holdsNothing(mine)) managers.delete(identity);
  else managers.set(identity, { ...writer, time: changed ? now : last?.time, fields: mine! });
  return { object: changed ? next : undefined, managers };
}

/** What of a merged object says the same as before becomes the very same, where that is frozen: whoever looks at it from here on passes over it. */
function shareMembers(merged: JsonObject, live: JsonObject): JsonObject {
  const shared: Record<string, unknown> = { ...merged };
  for (const [name, value] of Object.entries(live)) {
    if (typeof value === 'object' && Object.isFrozen(value)) shared[name] = shareEqualParts(shared[name], value);
  }
  return shared;
}

/** As the types are now. Managers of versions that are no more are left as they are, to be forgotten below. */
function reconciledManagers(kind: OwnedKind, managers: Managers): Managers {
  const { reconciled = reconciledFields } = kind;
  let changed: Map<string, Manager> | undefined;
  for (const [identity, manager] of managers) {
    const shape = kind.shapeIn(manager.apiVersion);
    const fields = shape ? reconciled(shape, manager.fields) : manager.fields;
    if (fields === manager.fields) continue;
    changed ??= new Map(managers);
    changed.set(identity, { ...manager, fields });
  }
  return changed ?? managers;
}

function byIdentity(a: Conflict, b: Conflict): number {
  return identityOf(a.manager) < identityOf(b.manager) ? -1 : 1;
}

function unlessReset({ set, removed }: Comparison, reset: FieldSet | undefined): Comparison {
  return reset === undefined ? { set, removed } : { set: without(set, reset), removed: without(removed, reset) };
}

interface Compared {
  readonly live: JsonObject;
  readonly next: JsonObject;
  /** In the version of the write. */
  readonly own: Comparison;
}

/** Undefined for a version that is no more: its managers are forgotten. */
function comparisonFor(kind: OwnedKind, apiVersion: string, { live, next, own }: Compared): Comparison | undefined {
  if (apiVersion === kind.apiVersion) return own;
  const before = kind.inVersion(live, apiVersion);
  const after = kind.inVersion(next, apiVersion);
  if (!before || !after) return undefined;
  if (after.shape === kind.shape) return own;
  return unlessReset(compareObjects(after.shape, before.object, after.object), kind.reset);
}

interface Pruning {
  readonly managers: Managers;
  readonly identity: string;
  /** What the manager had before this apply. */
  readonly last: Manager;
}

/**
 * Removes what the manager had applied before, does not apply now, and nobody else has. Elements and keys that nobody has stay when
 * the manager did not have them.
 */
function prune(kind: OwnedKind, merged: JsonObject, { managers, identity, last }: Pruning): JsonObject {
  if (last.apiVersion === managers.get(identity)!.apiVersion) {
    if (difference(last.fields, managers.get(identity)!.fields) === undefined) return merged;
  }
  const versioned = kind.inVersion(merged, last.apiVersion);
  if (!versioned) return merged;
  const { object, shape } = versioned;
  const had = withStructFields(shape, last.fields);
  const whole = withStructFields(shape, fieldsOf(shape, object));
  let pruned = removeFields(shape, object, had) as JsonObject;
  for (const [apiVersion, owned] of ownedByVersion(managers, last.apiVersion)) {
    pruned = addBackOwned(kind, { object, pruned, from: last.apiVersion, to: apiVersion, owned });
  }
  const left = withStructFields(shape, fieldsOf(shape, pruned));
  const result = removeFields(shape, object, intersection(difference(whole, left), had)) as JsonObject;
  return last.apiVersion === kind.apiVersion ? result : kind.fromVersion(result, last.apiVersion);
}

/** All that anybody has, by version; the version of the pruning first. */
function ownedByVersion(managers: Managers, first: string): Map<string, FieldSet | undefined> {
  const owned = new Map<string, FieldSet | undefined>([[first, undefined]]);
  for (const { apiVersion, fields } of managers.values()) {
    if (!holdsNothing(fields)) owned.set(apiVersion, union(owned.get(apiVersion), fields));
  }
  return owned;
}

interface AddingBack {
  readonly object: JsonObject;
  readonly pruned: JsonObject;
  /** Version of both objects. */
  readonly from: string;
  /** Version of what is owned. */
  readonly to: string;
  readonly owned: FieldSet | undefined;
}

function addBackOwned(kind: OwnedKind, { object, pruned, from, to, owned }: AddingBack): JsonObject {
  const there = (value: JsonObject) =>
    kind.inVersion(from === kind.apiVersion ? value : kind.fromVersion(value, from), to);
  const whole = there(object);
  const rest = there(pruned);
  if (!whole || !rest) return pruned;
  const { shape } = whole;
  const fields = (value: JsonObject) => withStructFields(shape, fieldsOf(shape, value));
  const kept = union(fields(rest.object), withStructFields(shape, owned));
  const result = removeFields(shape, whole.object, difference(fields(whole.object), kept)) as JsonObject;
  if (to === from) return result;
  const own = to === kind.apiVersion ? result : kind.fromVersion(result, to);
  return from === kind.apiVersion ? own : (kind.inVersion(own, from)?.object ?? pruned);
}

/** All fields of an object that nobody has tracked so far, as upstream gives them to its first manager. */
export const beforeFirstApply = 'before-first-apply';

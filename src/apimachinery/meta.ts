/**
 * What all objects share: metadata, references, ownership, and the type helper for building a value that the API's types
 * declare as immutable. Objects received from a client, an informer or the API server are never changed in place.
 */
import type { ObjectMeta, OwnerReference } from './gen/meta-v1.ts';

export type { ListMeta, ObjectMeta, OwnerReference } from './gen/meta-v1.ts';

/** Any object of the API. */
export interface KubeObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: ObjectMeta;
}

/** The same shape, writable all the way down: for code that builds or copies a value before anybody else sees it. */
export type Draft<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? Draft<E>[]
    : T extends object
      ? { -readonly [K in keyof T]: Draft<T[K]> }
      : T;

/** A deep, writable copy of JSON data. Shares nothing with the original. */
export function draft<T>(value: T): Draft<T> {
  return copy(value) as Draft<T>;
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = copy((value as Record<string, unknown>)[key]);
    if (key === '__proto__')
      Object.defineProperty(result, key, { value: field, enumerable: true, configurable: true, writable: true });
    else result[key] = field;
  }
  return result;
}

/** `namespace/name`, or `name` for a cluster-scoped object: the key of work queues and informers. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : (name ?? '');
}

/** The reverse of `keyOf`. */
export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The owner that manages this object, if it has one: at most one reference has `controller: true`. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** The reference a controller puts on what it creates: it is the controller, and its foreground deletion waits for the dependent. */
export function controllerReference(
  owner: KubeObject,
  gvk: { readonly group: string; readonly version: string; readonly kind: string },
): OwnerReference {
  return {
    apiVersion: gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`,
    kind: gvk.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

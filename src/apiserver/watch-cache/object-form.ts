/**
 * How a store keeps the objects of a kind. A store in memory keeps them as they are and encodes when somebody asks; a durable one
 * keeps canonical JSON and decodes when somebody asks. Neither form holds a resourceVersion: that is the revision of the entry.
 */

import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { decodeStored, encodeObject } from '../encoding/json.ts';
import type { StoredKind } from '../resources.ts';

/** Either what the store holds is the object, or it is its encoding. */
export interface ObjectForm<V> {
  readonly keepsObjects: boolean;
  /** The object (hub version, no resourceVersion) as the store keeps it. */
  toStored(kind: StoredKind, object: KubeObject): V;
  /** The object without its resourceVersion; decoded anew it is defaulted too, and not frozen. */
  toObject(kind: StoredKind, value: V): KubeObject;
  /** Its canonical JSON. */
  toBytes(kind: StoredKind, value: V): Uint8Array;
}

/** For `memoryStore<KubeObject>`: values are shared, so they are frozen on the way in. */
export const objectForm: ObjectForm<KubeObject> = {
  keepsObjects: true,
  toStored: (_kind, object) => object,
  toObject: (_kind, value) => value,
  toBytes: (kind, value) => encodeObject(kind.type, value),
};

/** For stores of bytes. */
export const jsonForm: ObjectForm<Uint8Array> = {
  keepsObjects: false,
  toStored: (kind, object) => encodeObject(kind.type, object),
  toObject(kind, value) {
    const object = decodeStored(kind, value) as Draft<KubeObject>;
    kind.behaviour.defaults?.(object);
    return object;
  },
  toBytes: (_kind, value) => value,
};

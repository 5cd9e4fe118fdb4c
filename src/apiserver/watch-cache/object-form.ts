/**
 * How a store keeps the objects of a kind. A store in memory keeps them as they are and encodes when somebody asks; a durable one
 * keeps bytes and decodes when somebody asks. No form holds a resourceVersion: that is the revision of the entry.
 */

import type { KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { wrapMessage } from '../../apimachinery/protobuf/envelope.ts';
import type { StoredKind } from '../resources.ts';
import { decodeKept, keptVersion } from './kept-object.ts';

/** Either what the store holds is the object, or it is its encoding. */
export interface ObjectForm<V> {
  readonly keepsObjects: boolean;
  /** The object (hub version, no resourceVersion) as the store keeps it. */
  toStored(kind: StoredKind, object: KubeObject): V;
  /** The object without its resourceVersion; decoded anew it is defaulted too, and not frozen. */
  toObject(kind: StoredKind, value: V): KubeObject;
  /** Whether two values are the same to a reader of the store. */
  equal(a: V, b: V): boolean;
  /** The version in which a value is kept. */
  apiVersionOf(value: V): string | undefined;
}

/** For `memoryStore<KubeObject>`: values are shared, so they are frozen on the way in. */
export const objectForm: ObjectForm<KubeObject> = {
  keepsObjects: true,
  toStored: (kind, object) => kind.codec.toStored(object),
  toObject: (_kind, value) => value,
  equal: jsonEqual,
  apiVersionOf: ({ apiVersion }) => apiVersion,
};

/** How new values are kept: `--storage-media-type`. Both are read, whichever is asked for. */
export type StoredMediaType = 'application/json' | 'application/vnd.kubernetes.protobuf';

/** For stores of bytes. */
const jsonForm: ObjectForm<Uint8Array> = {
  keepsObjects: false,
  toStored: (kind, object) => kind.codec.encodeStored(object),
  toObject(kind, value) {
    const object = decodeKept(kind, value);
    kind.behaviour.defaults?.(object);
    return object;
  },
  equal: (a, b) => Buffer.compare(a, b) === 0,
  apiVersionOf: keptVersion,
};

/** Upstream keeps these as JSON whatever it is told, as it does custom resources, which have no other form. */
const keptAsJson: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

const protobufForm: ObjectForm<Uint8Array> = {
  ...jsonForm,
  toStored(kind, object) {
    const { protobuf } = kind.codec;
    if (kind.custom || !protobuf || keptAsJson.has(kind.hub.group)) return jsonForm.toStored(kind, object);
    return wrapMessage(kind.hubApiVersion, kind.hub.kind, protobuf.encode(object));
  },
};

export function formOf(mediaType: StoredMediaType = 'application/json'): ObjectForm<Uint8Array> {
  return mediaType === 'application/json' ? jsonForm : protobufForm;
}

/**
 * How a store keeps the objects of a kind. A store in memory keeps them as they are and encodes when somebody asks; a durable one
 * keeps bytes (`byte-forms.ts`) and decodes when somebody asks. No form holds a resourceVersion: that is the revision of the entry.
 */

import type { KnownText } from '../../apimachinery/known-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import type { StoredKind } from '../served-resource.ts';
import type { EncodedMember, StandingObject } from './member-bytes.ts';

/** Either what the store holds is the object, or it is its encoding. */
export interface ObjectForm<V> {
  readonly keepsObjects: boolean;
  /** The object (hub version, no resourceVersion) as the store keeps it; `standing` is what it takes the place of. */
  toStored(kind: StoredKind, object: KubeObject, standing?: StandingObject): StoredObject<V>;
  /** The object without its resourceVersion; decoded anew it is defaulted too, and not frozen. */
  toObject(kind: StoredKind, value: V): KubeObject;
  /** What a client that has read the object may send back of it; absent where objects have no bytes. */
  knownText?(standing: StandingObject): KnownText;
  /** Whether two values are the same to a reader of the store. */
  equal(a: V, b: V): boolean;
  /** Memory that a value takes because it is kept here: none for objects, which the store holds as well. */
  bytesOf(value: V): number;
  /** The version in which a value is kept. */
  apiVersionOf(value: V): string | undefined;
}

export interface StoredObject<V> {
  readonly value: V;
  /** Where members lie in the value, if that is canonical JSON of the hub version. */
  readonly members?: readonly EncodedMember[] | undefined;
}

/** How new values are written: `--storage-media-type`. What is there is read in either form. */
export type StoredMediaType = 'application/json' | 'application/vnd.kubernetes.protobuf';

/** For `memoryStore<KubeObject>`: values are shared, so they are frozen on the way in. */
export const objectForm: ObjectForm<KubeObject> = {
  keepsObjects: true,
  toStored: (kind, object) => ({ value: kind.codec.toStored(object) }),
  toObject: (_kind, value) => value,
  equal: jsonEqual,
  bytesOf: () => 0,
  apiVersionOf: ({ apiVersion }) => apiVersion,
};

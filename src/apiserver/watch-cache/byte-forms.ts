/** The forms of stores of bytes; loaded with the first such store. */
import { wrapMessage } from '../../apimachinery/protobuf/envelope.ts';
import { decodeKept, keptVersion } from './kept-object.ts';
import { encodeByMembers, knownText } from './member-bytes.ts';
import type { ObjectForm, StoredMediaType } from './object-form.ts';

const jsonForm: ObjectForm<Uint8Array> = {
  keepsObjects: false,
  toStored(kind, object, standing) {
    const { codec, custom } = kind;
    if (custom || !codec.type) return { value: codec.encodeStored(object) };
    const { bytes, members } = encodeByMembers(object, { typeId: codec.type.id, standing });
    return { value: bytes, members };
  },
  knownText,
  toObject(kind, value) {
    const object = decodeKept(kind, value);
    kind.behaviour.defaults?.(object);
    return object;
  },
  equal: (a, b) => Buffer.compare(a, b) === 0,
  bytesOf: ({ length }) => length,
  apiVersionOf: keptVersion,
};

/** Upstream keeps these as JSON whatever it is told, as it does custom resources, which have no other form. */
const keptAsJson: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

const protobufForm: ObjectForm<Uint8Array> = {
  ...jsonForm,
  toStored(kind, object, standing) {
    const { protobuf } = kind.codec;
    if (kind.custom || !protobuf || keptAsJson.has(kind.hub.group)) return jsonForm.toStored(kind, object, standing);
    return { value: wrapMessage(kind.hubApiVersion, kind.hub.kind, protobuf.encode(object)) };
  },
};

export function formOf(mediaType: StoredMediaType = 'application/json'): ObjectForm<Uint8Array> {
  return mediaType === 'application/json' ? jsonForm : protobufForm;
}

/**
 * Kubernetes' protobuf as the API server writes it. A cached object is kept as its message alone; what stands around it depends on
 * where it goes:
 *
 *     a single object   k8s\0 {apiVersion, kind} 12 length MESSAGE 1a00 2200
 *     item of a list    12 length MESSAGE                             within the list's own message
 *     event of a watch  length in four bytes, {type, {single object}}
 *
 * The revision lies in the head of the message's ObjectMeta, which is rebuilt to change it; the tail is shared.
 */

import { envelopeEnd, envelopeHead, wrapMessage } from '../../apimachinery/protobuf/envelope.ts';
import type { TypeSchema } from '../../apimachinery/schema.ts';
import { statusError } from '../../apimachinery/status.ts';
import { WireReader } from '../../base/protobuf/wire-reader.ts';
import { WireWriter, wireTypes } from '../../base/protobuf/wire-writer.ts';
import { builtinCodec } from './json.ts';

/** A message without its envelope. */
export function encodeMessage(type: Pick<TypeSchema, 'id'>, object: object): Buffer {
  return builtinCodec().encodeMessage(object, type.id);
}

export function noProtobufForm(what: string): string {
  return `object ${what} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message`;
}

/** An object of any kind that has such a form. Throws 406 for others. */
export function encodeProtobuf(object: object): Buffer {
  const encoded = builtinCodec().encodeProtobuf(object);
  if (encoded) return encoded;
  const { kind } = object as { readonly kind?: string };
  throw noProtobuf(`*v1.${kind}`);
}

/** 406. */
function noProtobuf(what: string): Error {
  return statusError({ code: 406, reason: 'NotAcceptable', message: noProtobufForm(what) });
}

interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A cached message as a single object. */
export function wrapped({ apiVersion, kind }: TypeMeta, message: Uint8Array): Buffer {
  return wrapMessage(apiVersion, kind, message);
}

/** One event of a watch, its length before it. */
export function protobufFrame(type: string, object: Uint8Array): Buffer {
  const writer = new WireWriter(64);
  // The object lies in a RawExtension, a message that holds nothing but bytes.
  const rawLength = object.length;
  writer.varint(rawLength);
  writer.byte(rawKey);
  const extensionLength = rawLength + writer.written;
  writer.varint(extensionLength);
  writer.byte(objectKey);
  writer.text(type);
  writer.byte(typeKey);
  const head = writer.finish();
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(head.length + rawLength);
  return Buffer.concat([length, head, object]);
}

const typeKey = 8 + wireTypes.bytes;
const objectKey = 2 * 8 + wireTypes.bytes;
const rawKey = 8 + wireTypes.bytes;

/** The bytes before each item of a list. */
export function itemHead(messageLength: number): Buffer {
  const head = Buffer.allocUnsafe(itemHeadLength(messageLength));
  head[0] = itemsKey;
  let at = 1;
  let rest = messageLength;
  for (; rest >= 0x80; rest >>>= 7) head[at++] = (rest & 0x7f) | 0x80;
  head[at] = rest;
  return head;
}

export function itemHeadLength(messageLength: number): number {
  let length = 2;
  for (let rest = messageLength; rest >= 0x80; rest >>>= 7) length++;
  return length;
}

const itemsKey = 2 * 8 + wireTypes.bytes;

export interface ListParts {
  readonly head: Buffer;
  readonly end: Buffer;
}

/** What stands around the items of a list whose items, with their heads, have that many bytes. */
export function listParts(typeMeta: TypeMeta, metadata: object, itemBytes: number): ListParts {
  const message = encodeMessage({ id: 'meta/v1.ListMeta' }, metadata);
  const writer = new WireWriter(message.length + 16);
  writer.raw(message);
  writer.varint(message.length);
  writer.byte(metadataKey);
  const start = writer.finish();
  const head = envelopeHead(typeMeta.apiVersion, typeMeta.kind, start.length + itemBytes);
  return { head: Buffer.concat([head, start]), end: envelopeEnd };
}

const metadataKey = 8 + wireTypes.bytes;
const revisionKey = 6 * 8 + wireTypes.bytes;

/** A message of one revision as that of another: what a DELETED event carries. The first field is the metadata. */
export function replaceRevision(message: Buffer, revision: number): Buffer {
  const outer = new WireReader(message);
  if (outer.varint() !== metadataKey) throw new Error('the message does not begin with metadata');
  const metadata = outer.bytes();
  const after = message.subarray(metadata.byteOffset + metadata.length - message.byteOffset);
  const reader = new WireReader(metadata);
  for (;;) {
    const start = reader.position;
    const key = reader.varint();
    if (key !== revisionKey) {
      reader.skip(key % 8);
      continue;
    }
    reader.skip(wireTypes.bytes);
    const rest = metadata.subarray(reader.position);
    const writer = new WireWriter(start + 64);
    writer.text(String(revision));
    writer.byte(revisionKey);
    writer.raw(metadata.subarray(0, start));
    writer.varint(writer.written + rest.length);
    writer.byte(metadataKey);
    return Buffer.concat([writer.finish(), rest, after]);
  }
}

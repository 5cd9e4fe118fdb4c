/**
 * What Kubernetes puts around a protobuf message, so that it says what it is:
 *
 *     6b 38 73 00          `k8s\0`
 *     0a .. apiVersion, kind
 *     12 .. the message
 *     1a 00 22 00          no content encoding, no content type
 *
 * The head depends on the kind and on the message's length alone, so a message is kept without it, and is shared by single objects,
 * items of lists and events of watches.
 */
import { ProtobufError, WireReader } from '../../base/protobuf/wire-reader.ts';
import { WireWriter, wireTypes } from '../../base/protobuf/wire-writer.ts';

export interface ProtobufObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly message: Uint8Array;
}

const protobufMagic: Buffer = Buffer.from('k8s\0');

/** The bytes after every message. */
export const envelopeEnd: Buffer = Buffer.from([0x1a, 0x00, 0x22, 0x00]);

/** The bytes before a message of that length. */
export function envelopeHead(apiVersion: string, kind: string, messageLength: number): Buffer {
  const writer = new WireWriter(64 + apiVersion.length + kind.length);
  writer.varint(messageLength);
  writer.byte(2 * 8 + wireTypes.bytes);
  const before = writer.written;
  writer.text(kind);
  writer.byte(2 * 8 + wireTypes.bytes);
  writer.text(apiVersion);
  writer.byte(8 + wireTypes.bytes);
  writer.varint(writer.written - before);
  writer.byte(8 + wireTypes.bytes);
  writer.raw(protobufMagic);
  return writer.finish();
}

export function wrapMessage(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  return Buffer.concat([envelopeHead(apiVersion, kind, message.length), message, envelopeEnd]);
}

/** Whether bytes begin like an object in its envelope. */
export function hasEnvelope(bytes: Uint8Array): boolean {
  return protobufMagic.equals(bytes.subarray(0, protobufMagic.length));
}

/** Opens the envelope. Throws `ProtobufError` in upstream's words. */
export function openEnvelope(bytes: Uint8Array): ProtobufObject {
  if (bytes.length === 0) throw new ProtobufError('empty data');
  if (!hasEnvelope(bytes)) {
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  if (bytes.length === protobufMagic.length) throw new ProtobufError('empty body');
  const found: Mutable = { apiVersion: '', kind: '', message: new Uint8Array() };
  const reader = new WireReader(bytes.subarray(protobufMagic.length));
  eachField(reader, 'Unknown', (key) => {
    if (key === 8 + wireTypes.bytes) {
      const outer = reader.enter();
      readTypeMeta(reader, found);
      reader.end = outer;
    } else if (key === 2 * 8 + wireTypes.bytes) found.message = reader.bytes();
    else return false;
    return true;
  });
  return found;
}

type Mutable = { -readonly [K in keyof ProtobufObject]: ProtobufObject[K] };

function readTypeMeta(reader: WireReader, found: Mutable): void {
  eachField(reader, 'TypeMeta', (key) => {
    if (key === 8 + wireTypes.bytes) found.apiVersion = reader.text();
    else if (key === 2 * 8 + wireTypes.bytes) found.kind = reader.text();
    else return false;
    return true;
  });
}

function eachField(reader: WireReader, name: string, take: (key: number) => boolean): void {
  while (!reader.done) {
    const key = reader.varint();
    if (key % 8 === 4) throw new ProtobufError(`proto: ${name}: wiretype end group for non-group`);
    if (key < 8) throw new ProtobufError(`proto: ${name}: illegal tag 0 (wire type ${key})`);
    if (!take(key)) reader.skip(key % 8);
  }
}

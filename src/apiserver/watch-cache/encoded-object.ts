/**
 * Encoded objects without decoding them. Canonical JSON begins `{"kind":...,"apiVersion":...,"metadata":{`, so the version and the
 * revision of an object are changed by joining bytes:
 *
 *     in the store   {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a",...
 *     as served      {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a",...
 *     in a list      {"metadata":{"resourceVersion":"7","name":"a",...
 *
 * What is to stay has memory of its own. Node.js cuts small Buffers out of slabs of 64 KB that the whole process shares, so one kilobyte
 * that is kept for hours keeps sixty-three of others' with it. Slabs for one resource alone would not do either: its objects end in any
 * order, and a slab stays until the last of its k has ended, which under updates at random makes 1 + 1/2 + ... + 1/k times the bytes (2.7
 * for eight). Memory of one's own costs 0.3 KB a piece.
 */

/** The beginning that all objects of one kind and version share. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** Everything up to and including `"metadata":{`. */
  readonly head: Buffer;
  /** Bytes of `"kind":...,"apiVersion":...,` within the head, which items of a list go without. */
  readonly typeMetaLength: number;
}

export function envelopeOf(apiVersion: string, kind: string): Envelope {
  const typeMeta = `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  return {
    apiVersion,
    kind,
    head: Buffer.from(`{${typeMeta}"metadata":{`),
    typeMetaLength: Buffer.byteLength(typeMeta),
  };
}

/** Whether bytes have the canonical beginning, so that the functions here may be used on them. */
export function isCanonical(envelope: Envelope, bytes: Uint8Array): boolean {
  const { head } = envelope;
  if (bytes.length <= head.length) return false;
  for (let i = 0; i < head.length; i++) if (bytes[i] !== head[i]) return false;
  return true;
}

/** Puts the revision into stored bytes; the result is to stay. */
export function spliceRevision(envelope: Envelope, stored: Uint8Array, revision: number): Buffer {
  const { head } = envelope;
  const field = revisionField(revision);
  const served = Buffer.allocUnsafeSlow(stored.length + field.length);
  served.set(stored.subarray(0, head.length), 0);
  served.write(field, head.length, 'latin1');
  served.set(stored.subarray(head.length), head.length + field.length);
  return served;
}

/** Served bytes of one revision as those of another: what a DELETED event carries. */
export function replaceRevision(
  envelope: Envelope,
  served: Buffer,
  { from, to }: { readonly from: number; readonly to: number },
): Buffer {
  const { head } = envelope;
  const field = revisionField(to);
  const rest = served.subarray(head.length + revisionField(from).length);
  return Buffer.concat([head, Buffer.from(field, 'latin1'), rest]);
}

/** The same object under another apiVersion, where versions differ in nothing else; the result is to stay. */
export function replaceEnvelope(from: Envelope, to: Envelope, served: Buffer): Buffer {
  return joinToStay(to.head, served.subarray(from.head.length));
}

function revisionField(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

/** The parts one after the other. */
export function joinToStay(...parts: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** The same bytes, which hold no others': the very same array where it does so already. */
export function toStay(bytes: Uint8Array): Buffer {
  const { buffer, byteOffset, byteLength } = bytes;
  return buffer.byteLength === byteLength ? Buffer.from(buffer, byteOffset, byteLength) : joinToStay(bytes);
}

/**
 * Canonical JSON of an object, and where its larger members lie in it. Most writes leave most of an object alone, so the next version of
 * it takes those members' bytes from this one instead of writing them anew; and a client that sends back what it has read is recognised
 * by them (`apimachinery/known-text.ts`).
 *
 *     {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[...]},"spec":{...},"status":{...}}
 *                                                             managedFields         spec         status
 *
 * Places are counted from the end, so that they hold for the object as it is served too, whose resourceVersion stands near the beginning.
 */
import { KnownText } from '../../apimachinery/known-text.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { builtinCodec } from '../encoding/json.ts';

export interface EncodedObject {
  readonly bytes: Buffer;
  /** In the order of the bytes. */
  readonly members: readonly EncodedMember[];
}

export interface EncodedMember {
  /** Of a member of the object; `managedFields` is the one within its metadata. */
  readonly name: string;
  /** Where `"name":` begins, and where the value ends: bytes from there to the end of the object. */
  readonly start: number;
  readonly end: number;
}

/** An object and the bytes that were made of it. */
export interface StandingObject {
  readonly object: KubeObject;
  readonly encoded: EncodedObject;
}

/** Half of a surrogate pair alone, as JSON has it. Whoever reads such a text reads something else, so that it is not to be recognised. */
const loneSurrogate = '\\ud';

/** Smaller ones are written or read as quickly as they are found. */
const leastLength = 64;

const metadataType = 'meta/v1.ObjectMeta';

/** A member's value in an object. */
export function memberOf(object: KubeObject, name: string): unknown {
  if (name === 'managedFields') return object.metadata.managedFields;
  return (object as unknown as Readonly<Record<string, unknown>>)[name];
}

/** Writes an object of a kind of the tables; members that are the very values of `standing` are copied from its bytes. */
export function encodeByMembers(
  object: KubeObject,
  { typeId, standing }: { readonly typeId: string; readonly standing?: StandingObject | undefined },
): EncodedObject {
  const writing = new Writing(standing);
  writing.struct(object, typeId);
  return writing.end();
}

class Writing {
  readonly #standing: StandingObject | undefined;
  readonly #pieces: (string | Uint8Array)[] = [];
  readonly #members: { readonly name: string; readonly start: number; readonly end: number }[] = [];
  #text = '';
  /** Bytes in the pieces. */
  #length = 0;

  constructor(standing: StandingObject | undefined) {
    this.#standing = standing;
  }

  struct(value: object, typeId: string): void {
    let separator = '{';
    for (const { name, label, value: member, text } of builtinCodec().membersOf(value, typeId)) {
      this.#text += separator;
      separator = ',';
      if (name === 'metadata' && typeId !== metadataType) {
        this.#text += label;
        this.struct(member ?? {}, metadataType);
      } else if (typeof member === 'object' && (typeId !== metadataType || name === 'managedFields')) {
        this.#member(name, member, () => label + text());
      } else this.#text += label + text();
    }
    this.#text += separator === '{' ? '{}' : '}';
  }

  end(): EncodedObject {
    this.#flush();
    const length = this.#length;
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') at += bytes.write(piece, at);
      else {
        bytes.set(piece, at);
        at += piece.length;
      }
    }
    const members = this.#members.map(({ name, start, end }) => ({ name, start: length - start, end: length - end }));
    return { bytes, members };
  }

  #member(name: string, value: object | null, text: () => string): void {
    const copied = this.#copyOf(name, value);
    const written = copied ? '' : text();
    if (!copied && (written.length < leastLength || written.includes(loneSurrogate))) {
      this.#text += written;
      return;
    }
    this.#flush();
    const start = this.#length;
    if (copied) {
      this.#pieces.push(copied);
      this.#length += copied.length;
    } else {
      this.#text = written;
      this.#flush();
    }
    this.#members.push({ name, start, end: this.#length });
  }

  /** The bytes of the standing object's member, label and all. */
  #copyOf(name: string, value: object | null): Uint8Array | undefined {
    if (!this.#standing || value === null) return undefined;
    const { object, encoded } = this.#standing;
    if (memberOf(object, name) !== value || !Object.isFrozen(value)) return undefined;
    const member = encoded.members.find((other) => other.name === name);
    return member && bytesOf(encoded, member);
  }

  #flush(): void {
    if (this.#text === '') return;
    this.#pieces.push(this.#text);
    this.#length += Buffer.byteLength(this.#text);
    this.#text = '';
  }
}

/** What a client that has read the object may send back. */
export function knownText({ object, encoded }: StandingObject): KnownText {
  return new KnownText(
    encoded.members.map((member) => ({
      name: member.name,
      parent: member.name === 'managedFields' ? 'metadata' : undefined,
      bytes: bytesOf(encoded, member),
      value: memberOf(object, member.name) as object,
    })),
  );
}

/** A member as it is written: `"spec":{...}`. */
export function bytesOf({ bytes }: EncodedObject, { start, end }: EncodedMember): Buffer {
  return bytes.subarray(bytes.length - start, bytes.length - end);
}

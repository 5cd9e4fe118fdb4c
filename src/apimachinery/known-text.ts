/**
 * A request's text without those members that are known already. A client that updates an object sends back most of what it has read, byte
 * for byte; such a member need not be parsed, counted, checked against the table and defaulted to become what lies there frozen.
 *
 *     sent       {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[...]},"spec":{...}}
 *     shortened  {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":null},"spec":null}
 *
 * Bytes that look like a member may be something else: within a string, a member of an object further down, one of several of that name.
 * `scan` finds where each hole is, and who counts keys finds the repeated ones: a text in which anything is amiss is to be read whole.
 */
import { endOfString, type JsonScan } from './json-text.ts';

/** A member of an object, or (`parent`) of its metadata, whose value is a struct, a map or a list. */
export interface KnownMember {
  readonly name: string;
  readonly parent?: 'metadata' | undefined;
  /** As it was written, `"name":` included. */
  readonly bytes: Uint8Array;
  readonly value: object;
}

export interface Hole {
  readonly member: KnownMember;
  /** Where in the text the null stands in the place of the value. */
  readonly at: number;
}

const placeholder = 'null';
/** By so many bytes a place is found at which it is worth while to compare all. */
const probeLength = 24;
/** A text may have that many places that only begin like a member. */
const attempts = 4;

/** What a client may send as it has read it. */
export class KnownText {
  readonly #members: readonly KnownMember[];

  constructor(members: readonly KnownMember[]) {
    this.#members = members;
  }

  /** The text of a body without them; undefined where none of them is found. */
  leaveOutOf(body: Uint8Array): ShortenedText | undefined {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const found = this.#members
      .map((member) => ({ member, start: placeOf(bytes, member.bytes) }))
      .filter(({ start }) => start >= 0)
      .sort((a, b) => a.start - b.start);
    if (found.length === 0) return undefined;
    const holes: Hole[] = [];
    let text = '';
    let read = 0;
    for (const { member, start } of found) {
      // Within another one.
      if (start < read) continue;
      text += `${bytes.toString('utf8', read, start)}${labelOf(member)}`;
      holes.push({ member, at: text.length });
      text += placeholder;
      read = start + member.bytes.length;
    }
    return new ShortenedText(text + bytes.toString('utf8', read), holes);
  }
}

/** Negative for none. */
function placeOf(body: Buffer, member: Uint8Array): number {
  const probe = member.subarray(0, probeLength);
  let at = body.indexOf(probe);
  for (let attempt = 0; at >= 0 && attempt < attempts; attempt++) {
    const end = at + member.length;
    if (end <= body.length && body.compare(member, 0, member.length, at, end) === 0) return at;
    at = body.indexOf(probe, at + 1);
  }
  return -1;
}

function labelOf({ name }: KnownMember): string {
  return `${JSON.stringify(name)}:`;
}

class ShortenedText {
  readonly text: string;
  /** In the order of the text. */
  readonly holes: readonly Hole[];

  constructor(text: string, holes: readonly Hole[]) {
    this.text = text;
    this.holes = holes;
  }

  /**
   * As `scanJson`; undefined where a hole is not the value of the very member that was left out. The text must be valid JSON, or is found not to
   * be so by somebody else.
   */
  scan(): JsonScan | undefined {
    const { text, holes } = this;
    let keys = 0;
    let inexact = false;
    let digits = 0;
    let depth = 0;
    let deepest = 0;
    /** Where the last string began, and the one before the object in which we are, if that is a member's of the whole. */
    let label = 0;
    let parent = 0;
    let next = 0;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c >= 0x30 && c <= 0x39) {
        if (++digits > 15) inexact = true;
        continue;
      }
      if (c === 0x22) {
        label = i;
        i = endOfString(text, i);
      } else if (c === 0x3a) keys++;
      else if (c === 0x7b || c === 0x5b) {
        if (++depth === 2) parent = label;
        deepest = Math.max(deepest, depth);
      } else if (c === 0x7d || c === 0x5d) depth--;
      else if (c === 0x2e || ((c === 0x65 || c === 0x45) && digits > 0)) inexact = true;
      else if (c === 0x6e && i === holes[next]?.at) {
        const { member } = holes[next++]!;
        if (i - label !== labelOf(member).length) return undefined;
        const within = member.parent;
        if (depth !== (within ? 2 : 1) || (within && !text.startsWith(`"${within}"`, parent))) return undefined;
      }
      digits = 0;
    }
    return next === holes.length ? { keys, inexact, depth: deepest } : undefined;
  }
}

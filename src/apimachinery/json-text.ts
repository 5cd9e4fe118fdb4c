/**
 * JSON as text. `scanJson` looks over a text that `JSON.parse` has accepted and says what a parsed value can no longer tell: how
 * many keys there were, and whether a number needs a second look. `parseExact` is the slow parser for those cases: it keeps every
 * key and the digits of every number, and its syntax errors read as Go's. Neither knows anything of kinds.
 */
import { exactNumber } from './exact-json.ts';
import { quote } from './go-text.ts';

/** Nesting beyond this is refused, so that no walk over a value can exhaust the stack. */
export const maxJsonDepth = 1000;

export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

export interface JsonScan {
  /** Keys in all objects together, repeated ones counted each time. */
  readonly keys: number;
  /** Whether some number has a fraction, an exponent or more digits than a double keeps. */
  readonly inexact: boolean;
  readonly depth: number;
}

/** What a JSON text holds besides its parsed value. The text must be valid JSON. Strings are skipped at memchr's speed. */
export function scanJson(text: string): JsonScan {
  let keys = 0;
  let inexact = false;
  let digits = 0;
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x30 && c <= 0x39) {
      if (++digits > 15) inexact = true;
      continue;
    }
    if (c === 0x22) i = endOfString(text, i);
    else if (c === 0x3a) keys++;
    else if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === 0x2e || ((c === 0x65 || c === 0x45) && digits > 0)) inexact = true;
    digits = 0;
  }
  return { keys, inexact, depth: deepest };
}

/** Where the string that begins at `start` has its closing quote. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

const surrogate = /\\u[dD][89a-fA-F]/;
const escapeSequence =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/gs;
const escapedUnitLength = '\\ud800'.length;

/**
 * The text with U+FFFD for every escaped half of a surrogate pair that stands alone, as Go reads it: such a half is no character, so it
 * would be one thing to clients of JSON and another to those of protobuf.
 */
export function wellFormed(text: string): string {
  if (!text.includes('\\u') || !surrogate.test(text)) return text;
  return text.replace(escapeSequence, (found) => (found.length === escapedUnitLength ? '\\ufffd' : found));
}

/** A number by its digits: `1.0` and `1` differ to Go. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export class JsonObject {
  /** In the order of the text; a key may occur more than once. */
  readonly entries: (readonly [key: string, value: JsonNode])[] = [];
}

export type JsonNode = null | boolean | string | JsonNumber | JsonObject | JsonNode[];

/** Parses a JSON text keeping what `JSON.parse` loses. Throws `JsonSyntaxError` with the words of Go's decoder. */
export function parseExact(text: string): JsonNode {
  return new ExactParser(text).document();
}

/** The ordinary value of a node: the last of repeated keys wins, `__proto__` is a key like any other; an int64 that a double does not keep is a bigint. */
export function plainValue(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return exactNumber(node.text);
  if (Array.isArray(node)) return node.map(plainValue);
  if (!(node instanceof JsonObject)) return node;
  const value: Record<string, unknown> = {};
  for (const [key, entry] of node.entries) setOwn(value, key, plainValue(entry));
  return value;
}

/** Assigns a property even if its name is `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

const literals: Readonly<Record<string, readonly [word: string, value: null | boolean]>> = {
  t: ['true', true],
  f: ['false', false],
  n: ['null', null],
};

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class ExactParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonNode {
    const value = this.#value('looking for beginning of value');
    this.#space();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
    return value;
  }

  #value(context: string): JsonNode {
    this.#space();
    const c = this.#text[this.#at];
    if (c === '{') return this.#object();
    if (c === '[') return this.#array();
    if (c === '"') return this.#string();
    if (c === '-' || isDigit(c)) return this.#number();
    const literal = c === undefined ? undefined : literals[c];
    if (!literal) this.#fail(context);
    return this.#literal(literal[0], literal[1]);
  }

  #object(): JsonObject {
    const object = new JsonObject();
    this.#open();
    if (this.#text[this.#at] !== '}') {
      for (;;) {
        this.#space();
        if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
        const key = this.#string();
        this.#space();
        if (this.#text[this.#at] !== ':') this.#fail('after object key');
        this.#at++;
        object.entries.push([key, this.#value('looking for beginning of value')]);
        this.#space();
        if (this.#text[this.#at] === '}') break;
        if (this.#text[this.#at] !== ',') this.#fail('after object key:value pair');
        this.#at++;
      }
    }
    this.#close();
    return object;
  }

  #array(): JsonNode[] {
    const items: JsonNode[] = [];
    this.#open();
    if (this.#text[this.#at] !== ']') {
      for (;;) {
        items.push(this.#value('looking for beginning of value'));
        this.#space();
        if (this.#text[this.#at] === ']') break;
        if (this.#text[this.#at] !== ',') this.#fail('after array element');
        this.#at++;
      }
    }
    this.#close();
    return items;
  }

  #open(): void {
    if (++this.#depth > maxJsonDepth) this.#fail('exceeded max depth');
    this.#at++;
    this.#space();
  }

  #close(): void {
    this.#at++;
    this.#depth--;
  }

  #string(): string {
    const text = this.#text;
    let result = '';
    let start = ++this.#at;
    for (;;) {
      const c = text[this.#at];
      if (c === undefined || c < ' ') this.#fail('in string literal');
      if (c === '"') {
        result += text.slice(start, this.#at++);
        return result;
      }
      if (c !== '\\') {
        this.#at++;
        continue;
      }
      result += text.slice(start, this.#at++) + this.#escape();
      start = this.#at;
    }
  }

  #escape(): string {
    const c = this.#text[this.#at];
    if (c === 'u') {
      const start = ++this.#at;
      while (this.#at < start + 4) {
        if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape');
        this.#at++;
      }
      return String.fromCharCode(Number.parseInt(this.#text.slice(start, this.#at), 16));
    }
    const plain = c === undefined ? undefined : escapes[c];
    if (plain === undefined) this.#fail('in string escape code');
    this.#at++;
    return plain;
  }

  #number(): JsonNumber {
    const start = this.#at;
    if (this.#text[this.#at] === '-') {
      this.#at++;
      if (!isDigit(this.#text[this.#at])) this.#fail('in numeric literal');
    }
    if (this.#text[this.#at] === '0') this.#at++;
    else this.#digits('in numeric literal');
    if (this.#text[this.#at] === '.') {
      this.#at++;
      this.#digits('after decimal point in numeric literal');
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at++;
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at++;
      this.#digits('in exponent of numeric literal');
    }
    return new JsonNumber(this.#text.slice(start, this.#at));
  }

  #digits(context: string): void {
    if (!isDigit(this.#text[this.#at])) this.#fail(context);
    while (isDigit(this.#text[this.#at])) this.#at++;
  }

  #literal<T>(word: string, value: T): T {
    for (const expected of word) {
      if (this.#text[this.#at] !== expected) this.#fail(`in literal ${word} (expecting '${expected}')`);
      this.#at++;
    }
    return value;
  }

  #space(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.#at++;
    }
  }

  /** Go looks at bytes, so a character beyond ASCII is named by the first byte of its UTF-8 form. */
  #fail(context: string): never {
    const c = this.#text.codePointAt(this.#at);
    if (c === undefined) throw new JsonSyntaxError('unexpected end of JSON input');
    const byte = Buffer.from(String.fromCodePoint(c))[0]!;
    throw new JsonSyntaxError(`invalid character ${quoteByte(byte)} ${context}`);
  }
}

function isDigit(c: string | undefined): boolean {
  return c !== undefined && c >= '0' && c <= '9';
}

function quoteByte(byte: number): string {
  const c = String.fromCharCode(byte);
  if (c === "'") return "'\\''";
  if (c === '"') return `'"'`;
  return `'${quote(c).slice(1, -1)}'`;
}

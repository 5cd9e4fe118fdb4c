/** What the literals of an expression stand for. */
import { isInt64, isUint64 } from './integers.ts';

/** Undefined where the number has no place in 64 bits. */
export function intLiteral(digits: string, negative: boolean): bigint | undefined {
  const value = negative ? -BigInt(digits) : BigInt(digits);
  return isInt64(value) ? value : undefined;
}

/** `digits` with its `u`. */
export function uintLiteral(digits: string): bigint | undefined {
  const value = BigInt(digits.slice(0, -1));
  return isUint64(value) ? value : undefined;
}

/** A text or the reason why it is none. */
export type Unescaped = { readonly text: string } | { readonly mistake: string };

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/**
 * The text between a literal's quotes. In bytes, `\x` and octal escapes stand for bytes, so the text of `asBytes` is one
 * character per byte for them: see `bytesLiteral`.
 */
function unescapeParts(
  literal: string,
  take: (codePoint: number, isByte: boolean) => string | undefined,
): string | undefined {
  const raw = /^[rR]/.test(literal);
  const unprefixed = (raw ? literal.slice(1) : literal).replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const quotes = /^("""|''')/.test(unprefixed) && unprefixed.length >= 6 ? 3 : 1;
  const body = unprefixed.slice(quotes, -quotes);
  if (raw) return appendPlain(body, take);
  let mistake: string | undefined;
  const pattern = /\\(?:([xXuU])([\da-fA-F]+)|([0-3][0-7][0-7])|([\s\S]))|[^\\]+/g;
  body.replaceAll(pattern, (...groups) => {
    const [whole, letter, hex, octal, simple] = groups as readonly (string | undefined)[];
    if (mistake !== undefined) return '';
    if (letter !== undefined && hex !== undefined) {
      const length = letter === 'u' ? 4 : letter === 'U' ? 8 : 2;
      mistake = take(Number.parseInt(hex.slice(0, length), 16), letter === 'x' || letter === 'X');
      if (mistake === undefined) mistake = appendPlain(hex.slice(length), take);
    } else if (octal !== undefined) mistake = take(Number.parseInt(octal, 8), true);
    else if (simple !== undefined) mistake = appendPlain(simpleEscapes[simple] ?? simple, take);
    else mistake = appendPlain(whole!, take);
    return '';
  });
  return mistake;
}

function appendPlain(
  text: string,
  take: (codePoint: number, isByte: boolean) => string | undefined,
): string | undefined {
  for (const char of text) {
    const mistake = take(char.codePointAt(0)!, false);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

export function stringLiteral(literal: string): Unescaped {
  let text = '';
  const mistake = unescapeParts(literal, (codePoint) => {
    if (codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return 'invalid unicode code point';
    text += String.fromCodePoint(codePoint);
    return undefined;
  });
  return mistake === undefined ? { text } : { mistake };
}

/** A literal with its `b`. */
export function bytesLiteral(literal: string): Uint8Array | { readonly mistake: string } {
  if (!/^.[rR]/.test(literal) && /(?<!\\)(?:\\\\)*\\[uU]/.test(literal))
    return { mistake: 'unable to unescape string' };
  const chunks: Buffer[] = [];
  const mistake = unescapeParts(literal.slice(1), (codePoint, isByte) => {
    chunks.push(isByte ? Buffer.of(codePoint) : Buffer.from(String.fromCodePoint(codePoint)));
    return undefined;
  });
  return mistake === undefined ? new Uint8Array(Buffer.concat(chunks)) : { mistake };
}

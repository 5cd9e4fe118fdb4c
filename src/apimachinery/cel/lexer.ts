/**
 * Cuts an expression into tokens. What fits no token is reported and skipped, so that the parser still finds what else is
 * wrong. Kinds are named as messages print them: `'+'`, `IDENTIFIER`.
 */
import type { Issues, Source } from './issues.ts';

export interface Token {
  readonly kind: string;
  readonly text: string;
  /** In code points. */
  readonly offset: number;
}

export const endOfInput = '<EOF>';

const symbols = [
  '==',
  '!=',
  '<=',
  '>=',
  '&&',
  '||',
  '<',
  '>',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
];
const operators = ['+', '*', '/', '%'];
const keywords: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);

const quoted = (quote: string) =>
  `${quote}(?:\\\\(?:[abfnrtv"'\\\\?\`]|[0-3][0-7][0-7]|[xX][\\da-fA-F]{2}|u[\\da-fA-F]{4}|U[\\da-fA-F]{8})|[^\\\\${quote}\\n\\r])*${quote}`;
const longQuoted = (quote: string) =>
  `${quote}{3}(?:\\\\(?:[abfnrtv"'\\\\?\`]|[0-3][0-7][0-7]|[xX][\\da-fA-F]{2}|u[\\da-fA-F]{4}|U[\\da-fA-F]{8})|[^\\\\])*?${quote}{3}`;
const rawLong = (quote: string) => `[rR]${quote}{3}[\\s\\S]*?${quote}{3}`;
const raw = (quote: string) => `[rR]${quote}[^${quote}\\n\\r]*${quote}`;

/** Alternatives stand in order of length: the longest match counts, as in any lexer. */
const string = [
  longQuoted('"'),
  longQuoted("'"),
  rawLong('"'),
  rawLong("'"),
  quoted('"'),
  quoted("'"),
  raw('"'),
  raw("'"),
].join('|');
const escaped = (symbol: string) => symbol.replace(/[|\\{}()[\]^$+*?.]/g, '\\$&');

const rules: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  { kind: '', pattern: /[\t \r\n\f]+|\/\/[^\n]*/uy },
  { kind: 'NUM_FLOAT', pattern: /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/uy },
  { kind: 'NUM_UINT', pattern: /0x[\da-fA-F]+[uU]|\d+[uU]/uy },
  { kind: 'NUM_INT', pattern: /0x[\da-fA-F]+|\d+/uy },
  { kind: 'BYTES', pattern: new RegExp(`[bB](?:${string})`, 'uy') },
  { kind: 'STRING', pattern: new RegExp(`(?:${string})`, 'uy') },
  { kind: 'IDENTIFIER', pattern: /[A-Za-z_][A-Za-z0-9_]*/uy },
  { kind: 'ESC_IDENTIFIER', pattern: /`[A-Za-z0-9_.\-/ ]+`/uy },
  { kind: 'symbol', pattern: new RegExp([...symbols, ...operators].map(escaped).join('|'), 'uy') },
];

const kindOf = (rule: string, text: string) =>
  rule === 'symbol' || (rule === 'IDENTIFIER' && keywords.has(text)) ? `'${text}'` : rule;

/** The tokens, the last of kind `endOfInput`. */
export function tokenize(source: Source, issues: Issues): readonly Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let position = 0;
  let offset = 0;
  while (position < text.length) {
    const rule = rules.find(({ pattern }) => {
      pattern.lastIndex = position;
      return pattern.test(text);
    });
    const end = rule ? rule.pattern.lastIndex : endOfUnrecognized(text, position);
    const matched = text.slice(position, end);
    if (!rule) issues.report(offset, `Syntax error: token recognition error at: '${escapeWhitespace(matched)}'`);
    else if (rule.kind !== '') tokens.push({ kind: kindOf(rule.kind, matched), text: matched, offset });
    position = end;
    offset += Array.from(matched).length;
  }
  tokens.push({ kind: endOfInput, text: endOfInput, offset });
  return tokens;
}

/** A token that began well takes in the character that spoils it: `'abc` to the line's end, `& ` with its blank. */
function endOfUnrecognized(text: string, position: number): number {
  const char = text[position]!;
  const beginsLonger = /^(?:[bB]?[rR]?["'])/.exec(text.slice(position, position + 3));
  if (beginsLonger) {
    const quote = beginsLonger[0].at(-1)!;
    for (let i = position + beginsLonger[0].length; i < text.length; i++) {
      if (text[i] === '\n' || text[i] === '\r') return i + 1;
      if (text[i] === '\\' && !isEscape(text.slice(i + 1, i + 10)))
        return Math.min(text.length, endOfEscape(text, i + 1));
      if (text[i] === '\\') i++;
      else if (text[i] === quote) return i + 1;
    }
    return text.length;
  }
  if (char === '&' || char === '|' || char === '=' || char === '`') {
    return Math.min(text.length, position + 1 + String.fromCodePoint(text.codePointAt(position + 1) ?? 32).length);
  }
  return position + String.fromCodePoint(text.codePointAt(position)!).length;
}

const isEscape = (rest: string) =>
  /^(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/.test(rest);

/** Just past the first character of an escape that no escape goes on with. */
function endOfEscape(text: string, start: number): number {
  const longest = /^(?:[xX][\da-fA-F]?|u[\da-fA-F]{0,3}|U[\da-fA-F]{0,7}|[0-3][0-7]?|)/.exec(
    text.slice(start, start + 10),
  )!;
  return start + longest[0].length + 1;
}

const escapeWhitespace = (text: string) => text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

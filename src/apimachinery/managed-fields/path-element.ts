/**
 * The steps of a path in a field set, in the form FieldsV1 gives them: `f:name` is a field or a key of a map, `k:{"name":"x"}` an element
 * of a list by its keys, `v:"x"` one of a set by its value, `i:0` one by its index. A step is its text: equal steps are equal strings,
 * for keys are written sorted and without spaces. This file makes, orders, parses and prints steps; what they lead to it does not know.
 */
import { jsonText, parseJson } from '../exact-json.ts';
import { goJson, quote } from '../go-text.ts';

/** The keys of a list element, sorted by name, as `k:{...}`. */
export function keyElement(keys: readonly (readonly [name: string, value: unknown])[]): string {
  let text = '';
  for (const [name, value] of keys) text += `${text === '' ? '' : ','}${scalarText(name)}:${scalarText(value)}`;
  return `k:{${text}}`;
}

export function valueElement(value: unknown): string {
  return `v:${scalarText(value)}`;
}

/** Texts that JSON writes as they are. */
const plain = /^[\w .:/@%+-]*$/;

function scalarText(value: unknown): string {
  if (typeof value !== 'string') return jsonText(value);
  return plain.test(value) ? `"${value}"` : goJson(value);
}

/** One spelling for a step that came from outside; undefined for kinds of steps nobody knows. Throws `Error` for what is no step. */
export function canonicalElement(text: string): string | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:');
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`);
  const rest = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return valueElement(parseJson(rest));
    case 'k': {
      const keys = parseJson(rest);
      if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) throw new Error(`no keys: ${text}`);
      return keyElement(Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1)));
    }
    case 'i':
      if (!/^[+-]?\d+$/.test(rest)) throw new Error(`parsing ${quote(rest)}: invalid syntax`);
      return `i:${Number(rest)}`;
    default:
      return undefined;
  }
}

/** As messages print it: `.name`, `[name="x",port=80]`, `[="x"]`, `[0]`. */
export function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const keys = Object.entries(parseJson(rest) as Record<string, unknown>);
      return `[${keys.map(([name, value]) => `${name}=${valueText(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${valueText(parseJson(rest))}]`;
    default:
      return `[${rest}]`;
  }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? quote(value) : jsonText(value);
}

/** Upstream's order: fields, then keys, then values, then indices; numbers within them by size. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kindA = a.charCodeAt(0);
  if (kindA !== b.charCodeAt(0)) return kindOrder.indexOf(a[0]!) - kindOrder.indexOf(b[0]!);
  if (kindA === fieldKind) return a < b ? -1 : 1;
  return compareNumbersWithin(a, b);
}

const kindOrder = 'fkvi';
const fieldKind = 'f'.charCodeAt(0);

/** By text, but where both differ within a number (which follows a colon) by its size. */
function compareNumbersWithin(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  let start = at;
  while (start > 0 && isDigit(a, start - 1)) start--;
  if (a[start - 1] === ':' && (isDigit(a, start) || isDigit(b, start))) {
    const difference = Number.parseInt(a.slice(start), 10) - Number.parseInt(b.slice(start), 10);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return a < b ? -1 : 1;
}

function isDigit(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}

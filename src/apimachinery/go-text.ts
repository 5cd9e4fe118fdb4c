/**
 * How Go writes values into text: clients and tests match on messages, and upstream's are made with Go's `%q` and `%v`.
 */
import { jsonText } from './exact-json.ts';

/** Go's `%q` of a string: double quotes, Go's escapes, printable Unicode as it is. */
export function quote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  let quoted = '"';
  for (const character of text) quoted += quoteCharacter(character);
  return `${quoted}"`;
}

/** Names, mostly: printable ASCII without quotes and backslashes. */
const plain = /^[ !#-[\]-~]*$/;

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

function quoteCharacter(character: string): string {
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  if (printable.test(character)) return character;
  const code = character.codePointAt(0)!;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/** Go's `json.Marshal`: as `JSON.stringify`, with `<`, `>`, `&` and the two Unicode line separators escaped. */
export function goJson(value: unknown): string {
  const text = jsonText(value) ?? 'null';
  return text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Go's `%v` of a list of errors or strings joined into one: alone as it is, several as `[a, b]`, repeated ones once. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

/** Go's `%T` of a JSON value. */
export function goType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'bigint' || Number.isInteger(value)) return 'int64';
  const names: Readonly<Record<string, string>> = { number: 'float64', boolean: 'bool', string: 'string' };
  return names[typeof value] ?? 'map[string]interface {}';
}

/** Go's `%v` of a JSON value: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (typeof value !== 'object' || value === null)
    return value === null || value === undefined ? '<nil>' : String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, entry]) => `${key}:${goValue(entry)}`).join(' ')}]`;
}

/** Go writes the keys of a map sorted. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, field]) => [key, sortedKeys(field)]));
}

/** Equal JSON values, and only those, have the same text: the order of keys does not count. */
import { jsonText, parseJson } from '../exact-json.ts';

export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return jsonText(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonicalJson(entry)}`).join(',')}}`;
}

/** A copy with its keys in order, as Go writes maps. */
export function sortedJson(value: unknown): unknown {
  return typeof value === 'object' ? parseJson(canonicalJson(value)) : value;
}

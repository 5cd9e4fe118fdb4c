/**
 * The short name of a Pod template: what stands in `pod-template-hash` and at the end of a ReplicaSet's name. Equal templates give
 * equal hashes whatever the order of their keys; a collision is told apart by the collision count. The hash itself is no contract:
 * whether two templates are the same is always decided by comparing them.
 */
import { fnv1a } from '../../base/fnv.ts';

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

export function templateHash(template: unknown, collisionCount?: number): string {
  let hash = fnv1a(canonical(template));
  if (collisionCount !== undefined) hash = fnv1a(String.fromCharCode(...littleEndian(collisionCount)), hash);
  return safeEncode(String(hash));
}

/** Maps any text to letters that form no words: upstream's alphabet of generated names. */
function safeEncode(text: string): string {
  let encoded = '';
  for (let i = 0; i < text.length; i++) encoded += alphabet[text.charCodeAt(i) % alphabet.length];
  return encoded;
}

function littleEndian(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff];
}

/** JSON with sorted keys and without what encoding would drop. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = value as Readonly<Record<string, unknown>>;
  const present = Object.keys(fields)
    .filter((key) => fields[key] !== undefined && fields[key] !== null)
    .filter((key) => !(Array.isArray(fields[key]) && (fields[key] as readonly unknown[]).length === 0))
    .sort();
  return `{${present.map((key) => `${JSON.stringify(key)}:${canonical(fields[key])}`).join(',')}}`;
}

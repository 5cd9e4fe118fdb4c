/** What a mutation's expression gives, as JSON: apply configurations and the values of JSON patches. */
import {
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelTimestamp,
  CelUint,
  isCelError,
} from '../../../apimachinery/cel/index.ts';
import { setOwn } from '../../../apimachinery/json-text.ts';
import { formatTime } from '../../../apimachinery/time.ts';

/** Throws an `Error` for what no JSON can say. */
export function jsonOf(value: CelResult): unknown {
  if (isCelError(value)) throw new Error(value.message);
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof CelUint) return Number(value.value);
  if (value instanceof CelList) return Array.from({ length: value.size }, (_, index) => jsonOf(value.at(index)));
  if (value instanceof CelMap) return objectOf(value);
  if (value instanceof CelOptional) return value.value === undefined ? null : jsonOf(value.value);
  if (value instanceof CelTimestamp) return formatTime(value.seconds * 1000);
  if (value instanceof CelDuration) return `${Number(value.nanos) / 1e9}s`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  throw new Error('unsupported type conversion to JSON');
}

function objectOf(map: CelMap): object {
  const object: Record<string, unknown> = {};
  for (const key of map.keys()) {
    if (typeof key !== 'string') throw new Error(`map key ${JSON.stringify(String(key))} is not a string`);
    setOwn(object, key, jsonOf(map.get(key) ?? null));
  }
  return object;
}

/**
 * Throws an `Error` where an object that was written out stands under another field than its type says: `Object{spec:
 * Object.status{}}`. The names of types are all that is known of them.
 */
export function checkTypeNames(value: CelResult): void {
  const problems = typeNameProblems(value, undefined);
  if (problems.length > 0) throw new Error(`type mismatch: ${problems.join('\n')}`);
}

function typeNameProblems(value: CelResult, path: string | undefined): readonly string[] {
  if (value instanceof CelList) {
    return Array.from({ length: value.size }, (_, index) => typeNameProblems(value.at(index), path)).flat();
  }
  if (!(value instanceof CelMap)) return [];
  const { kind, name } = value.type;
  const here = kind === 'object' ? (path ?? name) : path;
  const wrong =
    kind === 'object' && here !== name
      ? [
          `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(here)}, which matches field name path from root Object type`,
        ]
      : [];
  const below = [...value.keys()].flatMap((key) => {
    const field = value.get(key) ?? null;
    return typeNameProblems(field, kind === 'object' && here !== undefined ? `${here}.${String(key)}` : here);
  });
  return [...wrong, ...below];
}

/** A value of an expression as JSON, for what is written into objects: times and durations as texts, bytes in base64. */
import { exactNumber } from '../../exact-json.ts';
import { setOwn } from '../../json-text.ts';
import { convertToString, typeOfValue } from '../conversions.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelTimestamp,
  CelUint,
  isCelError,
} from '../index.ts';

/** More parts than any object of the API can have. */
const mostParts = 1_000_000;

/** The JSON of a value, or why it has none. A value that holds another many times over is refused before it is written out. */
export function jsonOf(value: CelResult): { readonly json: unknown } | CelError {
  try {
    return { json: write(value, { parts: 0 }) };
  } catch (error) {
    if (error instanceof NoJson) return new CelError(error.message);
    throw error;
  }
}

class NoJson extends Error {}

function write(value: CelResult, written: { parts: number }): unknown {
  if (isCelError(value)) throw new NoJson(value.message);
  if (++written.parts > mostParts) throw new NoJson(`value has more than ${mostParts} parts`);
  if (typeof value === 'bigint') return exactNumber(String(value));
  if (value instanceof CelUint) return exactNumber(String(value.value));
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof CelTimestamp || value instanceof CelDuration) return convertToString(value);
  if (value instanceof CelOptional) return value.value === undefined ? null : write(value.value, written);
  if (value instanceof CelList)
    return Array.from({ length: value.size }, (_, index) => write(value.at(index), written));
  if (value instanceof CelMap) return writeMap(value, written);
  if (typeof value === 'object' && value !== null) throw new NoJson(`${typeOfValue(value).name} has no JSON form`);
  return value;
}

function writeMap(map: CelMap, written: { parts: number }): unknown {
  const object: Record<string, unknown> = {};
  for (const key of map.keys()) {
    if (typeof key !== 'string') {
      throw new NoJson(`map key ${String(key)} is of type ${typeOfValue(key).name}, not string`);
    }
    const entry = map.get(key);
    if (entry !== undefined) setOwn(object, key, write(entry, written));
  }
  return object;
}

/** Conversions between types (`int('3')`, `string(1.5)`), and the type that a value has (`type(x)`). */
import { integerOverflow, isInt64, isUint64, unsignedOverflow } from './integers.ts';
import { uint } from './operators.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timestampOf } from './times.ts';
import {
  boolType,
  bytesType,
  CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  nullType,
  optionalOf,
  stringType,
  timestampType,
  typeType,
  uintType,
} from './types.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  type CelResult,
  CelTimestamp,
  CelUint,
  type CelValue,
} from './values.ts';

export function typeOfValue(value: CelValue): CelType {
  switch (typeof value) {
    case 'bigint':
      return intType;
    case 'boolean':
      return boolType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
  }
  if (value === null) return nullType;
  if (value instanceof CelList || value instanceof CelMap || value instanceof CelOpaque) return value.type;
  if (value instanceof CelUint) return uintType;
  if (value instanceof CelTimestamp) return timestampType;
  if (value instanceof CelDuration) return durationType;
  if (value instanceof CelOptional) return anyOptional;
  return value instanceof CelType ? typeType : bytesType;
}

const anyOptional = optionalOf(dynType);

const impossible = (value: CelValue, to: CelType) =>
  new CelError(`type conversion error from '${typeOfValue(value).name}' to '${to.name}'`);

export function convertToInt(value: CelValue): CelResult {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') {
    return Number.isFinite(value) && value > -(2 ** 63) && value < 2 ** 63
      ? BigInt(Math.trunc(value))
      : integerOverflow();
  }
  if (typeof value === 'string') {
    const number = /^[+-]?\d+$/.test(value) ? BigInt(value.replace(/^\+/, '')) : undefined;
    return number !== undefined && isInt64(number) ? number : impossible(value, intType);
  }
  if (value instanceof CelUint) return isInt64(value.value) ? value.value : integerOverflow();
  if (value instanceof CelTimestamp) return BigInt(value.seconds);
  if (value instanceof CelDuration) return value.nanos;
  return impossible(value, intType);
}

export function convertToUint(value: CelValue): CelResult {
  if (value instanceof CelUint) return value;
  if (typeof value === 'bigint') return uint(value);
  if (typeof value === 'number') {
    return value >= 0 && value < 2 ** 64 ? new CelUint(BigInt(Math.trunc(value))) : unsignedOverflow();
  }
  if (typeof value === 'string' && /^\d+$/.test(value) && isUint64(BigInt(value))) return new CelUint(BigInt(value));
  return impossible(value, uintType);
}

const doubleText = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)$/i;

export function convertToDouble(value: CelValue): CelResult {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof CelUint) return Number(value.value);
  if (typeof value !== 'string' || !doubleText.test(value)) return impossible(value, doubleType);
  if (/nan/i.test(value)) return Number.NaN;
  if (/inf/i.test(value)) return value.startsWith('-') ? -Infinity : Infinity;
  const number = Number(value);
  return Number.isFinite(number) ? number : impossible(value, doubleType);
}

const trueTexts: ReadonlySet<CelValue> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts: ReadonlySet<CelValue> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

export function convertToBool(value: CelValue): CelResult {
  if (typeof value === 'boolean') return value;
  return trueTexts.has(value) || (falseTexts.has(value) ? false : impossible(value, boolType));
}

export function convertToBytes(value: CelValue): CelResult {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? new TextEncoder().encode(value) : impossible(value, bytesType);
}

export function convertToString(value: CelValue): CelResult {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatDouble(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelTimestamp) return formatTimestamp(value);
  if (value instanceof CelDuration) return formatDuration(value);
  if (value instanceof CelType) return value.name;
  if (!(value instanceof Uint8Array)) return impossible(value, stringType);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** As Go's `%g` writes it: an exponent of at least two digits from 1e6 on and below 1e-4. */
function formatDouble(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e6)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return String(value);
}

export function convertToTimestamp(value: CelValue): CelResult {
  if (value instanceof CelTimestamp) return value;
  if (typeof value === 'bigint') return timestampOf(Number(value), 0);
  const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return parsed ?? impossible(value, timestampType);
}

export function convertToDuration(value: CelValue): CelResult {
  if (value instanceof CelDuration) return value;
  const nanos = typeof value === 'string' ? parseDuration(value) : undefined;
  return nanos === undefined ? impossible(value, durationType) : new CelDuration(nanos);
}

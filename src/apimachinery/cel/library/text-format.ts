/**
 * `"%d of %s".format([3, "x"])`: the clauses of cel-go's strings extension, version 2, with its words for what they refuse. Numbers
 * in `%f` and `%e` are written for American readers (`1,234.500000`, `1.234500×10⁰³`), as that version does.
 */
import { quote } from '../../go-text.ts';
import { convertToString, typeOfValue } from '../conversions.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  type CelResult,
  CelTimestamp,
  CelType,
  CelUint,
  type CelValue,
  compareStrings,
  isCelError,
} from '../index.ts';
import { longestText, tooLong } from './text-limits.ts';

const defaultPrecision = 6;
/** More digits are noise, and a text of a million of them an attack. */
const greatestPrecision = 100;

/** Internal to one formatting: carries the message out of nested values. */
class FormatFault extends Error {}

export function formatText(pattern: string, args: CelList): CelResult {
  try {
    return interpolate(pattern, args);
  } catch (error) {
    if (error instanceof FormatFault) return new CelError(error.message);
    throw error;
  }
}

function interpolate(pattern: string, args: CelList): string {
  let text = '';
  let used = 0;
  for (let i = 0; i < pattern.length; ) {
    const percent = pattern.indexOf('%', i);
    if (percent < 0) return text + pattern.slice(i);
    text += pattern.slice(i, percent);
    if (pattern[percent + 1] === '%') {
      text += '%';
      i = percent + 2;
      continue;
    }
    if (used >= args.size) throw new FormatFault(`index ${used} out of range`);
    if (percent + 1 >= pattern.length) throw new FormatFault('unexpected end of string');
    const clause = readClause(pattern, percent + 1);
    text += during('error during formatting', () => clause.format(argument(args, used)));
    used++;
    i = clause.end;
  }
  return text;
}

function argument(args: CelList, index: number): CelValue {
  const value = args.at(index);
  if (isCelError(value)) throw new FormatFault(value.message);
  return value;
}

function during<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FormatFault) throw new FormatFault(`${what}: ${error.message}`);
    throw error;
  }
}

interface Clause {
  readonly end: number;
  format(value: CelValue): string;
}

function readClause(pattern: string, start: number): Clause {
  return during('could not parse formatting clause', () => {
    const precision = during('error while parsing precision', () => readPrecision(pattern, start));
    const verb = pattern[precision.end]!;
    const format = verbs(precision.digits ?? defaultPrecision).get(verb);
    if (!format) throw new FormatFault(`unrecognized formatting clause "${verb}"`);
    return { end: precision.end + 1, format };
  });
}

function readPrecision(pattern: string, start: number): { readonly end: number; readonly digits?: number } {
  if (pattern[start] !== '.') return { end: start };
  const digits = /^\d*/.exec(pattern.slice(start + 1))![0];
  const end = start + 1 + digits.length;
  if (end >= pattern.length) throw new FormatFault('could not find end of precision specifier');
  if (digits === '') {
    throw new FormatFault('error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax');
  }
  if (Number(digits) > greatestPrecision) {
    throw new FormatFault(`precision ${digits} exceeds maximum allowed precision ${greatestPrecision}`);
  }
  return { end, digits: Number(digits) };
}

function verbs(precision: number): ReadonlyMap<string, (value: CelValue) => string> {
  return new Map([
    ['s', formatValue],
    ['d', (value) => inBase(value, 10, 'decimal clause can only be used on integers')],
    ['f', (value) => fixedPoint(floating(value, 'fixed-point clause can only be used on doubles'), precision)],
    ['e', (value) => scientific(floating(value, 'scientific clause can only be used on doubles'), precision)],
    ['b', (value) => (typeof value === 'boolean' ? (value ? '1' : '0') : inBase(value, 2, binaryFault))],
    ['x', hexadecimal],
    ['X', (value) => hexadecimal(value).toUpperCase()],
    ['o', (value) => inBase(value, 8, 'octal clause can only be used on integers')],
  ]);
}

const binaryFault = 'only integers and bools can be formatted as binary';

function refuse(fault: string, value: CelValue): never {
  throw new FormatFault(`${fault}, was given ${typeOfValue(value).name}`);
}

function inBase(value: CelValue, base: number, fault: string): string {
  if (typeof value === 'bigint') return value.toString(base);
  if (value instanceof CelUint) return value.value.toString(base);
  return refuse(fault, value);
}

function hexadecimal(value: CelValue): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return inBase(value, 16, 'only integers, byte buffers, and strings can be formatted as hex');
}

function floating(value: CelValue, fault: string): number {
  if (typeof value === 'number') return value;
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return Number(value);
  return refuse(fault, value);
}

/** `%s`. */
function formatValue(value: CelValue): string {
  if (value instanceof CelList) return formatList(value);
  if (value instanceof CelMap) return formatMap(value);
  if (value === null) return 'null';
  if (!isPlain(value)) {
    const allowed = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';
    refuse(`string clause can only be used on ${allowed}`, value);
  }
  return plainText(value);
}

function isPlain(value: CelValue): boolean {
  if (typeof value !== 'object') return true;
  return [Uint8Array, CelUint, CelTimestamp, CelDuration, CelType].some((kind) => value instanceof kind);
}

function plainText(value: CelValue): string {
  const text = convertToString(value);
  if (typeof text !== 'string') throw new FormatFault('could not convert argument to string');
  return text;
}

function formatList(list: CelList): string {
  return `[${joined(Array.from({ length: list.size }, (_, i) => nested(argument(list, i))))}]`;
}

/** By order of the written keys. */
function formatMap(map: CelMap): string {
  const entries = [...map.keys()].map((key): [string, string] => {
    const value = map.get(key);
    if (value === undefined || isCelError(value)) throw new FormatFault(`could not find key: ${quote(String(key))}`);
    return [nested(key), nested(value)];
  });
  entries.sort(([left], [right]) => compareStrings(left, right));
  return `{${joined(entries.map(([key, value]) => `${key}:${value}`))}}`;
}

/** A list that holds another many times over is small to build and endless to write. */
function joined(parts: readonly string[]): string {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > longestText) throw new FormatFault(tooLong().message);
  return parts.join(', ');
}

/** As a value reads inside a list or map: texts in quotes, doubles with six digits, times as calls. */
function nested(value: CelValue): string {
  if (typeof value === 'string') return quote(value);
  if (value instanceof Uint8Array) return `b${quote(plainText(value))}`;
  if (typeof value === 'number')
    return Number.isFinite(value) ? plainFixed(value, defaultPrecision) : quote(plainText(value));
  if (value instanceof CelTimestamp) return `timestamp(${quote(plainText(value))})`;
  if (value instanceof CelDuration) return `duration(${quote(plainText(value))})`;
  if (value instanceof CelList) return formatList(value);
  if (value instanceof CelMap) return formatMap(value);
  if (value === null) return 'null';
  if (!isPlain(value)) throw new FormatFault(`no formatting function for ${typeOfValue(value).name}`);
  return plainText(value);
}

/** `-1,234.50`. */
function fixedPoint(value: number, precision: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [whole, fraction] = plainFixed(value, precision).split('.');
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const infinite = (value: number) => (Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞');

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** `1.234500×10⁰³`; an exponent has at least two digits. */
function scientific(value: number, precision: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [mantissa, exponent] = value.toExponential(precision).split('e');
  const digits = String(Math.abs(Number(exponent))).padStart(2, '0');
  const raised = [...digits].map((digit) => superscripts[Number(digit)]).join('');
  return `${mantissa}×10${Number(exponent) < 0 ? '⁻' : ''}${raised}`;
}

/** Exact, halves to even, of any size: what `toFixed` does not promise. */
function plainFixed(value: number, precision: number): string {
  if (value === 0) return (Object.is(value, -0) ? '-' : '') + (0).toFixed(precision);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const exponentBits = Number(bits >> 52n);
  const mantissa = (bits & ((1n << 52n) - 1n)) | (exponentBits === 0 ? 0n : 1n << 52n);
  const exponent = Math.max(exponentBits, 1) - 1075;
  const scaledUp = mantissa * 10n ** BigInt(precision);
  const rounded = exponent >= 0 ? scaledUp << BigInt(exponent) : halfToEven(scaledUp, 1n << BigInt(-exponent));
  const digits = rounded.toString().padStart(precision + 1, '0');
  const sign = value < 0 ? '-' : '';
  if (precision === 0) return sign + digits;
  return `${sign}${digits.slice(0, -precision)}.${digits.slice(-precision)}`;
}

function halfToEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const up = twice > denominator || (twice === denominator && (quotient & 1n) === 1n);
  return up ? quotient + 1n : quotient;
}

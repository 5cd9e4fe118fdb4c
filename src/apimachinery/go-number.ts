/** Whole numbers in text as Go's `strconv` reads them, with its words for what it does not. */
import { quote } from './go-text.ts';

const int64 = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n } as const;
const greatestUint64 = 2n ** 64n - 1n;
/** Digits of which every number is a double. */
const longestExact = 15;

/** Beyond 2^53 the nearest double. Throws an Error: `strconv.ParseInt: parsing "x": invalid syntax`. */
export function parseInt64(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`);
  const value = BigInt(text.replace('+', ''));
  if (value < int64.least || value > int64.greatest)
    throw new Error(`strconv.ParseInt: parsing ${quote(text)}: value out of range`);
  return Number(value);
}

/** The same for numbers that cannot be negative: `strconv.ParseUint: ...`. */
export function parseUint64(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`strconv.ParseUint: parsing ${quote(text)}: invalid syntax`);
  if (text.length > longestExact && BigInt(text) > greatestUint64)
    throw new Error(`strconv.ParseUint: parsing ${quote(text)}: value out of range`);
  return Number(text);
}

/** Go's `%v` of a float64: the shortest digits that tell it apart, with an exponent from 1e-05 down and from 1e+06 up. */
function formatFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const [digits, exponentText] = value.toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** A number of JSON as Go holds it: whole ones are int64, as far as they fit, all others float64. */
export function isGoInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 63;
}

/** Go's `%v` of a number that came out of JSON. */
export function formatNumber(value: number): string {
  return isGoInteger(value) ? BigInt(value).toString() : formatFloat(value);
}

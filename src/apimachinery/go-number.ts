/** Whole numbers in text as Go's `strconv` reads them, with its words for what it does not. */
import { quote } from './go-text.ts';

const int64 = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n } as const;
const greatestUint64 = 2n ** 64n - 1n;

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
  if (BigInt(text) > greatestUint64) throw new Error(`strconv.ParseUint: parsing ${quote(text)}: value out of range`);
  return Number(text);
}

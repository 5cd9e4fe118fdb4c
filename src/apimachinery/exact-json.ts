/**
 * JSON whose whole numbers are kept as they were written. A double holds them up to 2^53 only; free-form objects (custom resources above
 * all) may hold any int64, as Go's decoder does. Beyond what a double keeps such a number is a `bigint`; everything else, and every number of
 * a text without a long row of digits, is what `JSON.parse` makes of it.
 *
 *     parseJson('{"a":9007199254740993,"b":1}')   { a: 9007199254740993n, b: 1 }
 *     jsonText({ a: 9007199254740993n, b: 1 })    '{"a":9007199254740993,"b":1}'
 */

/** What the engine has and the compiler's libraries do not list yet. */
interface SourceJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const sourceJson = JSON as unknown as SourceJson;

/** The shortest number that a double may not keep has as many digits. */
const longNumber = /\d{16}/;

/** Whether the text may hold a number that a double does not keep. */
export function hasLongNumber(text: string): boolean {
  return longNumber.test(text);
}

/** Throws `SyntaxError`. */
export function parseJson(text: string): unknown {
  return hasLongNumber(text) ? sourceJson.parse(text, keepInteger) : (JSON.parse(text) as unknown);
}

function keepInteger(_: string, value: unknown, { source = '' }: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? integerOf(source, value) : value;
}

/** The number as it was written, if it is an int64 that a double does not keep; else the double. */
export function exactNumber(digits: string): number | bigint {
  const double = Number(digits);
  return Number.isSafeInteger(double) ? double : integerOf(digits, double);
}

/** The number as it was written, if it is an int64; else the double. */
function integerOf(digits: string, double: number): number | bigint {
  if (!/^-?\d+$/.test(digits)) return double;
  const integer = BigInt(digits);
  return BigInt.asIntN(64, integer) === integer ? integer : double;
}

/** `JSON.stringify` that writes a `bigint` as a number. Values without one pay nothing. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, writeInteger, indent);
  }
}

function writeInteger(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? sourceJson.rawJSON(String(value)) : value;
}

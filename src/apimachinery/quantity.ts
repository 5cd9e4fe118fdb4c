/**
 * Amounts of resources: `100m`, `1.5Gi`, `2e3`. Exact: a value is an integer times a power of ten, never a float. Parsing rounds
 * up to whole billionths, and printing gives upstream's canonical form, its habit of keeping an already tidy text included.
 *
 *     parseQuantity('1536Mi').toString()   // 1536Mi
 *     parseQuantity('1024Ki').toString()   // 1Mi
 *     parseQuantity('0.1').milliValue()    // 100n
 */

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

const quantityFormatMessage =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numericMessage = 'unable to parse numeric part of quantity';
const suffixMessage = "unable to parse quantity's suffix";

/** A text that is no quantity; the message is upstream's. */
export class QuantityError extends Error {
  override readonly name: string = 'QuantityError';
}

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);

/** Powers of two. */
const binarySuffixes: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

const decimalNames = new Map([...decimalSuffixes].map(([name, power]) => [power, name]));
const binaryNames = new Map([...binarySuffixes].map(([name, power]) => [power, name]));

const smallestScale = -9;
const mostInt64 = 2n ** 63n - 1n;
/** Exponents beyond this make numbers that nobody means and that would take minutes to multiply out. */
const largestExponent = 1000;

/** An immutable amount: `value * 10^scale`, and the notation it prefers. */
export class Quantity {
  readonly format: QuantityFormat;
  readonly #value: bigint;
  readonly #scale: number;
  #text: string | undefined;

  constructor(value: bigint, scale = 0, format: QuantityFormat = 'DecimalSI', text?: string) {
    this.#value = value;
    this.#scale = scale;
    this.format = format;
    this.#text = text;
  }

  get isZero(): boolean {
    return this.#value === 0n;
  }

  /** -1, 0 or 1. */
  get sign(): number {
    return this.#value === 0n ? 0 : this.#value < 0n ? -1 : 1;
  }

  /** Whole units; fractions are rounded away from zero, for who asks for some shall get some. */
  value(): bigint {
    return this.scaledValue(0);
  }

  /** Thousandths: `250m` is 250n. */
  milliValue(): bigint {
    return this.scaledValue(-3);
  }

  /** In units of 10^scale, rounded away from zero. */
  scaledValue(scale: number): bigint {
    if (this.#scale === scale) return this.#value;
    if (this.#scale > scale) return this.#value * 10n ** BigInt(this.#scale - scale);
    return divideAwayFromZero(this.#value, 10n ** BigInt(scale - this.#scale));
  }

  /**
   * Whole units, where the amount was written without fractions and fits 64 bits. `1000m` and `1.0` have none, though they are
   * whole: upstream looks at how the number is held, not at what it is.
   */
  asInt64(): bigint | undefined {
    const value = this.#scale < 0 ? undefined : this.scaledValue(0);
    return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined;
  }

  /** The nearest double: for ratios and metrics, not for comparisons. */
  toNumber(): number {
    return Number(`${this.#value}e${this.#scale}`);
  }

  /** Negative, zero or positive, as this is less than, equal to or greater than `other`. */
  compare(other: Quantity): number {
    if (this.sign !== other.sign) return this.sign - other.sign;
    const scale = Math.min(this.#scale, other.#scale);
    const difference = this.scaledValue(scale) - other.scaledValue(scale);
    return difference === 0n ? 0 : difference < 0n ? -1 : 1;
  }

  equals(other: Quantity): boolean {
    return this.compare(other) === 0;
  }

  /** Keeps this one's notation, unless this is zero. */
  add(other: Quantity): Quantity {
    const scale = Math.min(this.#scale, other.#scale);
    const format = this.isZero ? other.format : this.format;
    return new Quantity(this.scaledValue(scale) + other.scaledValue(scale), scale, format);
  }

  sub(other: Quantity): Quantity {
    return this.add(other.negate());
  }

  negate(): Quantity {
    return new Quantity(-this.#value, this.#scale, this.format);
  }

  mul(factor: bigint | number): Quantity {
    return new Quantity(this.#value * BigInt(factor), this.#scale, this.format);
  }

  /** Rounded away from zero to whole units of 10^scale. */
  roundUp(scale: number): Quantity {
    return this.#scale >= scale ? this : new Quantity(this.scaledValue(scale), scale, this.format);
  }

  toString(): string {
    this.#text ??= this.#canonical();
    return this.#text;
  }

  toJSON(): string {
    return this.toString();
  }

  #canonical(): string {
    if (this.isZero) return '0';
    if (this.format === 'BinarySI' && this.#showsAsBinary()) {
      const [number, times] = removeFactors(this.scaledValue(0), 1024n, 6);
      return `${number}${times === 0 ? '' : binaryNames.get(times * 10)}`;
    }
    const format = this.format === 'DecimalExponent' ? 'DecimalExponent' : 'DecimalSI';
    const [number, exponent] = this.#decimal(format === 'DecimalSI' ? 18 : largestExponent);
    if (format === 'DecimalSI') return `${number}${decimalNames.get(exponent)}`;
    return exponent === 0 ? `${number}` : `${number}e${exponent}`;
  }

  /** Fractions and amounts below 1Ki lose nothing in decimal notation. */
  #showsAsBinary(): boolean {
    const whole = this.scaledValue(0);
    const exact = this.#scale >= 0 || whole * 10n ** BigInt(-this.#scale) === this.#value;
    return exact && (whole <= -1024n || whole >= 1024n);
  }

  /** The shortest number whose exponent is a multiple of three and at most `largest`. */
  #decimal(largest: number): [bigint, number] {
    const [number, times] = removeFactors(this.#value, 10n, largestExponent);
    const exponent = this.#scale + times;
    const tidy = Math.max(smallestScale, Math.min(Math.floor(exponent / 3) * 3, largest));
    return [number * 10n ** BigInt(exponent - tidy), tidy];
  }
}

export const zeroQuantity: Quantity = new Quantity(0n, 0, 'DecimalSI', '0');

/** Throws `QuantityError`. */
export function parseQuantity(text: string): Quantity {
  if (text === '0') return zeroQuantity;
  const plain = plainQuantity.exec(text);
  if (plain) return plainAmount(text, Number(plain[1]), plain[2]!);
  const parts = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*(?:[-+]?[0-9]*))$/.exec(text);
  if (text === '' || !parts) throw new QuantityError(quantityFormatMessage);
  const [, sign = '', integer = '', fraction = '', suffix = ''] = parts;
  if (!/^[+-]?[0-9.]/.test(text)) throw new QuantityError(quantityFormatMessage);
  const { power, format } = interpretSuffix(suffix);
  if (integer === '' && fraction === '') throw new QuantityError(numericMessage);
  const digits = BigInt(`${integer}${fraction}`) * (sign === '-' ? -1n : 1n);
  const binary = format === 'BinarySI';
  const value = binary ? digits * 2n ** BigInt(power) : digits;
  const scale = (binary ? 0 : power) - fraction.length;
  return isTidy({ integer, fraction, format, power, scale })
    ? new Quantity(value, scale, format, text)
    : fit(value, scale, format);
}

/** Amounts that are their own one spelling and whose number a double holds, as nearly all are: `2`, `100m`, `128Mi`. */
const plainQuantity = /^([1-9][0-9]{0,2})([KMGT]i|[numkMGT]?)$/;

function plainAmount(text: string, amount: number, suffix: string): Quantity {
  const power = binarySuffixes.get(suffix);
  if (power === undefined) return new Quantity(BigInt(amount), decimalSuffixes.get(suffix), 'DecimalSI', text);
  return new Quantity(BigInt(amount * 2 ** power), 0, 'BinarySI', text);
}

/** Whether a text is a quantity. */
export function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

/** `1500` of thousandths is `1500m`: how CPU amounts are made. */
export function quantityOfMilli(milli: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return new Quantity(BigInt(milli), -3, format);
}

export function quantityOf(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return new Quantity(BigInt(value), 0, format);
}

function interpretSuffix(suffix: string): { readonly power: number; readonly format: QuantityFormat } {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { power: decimal, format: 'DecimalSI' };
  const binary = binarySuffixes.get(suffix);
  if (binary !== undefined) return { power: binary, format: 'BinarySI' };
  const exponent = /^[eE]([+-]?[0-9]+)$/.exec(suffix);
  if (!exponent || Math.abs(Number(exponent[1])) > largestExponent) throw new QuantityError(suffixMessage);
  return { power: Number(exponent[1]), format: 'DecimalExponent' };
}

/**
 * Upstream prints a parsed text as it came where it looks canonical at a glance (few digits; for decimals an exponent that is a
 * multiple of three and no trailing thousand). So `1.500` stays `1.500`, and so it must here: users see it again.
 */
function isTidy(parsed: {
  readonly integer: string;
  readonly fraction: string;
  readonly format: QuantityFormat;
  readonly power: number;
  readonly scale: number;
}): boolean {
  const { fraction, format, power, scale } = parsed;
  const integer = parsed.integer.replace(/^0+/, '') || '0';
  if (format === 'BinarySI') {
    const precision = 15 - integer.length - Math.trunc((power * 3) / 10) - 1;
    return fraction === '' && precision >= 0 && (BigInt(integer) & 7n) !== 0n;
  }
  const shifted = integer + fraction;
  if (18 - shifted.length < 0 || scale < smallestScale || scale % 3 !== 0) return false;
  return !shifted.endsWith('000') && shifted[0] !== '0';
}

/** Rounds up to billionths and, for binary notation, caps at the largest int64. */
function fit(value: bigint, scale: number, format: QuantityFormat): Quantity {
  const exact = new Quantity(value, scale, format);
  const fitted = scale < smallestScale ? new Quantity(exact.scaledValue(smallestScale), smallestScale, format) : exact;
  if (format !== 'BinarySI') return fitted;
  if (fitted.scaledValue(0) > mostInt64) return new Quantity(mostInt64, 0, format);
  if (fitted.scaledValue(0) < -mostInt64) return new Quantity(-mostInt64, 0, format);
  return fitted;
}

function divideAwayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

/** `[12n, 3]` for 12000 by tens: the value is `number * factor^times`. */
function removeFactors(value: bigint, factor: bigint, most: number): [bigint, number] {
  let number = value;
  let times = 0;
  while (number !== 0n && times < most && number % factor === 0n) {
    number /= factor;
    times++;
  }
  return [number, times];
}

/** The one spelling of an amount, as the API stores it. Throws `QuantityError`. Surrounding blanks are forgiven, as upstream does. */
export function canonicalQuantity(text: string): string {
  return plainQuantity.test(text) ? text : parseQuantity(text.trim()).toString();
}

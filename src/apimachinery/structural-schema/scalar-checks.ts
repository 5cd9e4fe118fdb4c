/**
 * The checks of one value without its parts: its type, texts, numbers, enumerations. Each is compiled from a schema, or is undefined
 * where the schema asks for nothing.
 *
 * Upstream tells whole numbers (int64) from others: bounds and factors lose their fraction when a whole number is held against them.
 */
import { notSupported, tooLong } from '../field-error.ts';
import { formatNumber, isGoInteger } from '../go-number.ts';
import { compileGoRegexp } from '../go-regexp.ts';
import { canonicalJson, sortedJson } from './canonical-json.ts';
import type { Findings } from './findings.ts';
import { formatCheck, isKnownFormat } from './formats.ts';
import type { StructuralSchema, ValueValidation } from './schema.ts';

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean';

export function kindOf(value: unknown): JsonKind {
  if (typeof value === 'object') return Array.isArray(value) ? 'array' : 'object';
  return typeof value === 'bigint' ? 'number' : (typeof value as JsonKind);
}

/** The types that a schema allows; none where it does not say. */
export function typesOf({ intOrString, type }: StructuralSchema): readonly string[] {
  if (intOrString) return ['integer', 'string'];
  return type === '' ? [] : [type];
}

/** The schema's format, if it means something for its type. */
function formatOf(schema: StructuralSchema): string {
  const { format } = schema.value;
  return isKnownFormat(format, schema.intOrString ? '' : schema.type) ? format : '';
}

export type TypeCheck = (value: unknown, findings: Findings) => number;

/** The number returned tells whether the type is right. */
export function compileType(schema: StructuralSchema): TypeCheck | undefined {
  const types = typesOf(schema);
  const format = formatOf(schema);
  if (types.length === 0 && format === '') return undefined;
  const takes = new Set(types);
  const takesNumbers = takes.has('integer') || takes.has('number');
  const expected = types.join(',');
  return (value, findings) => {
    if (value === null) {
      if (types.length === 0 || schema.nullable) return 1;
      findings.mistyped(expected, 'null');
      return 0;
    }
    const kind = kindOf(value);
    const found = kind === 'number' ? (isGoInteger(Number(value)) ? 'integer' : 'number') : kind;
    const fits = takes.has(found) || isWholeForInteger(value, takes) || (found === 'integer' && takes.has('number'));
    if (fits) return 1;
    const isTextual = kind === 'string' || kind === 'array';
    if (format !== '' && !isTextual) {
      const native = found === 'integer' ? 'int64' : found === 'number' ? 'float64' : '';
      if (native === format) return 1;
      findings.mistyped(format, native);
      return 0;
    }
    // A format speaks for the type: whether the text has it is the format's own check.
    if (format !== '' && isTextual && !takesNumbers) return 1;
    findings.mistyped(expected, found);
    return 0;
  };
}

/** 1e30 is whole, but no int64. */
function isWholeForInteger(value: unknown, takes: ReadonlySet<string>): boolean {
  return typeof value === 'number' && takes.has('integer') && Number.isInteger(value) && Math.abs(value) < 2 ** 53;
}

export type ScalarCheck<T> = (value: T, findings: Findings) => void;

export function compileText({
  value: { maxLength, minLength, pattern },
}: StructuralSchema): ScalarCheck<string> | undefined {
  if (maxLength === undefined && minLength === undefined && pattern === '') return undefined;
  let matches: ((text: string) => boolean) | undefined;
  return (text, findings) => {
    if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength) {
      findings.special(`should be at most ${maxLength} chars long`, (at) => tooLong(at, maxLength));
    } else if (minLength !== undefined && (text.length < minLength || characters(text) < minLength)) {
      findings.unfit(text, `should be at least ${minLength} chars long`);
    } else if (pattern !== '') {
      matches ??= compilePattern(pattern);
      if (!matches(text)) findings.unfit(text, `should match '${pattern}'`);
    }
  };
}

/** Patterns were judged when the schema was accepted; one that is none nothing matches. */
function compilePattern(pattern: string): (text: string) => boolean {
  try {
    return compileGoRegexp(pattern);
  } catch {
    return () => false;
  }
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

export function compileFormat(schema: StructuralSchema): ScalarCheck<string> | undefined {
  const format = formatOf(schema);
  const check = format === '' ? undefined : formatCheck(format);
  if (!check) return undefined;
  return (text, findings) => {
    if (!check(text)) findings.mistyped(format, text);
  };
}

export function compileNumber(schema: StructuralSchema): ScalarCheck<number> | undefined {
  const type = schema.intOrString ? '' : schema.type;
  const format = type === 'integer' || type === 'number' ? formatOf(schema) : '';
  const { multipleOf, minimum, maximum } = schema.value;
  const isRanged = type === 'integer' || format === 'float';
  if (!isRanged && multipleOf === undefined && minimum === undefined && maximum === undefined) return undefined;
  const inRange = (value: number, what: string, findings: Findings): boolean => {
    if (fitsType(value, type, format)) return true;
    const named = format === '' ? '(default format)' : `with format ${format}`;
    findings.unplaced(`${what} value must be of type ${type} ${named} in ${findings.where()}`);
    return false;
  };
  return (value, findings) => {
    inRange(value, 'Checked', findings);
    if (multipleOf !== undefined) {
      const whole = inRange(multipleOf, 'MultipleOf', findings) && isGoInteger(value);
      checkFactor(value, whole ? Math.trunc(multipleOf) : multipleOf, whole, findings);
    }
    if (minimum !== undefined) {
      const whole = inRange(minimum, 'Minimum boundary', findings) && isGoInteger(value);
      checkMinimum(value, whole ? Math.trunc(minimum) : minimum, schema.value, findings);
    }
    if (maximum !== undefined) {
      const whole = inRange(maximum, 'Maximum boundary', findings) && isGoInteger(value);
      checkMaximum(value, whole ? Math.trunc(maximum) : maximum, schema.value, findings);
    }
  };
}

function fitsType(value: number, type: string, format: string): boolean {
  if (type === 'integer') {
    if (!Number.isInteger(value)) return false;
    return format === 'int32' ? value >= -(2 ** 31) && value < 2 ** 31 : Math.abs(value) <= 2 ** 63;
  }
  return format !== 'float' || Number.isFinite(Math.fround(value));
}

function checkFactor(value: number, factor: number, whole: boolean, findings: Findings): void {
  if (factor <= 0) {
    const sentence = `factor MultipleOf declared for ${findings.where()} must be positive: ${formatNumber(factor)}`;
    findings.special(sentence, (at) => ({
      type: 'FieldValueInvalid',
      field: at.toString(),
      value: factor,
      detail: sentence,
    }));
    return;
  }
  const isMultiple = whole ? value % factor === 0 : isNearlyWhole(factor < 1 ? (1 / factor) * value : value / factor);
  if (!isMultiple) findings.unfit(value, `should be a multiple of ${formatNumber(factor)}`);
}

/** Whole but for what division of doubles loses. */
function isNearlyWhole(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  if (value === whole) return true;
  if (whole === 0) return false;
  return Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < 1e-9;
}

function checkMinimum(value: number, minimum: number, { exclusiveMinimum }: ValueValidation, findings: Findings): void {
  if (exclusiveMinimum ? value > minimum : value >= minimum) return;
  findings.unfit(value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${formatNumber(minimum)}`);
}

function checkMaximum(value: number, maximum: number, { exclusiveMaximum }: ValueValidation, findings: Findings): void {
  if (exclusiveMaximum ? value < maximum : value <= maximum) return;
  findings.unfit(value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${formatNumber(maximum)}`);
}

/** Null is in no enumeration, not even in one that names it. */
export function compileEnum({ value: { enum: allowed } }: StructuralSchema): ScalarCheck<unknown> | undefined {
  if (allowed.length === 0) return undefined;
  const texts = new Set(allowed.map(canonicalJson));
  const names = allowed.map((value) => (typeof value === 'string' ? value : canonicalJson(value)));
  return (value, findings) => {
    if (value !== null && texts.has(canonicalJson(value))) return;
    findings.special('should be one of', (at) => notSupported(at, sortedJson(value), names));
  };
}

/**
 * What is wrong with which field: validation collects all `FieldError`s of an object, and `invalid()` of `status.ts` makes one
 * answer of them. The texts are upstream's to the letter.
 *
 *     const spec = path('spec');
 *     invalid(spec.child('containers').index(0).child('name'), 'A', 'must be lower case')
 *     // spec.containers[0].name: Invalid value: "A": must be lower case
 */
import { formatNumber } from './go-number.ts';
import { aggregate, goJson, quote } from './go-text.ts';

/** Where a field stands. Immutable: every step gives a new path. Validation takes many steps and finds few errors, so the text waits. */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  readonly #form: 'field' | 'element';

  constructor(step: string | number, form: 'field' | 'element' = 'field', parent?: FieldPath) {
    this.#parent = parent;
    this.#step = step;
    this.#form = form;
  }

  /** `spec` -> `spec.template.spec` for `child('template', 'spec')`. */
  child(name: string, ...further: readonly string[]): FieldPath {
    return new FieldPath(further.length === 0 ? name : [name, ...further].join('.'), 'field', this);
  }

  /** `containers` -> `containers[0]`. */
  index(index: number): FieldPath {
    return new FieldPath(index, 'element', this);
  }

  /** `data` -> `data[some.key]`. */
  key(key: string): FieldPath {
    return new FieldPath(key, 'element', this);
  }

  toString(): string {
    const above = this.#parent?.toString() ?? '';
    if (this.#form === 'element') return `${above}[${this.#step}]`;
    return above === '' ? String(this.#step) : `${above}.${this.#step}`;
  }
}

/** A path from the object's root: `path('spec', 'template')`; `path()` is the root itself. */
export function path(...names: readonly string[]): FieldPath {
  return new FieldPath(names.join('.'));
}

const titles = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooShort: 'Too short',
} as const;

/** Values of `StatusCause.reason`. */
export type FieldErrorType = keyof typeof titles;

export interface FieldError {
  readonly type: FieldErrorType;
  /** As text: `spec.containers[0].name`. */
  readonly field: string;
  /** The value found; `omittedValue` where the message does not show one. */
  readonly value: unknown;
  readonly detail: string;
}

/** Stands for a value that is not to be shown. */
export const omittedValue: unique symbol = Symbol('omitted value');

/** Kinds of error that never show the value. */
const valueless: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
]);

function fieldError(type: FieldErrorType, at: FieldPath, value: unknown, detail: string): FieldError {
  return { type, field: at.toString(), value, detail };
}

/** The value is missing: `spec.x: Required value: detail`. */
export function required(at: FieldPath, detail = ''): FieldError {
  return fieldError('FieldValueRequired', at, '', detail);
}

/** The value is malformed: `spec.x: Invalid value: "y": detail`. */
export function invalid(at: FieldPath, value: unknown, detail: string): FieldError {
  return fieldError('FieldValueInvalid', at, value, detail);
}

/** The value has the wrong type; reads like `invalid`. */
export function typeInvalid(at: FieldPath, value: unknown, detail: string): FieldError {
  return fieldError('FieldValueTypeInvalid', at, value, detail);
}

/** `spec.x: Unsupported value: "y": supported values: "a", "b"`: in the order given (upstream sorts where it has a set). */
export function notSupported(at: FieldPath, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`;
  return fieldError('FieldValueNotSupported', at, value, detail);
}

/** `spec.x[1]: Duplicate value: "y"`. */
export function duplicate(at: FieldPath, value: unknown): FieldError {
  return fieldError('FieldValueDuplicate', at, value, '');
}

/** The value names something that is not there: `spec.x: Not found: "y"`. */
export function notFound(at: FieldPath, value: unknown): FieldError {
  return fieldError('FieldValueNotFound', at, value, '');
}

/** A well-formed value that is not permitted here: `spec.x: Forbidden: detail`. */
export function forbidden(at: FieldPath, detail: string): FieldError {
  return fieldError('FieldValueForbidden', at, '', detail);
}

/** `spec.x: Too long: may not be more than 63 bytes`. */
export function tooLong(at: FieldPath, maxBytes: number): FieldError {
  const detail = maxBytes < 0 ? 'value is too long' : `may not be more than ${count(maxBytes, 'byte')}`;
  return fieldError('FieldValueTooLong', at, '<value omitted>', detail);
}

/** `spec.x: Too short: must be at least 1 character`. */
export function tooShort(at: FieldPath, minCharacters: number): FieldError {
  const detail = minCharacters < 0 ? 'value is too short' : `must be at least ${count(minCharacters, 'character')}`;
  return fieldError('FieldValueTooShort', at, '', detail);
}

/** `spec.x: Too many: 9: must have at most 8 items`; a negative `actual` is not shown. */
export function tooMany(at: FieldPath, actual: number, most: number): FieldError {
  const detail = most < 0 ? 'has too many items' : `must have at most ${count(most, 'item')}`;
  return fieldError('FieldValueTooMany', at, actual < 0 ? omittedValue : actual, detail);
}

/** `spec.x: Too few: 0: must have at least 1 item`. */
export function tooFew(at: FieldPath, actual: number, least: number): FieldError {
  const detail = least < 0 ? 'has too few items' : `must have at least ${count(least, 'item')}`;
  return fieldError('FieldValueTooFew', at, actual, detail);
}

/** Not the user's fault. */
export function internal(at: FieldPath, detail: string): FieldError {
  return fieldError('InternalError', at, omittedValue, detail);
}

/** The text without the field: `Invalid value: "y": detail`. */
export function errorBody(error: FieldError): string {
  const title = titles[error.type];
  const value = valueless.has(error.type) || error.value === omittedValue ? '' : `: ${formatValue(error.value)}`;
  const detail = error.detail === '' ? '' : `: ${error.detail}`;
  return `${title}${value}${detail}`;
}

/** `spec.x: Invalid value: "y": detail`. */
export function errorText(error: FieldError): string {
  return `${error.field}: ${errorBody(error)}`;
}

/** All of them as one text: one alone as it is, several as `[a, b]`, repeated ones once. */
export function errorsText(errors: readonly FieldError[]): string {
  return aggregate(errors.map(errorText));
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return formatNumber(value);
  return goJson(value);
}

function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}

/**
 * The phrases that validation is made of: each looks at one value and returns what is wrong with it in upstream's words, nothing
 * being an empty list. What is absent is no error here but for the functions that say so.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
} from '../apimachinery/field-error.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  httpPath,
  immutableMessage,
  inclusiveRangeMessage,
  nonNegativeMessage,
  pathSegmentName,
  percent,
  portName,
  portNumber,
  qualifiedName,
} from '../apimachinery/names.ts';
import { semanticallyEqual } from './equality.ts';

export const notPositiveMessage = 'must be greater than zero';
export const notIntegerMessage = 'must be an integer';
export const largestInt32 = 2147483647;

/**
 * An object as upstream's messages show it: in JSON of its server's own types, whose fields are in capitals and all there. Call it
 * with those fields, in order; what is absent is shown as null.
 */
export function shown(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? null]));
}

/** Messages of a rule of `names.ts` as errors of a value. */
export function refused(at: FieldPath, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map((message) => invalid(at, value, message));
}

export function validateDnsLabel(at: FieldPath, value: string): FieldError[] {
  return refused(at, value, dns1123Label(value));
}

export function validateDnsSubdomain(at: FieldPath, value: string): FieldError[] {
  return refused(at, value, dns1123Subdomain(value));
}

export function validateQualifiedName(at: FieldPath, value: string): FieldError[] {
  return refused(at, value, qualifiedName(value));
}

/** A text that must be there, by a rule of its own. */
export function validateRequired(
  at: FieldPath,
  value: string | undefined,
  rule: (value: string) => readonly string[] = () => [],
): FieldError[] {
  return value ? refused(at, value, rule(value)) : [required(at)];
}

/** One of `values`; absent is fine. */
export function validateEnum(at: FieldPath, value: string | undefined, values: readonly string[]): FieldError[] {
  return value === undefined || value === null || values.includes(value) ? [] : [notSupported(at, value, values)];
}

/** One of `values`, and it must be there. */
export function validateRequiredEnum(
  at: FieldPath,
  value: string | undefined,
  values: readonly string[],
): FieldError[] {
  return value ? validateEnum(at, value, values) : [required(at)];
}

/** One of `values`, and it must be there; an empty text is there, and none of them. */
export function validateGivenEnum(
  at: FieldPath,
  value: string | undefined | null,
  values: readonly string[],
): FieldError[] {
  return value == null ? [required(at)] : validateEnum(at, value, values);
}

export function validateNonNegative(at: FieldPath, value: number | undefined | null): FieldError[] {
  return value != null && value < 0 ? [invalid(at, value, nonNegativeMessage)] : [];
}

export function validatePositive(at: FieldPath, value: number | undefined | null): FieldError[] {
  return value != null && value <= 0 ? [invalid(at, value, notPositiveMessage)] : [];
}

export function validateRange(
  at: FieldPath,
  value: number | undefined | null,
  least: number,
  most: number,
): FieldError[] {
  if (value == null || (value >= least && value <= most)) return [];
  return [invalid(at, value, inclusiveRangeMessage(least, most))];
}

/** `field is immutable`, unless both are the same. */
export function validateImmutable(at: FieldPath, next: unknown, previous: unknown): FieldError[] {
  return semanticallyEqual(next, previous) ? [] : [invalid(at, next ?? null, immutableMessage)];
}

export function validatePortNumberOrName(at: FieldPath, port: number | string | undefined): FieldError[] {
  if (typeof port === 'string') return refused(at, port, portName(port));
  return refused(at, port ?? 0, portNumber(port ?? 0));
}

/** A count or a share: not negative, and a percentage is written as one. */
export function validateCountOrPercent(at: FieldPath, value: number | string | undefined): FieldError[] {
  if (typeof value === 'string') return refused(at, value, percent(value));
  return validateNonNegative(at, value);
}

/** No share may exceed the whole. */
export function validateAtMostWhole(at: FieldPath, value: number | string | undefined): FieldError[] {
  const share = percentOf(value);
  return share !== undefined && share > 100 ? [invalid(at, value, 'must not be greater than 100%')] : [];
}

/** 25 for `25%`; undefined for what is no percentage. */
export function percentOf(value: number | string | undefined): number | undefined {
  return typeof value === 'string' && percent(value).length === 0 ? Number.parseInt(value, 10) : undefined;
}

/** Reports each value of a list that stood there before. */
export function validateUnique(at: FieldPath, values: readonly string[] | undefined): FieldError[] {
  const seen = new Set<string>();
  return (values ?? []).flatMap((value, index) => {
    if (seen.has(value)) return [duplicate(at.index(index), value)];
    seen.add(value);
    return [];
  });
}

/** Entries of a map that may be absent; `__proto__` is a key like any other. */
export function entriesOf<V>(map: Readonly<Record<string, V>> | undefined | null): [string, V][] {
  return map ? Object.entries(map) : [];
}

/** `example.com/some/path`. */
export function validateDomainPrefixedPath(at: FieldPath, value: string): FieldError[] {
  if (!value) return [required(at)];
  const slash = value.indexOf('/');
  const domain = value.slice(0, Math.max(slash, 0));
  const rest = value.slice(slash + 1);
  if (domain === '' || rest === '') {
    return [invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  return [...refused(at, domain, dns1123Subdomain(domain)), ...refused(at, rest, httpPath(rest))];
}

/** A required name that is a part of a URL's path. */
export function validatePathSegment(at: FieldPath, value: string | undefined): FieldError[] {
  return validateRequired(at, value, pathSegmentName);
}

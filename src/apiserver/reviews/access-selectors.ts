/**
 * Selectors of access reviews: as text, or as requirements that a newer client may have made. What is not understood is left out, which makes
 * the question broader, and the answer tells so.
 */
import type { ResourceAttributes } from '../../api/gen/authorization-v1.ts';
import { type FieldError, type FieldPath, forbidden, invalid, path, required } from '../../apimachinery/field-error.ts';
import { escapeFieldValue, parseFieldSelector } from '../../apimachinery/fields.ts';
import { parseLabelSelector } from '../../apimachinery/labels.ts';
import { labelValue, qualifiedName } from '../../apimachinery/names.ts';

interface Requirement {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

interface Selector {
  readonly rawSelector?: string | undefined;
  readonly requirements?: readonly Requirement[] | undefined;
}

export interface ReadSelectors {
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** What was left out, in upstream's words. */
  readonly problems: readonly string[];
}

/** What of the selectors can be understood, as the texts that a URL would have. */
export function readSelectors({ fieldSelector, labelSelector }: ResourceAttributes): ReadSelectors {
  const fields = read(fieldSelector, { parse: parseFieldSelector, textOf: fieldText, which: 'fieldSelector' });
  const labels = read(labelSelector, { parse: parseLabelSelector, textOf: labelText, which: 'labelSelector' });
  return { fieldSelector: fields.text, labelSelector: labels.text, problems: [...fields.problems, ...labels.problems] };
}

/** A selector that says nothing, or the same thing in two ways. */
export function selectorErrors({ fieldSelector, labelSelector }: ResourceAttributes): readonly FieldError[] {
  const at = path('spec', 'resourceAttributes');
  return [
    ...errorsOf(fieldSelector, at.child('fieldSelector'), (key, place) =>
      key === '' ? [required(place, 'must be specified')] : [],
    ),
    ...errorsOf(labelSelector, at.child('labelSelector'), (key, place) =>
      qualifiedName(key).map((problem) => invalid(place, key, problem)),
    ),
  ];
}

function errorsOf(
  selector: Selector | undefined,
  at: FieldPath,
  keyErrors: (key: string, at: FieldPath) => readonly FieldError[],
): readonly FieldError[] {
  if (!selector) return [];
  const { rawSelector = '', requirements = [] } = selector;
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0)
    errors.push(invalid(at.child('rawSelector'), rawSelector, 'may not specified at the same time as requirements'));
  if (rawSelector === '' && requirements.length === 0)
    errors.push(required(at.child('requirements'), `when ${at} is specified, requirements or rawSelector is required`));
  requirements.forEach(({ key = '', operator = '', values = [] }, i) => {
    const place = at.child('requirements').index(i);
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
      errors.push(required(place.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
    if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
      errors.push(
        forbidden(place.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
    errors.push(...keyErrors(key, place.child('key')));
  });
  return errors;
}

interface Reading {
  parse(text: string): unknown;
  /** Undefined for a requirement that nobody understands. */
  textOf(requirement: Required<Requirement>): string | undefined;
  readonly which: string;
}

function read(selector: Selector | undefined, { parse, textOf, which }: Reading) {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  const isReadable = (text: string) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const asked = requirements.map(({ key = '', operator = '', values = [] }) => textOf({ key, operator, values }));
  const terms = requirements.length > 0 ? asked : rawSelector === '' ? [] : [rawSelector];
  const kept = terms.filter((term): term is string => term !== undefined && isReadable(term));
  const how = kept.length > 0 ? 'partially ignored' : 'ignored';
  return {
    text: kept.length > 0 ? kept.join(',') : undefined,
    problems: kept.length < terms.length ? [`spec.resourceAttributes.${which} ${how} due to parse error`] : [],
  };
}

function fieldText({ key, operator, values }: Required<Requirement>): string | undefined {
  if ((operator !== 'In' && operator !== 'NotIn') || values?.length !== 1) return undefined;
  if (/[,=!\\]/.test(key ?? '')) return undefined;
  return `${key}${operator === 'In' ? '=' : '!='}${escapeFieldValue(values[0]!)}`;
}

function labelText({ key, operator, values }: Required<Requirement>): string | undefined {
  // What is no name or no value must not become another term of the text.
  if (qualifiedName(key ?? '').length > 0 || values?.some((value) => labelValue(value).length > 0)) return undefined;
  const list = `(${(values ?? []).join(',')})`;
  switch (operator) {
    case 'In':
      return `${key} in ${list}`;
    case 'NotIn':
      return `${key} notin ${list}`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return undefined;
  }
}

/** LimitRanges: what a container, a Pod or a claim in a namespace may ask, at least and at most, and gets when it asks nothing. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { parseQuantity, type Quantity } from '../../../apimachinery/quantity.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { type LimitRange, type LimitRangeItem, limitRanges } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, validateQualifiedName } from '../../validation.ts';
import { roundToMilli } from './resource-defaults.ts';
import {
  isOvercommitAllowed,
  quantityOrZero,
  validateContainerResourceName,
  validateResourceName,
} from './resource-validation.ts';

const types = ['Pod', 'Container', 'PersistentVolumeClaim'];
const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

export const limitRangeBehaviour: KindBehaviour<LimitRange> = {
  resource: limitRanges,
  defaults(range) {
    partOf(range, 'spec').limits?.forEach(defaultItem);
  },
  allowCreateOnUpdate: true,
  validate: ({ spec }) => validateItems(spec.limits ?? []),
};

function defaultItem(item: Draft<LimitRangeItem>): void {
  if (item.type === 'Container') {
    const limits = partOf(item, 'default');
    for (const [name, quantity] of entriesOf(item.max)) fillAbsent(limits, name, quantity);
    const requests = partOf(item, 'defaultRequest');
    for (const [name, quantity] of entriesOf(limits)) fillAbsent(requests, name, quantity);
    for (const [name, quantity] of entriesOf(item.min)) fillAbsent(requests, name, quantity);
  }
  for (const list of lists) roundToMilli(item[list]);
}

function validateItems(items: readonly LimitRangeItem[]): FieldError[] {
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const at = path('spec', 'limits').index(index);
    const typeAt = at.child('type');
    const errors = validateType(typeAt, item.type ?? '');
    if (seen.has(item.type)) errors.push(duplicate(typeAt, item.type));
    seen.add(item.type);
    return [...errors, ...validateItem(at, item)];
  });
}

function validateType(at: FieldPath, type: string): FieldError[] {
  const errors = validateQualifiedName(at, type);
  if (errors.length > 0 || type.includes('/') || types.includes(type)) return errors;
  return [invalid(at, type, 'must be a standard limit type or fully qualified')];
}

function validateItem(at: FieldPath, item: LimitRangeItem): FieldError[] {
  const errors: FieldError[] = [];
  const validateName =
    item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName;
  const names = new Set<string>();
  for (const list of lists) {
    if (item.type === 'Pod' && (list === 'default' || list === 'defaultRequest')) {
      if (entriesOf(item[list]).length > 0) {
        errors.push(forbidden(at.child(list), "may not be specified when `type` is 'Pod'"));
      }
      continue;
    }
    for (const [name] of entriesOf(item[list])) {
      errors.push(...validateName(at.child(list).key(name), name));
      names.add(name);
    }
  }
  const hasStorage = item.min?.storage !== undefined || item.max?.storage !== undefined;
  if (item.type === 'PersistentVolumeClaim' && !hasStorage) {
    const message = 'either minimum or maximum storage value is required, but neither was provided';
    errors.push(required(at.child('limits'), message));
  }
  return [...errors, ...[...names].flatMap((name) => validateAmounts(at, item, name))];
}

interface Order {
  readonly low: (typeof lists)[number];
  readonly high: (typeof lists)[number];
  /** The list that is blamed, and whose value is shown. */
  readonly at: (typeof lists)[number];
  readonly shown: (typeof lists)[number];
  readonly words: readonly [low: string, high: string];
}

const orders: readonly Order[] = [
  { low: 'min', high: 'max', at: 'min', shown: 'min', words: ['min value', 'max value'] },
  {
    low: 'min',
    high: 'defaultRequest',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    words: ['min value', 'default request value'],
  },
  {
    low: 'defaultRequest',
    high: 'max',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    words: ['default request value', 'max value'],
  },
  {
    low: 'defaultRequest',
    high: 'default',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    words: ['default request value', 'default limit value'],
  },
  { low: 'min', high: 'default', at: 'default', shown: 'min', words: ['min value', 'default value'] },
  { low: 'default', high: 'max', at: 'default', shown: 'max', words: ['default value', 'max value'] },
];

/** min <= defaultRequest <= default <= max, and a ratio that these leave room for. */
function validateAmounts(at: FieldPath, item: LimitRangeItem, name: string): FieldError[] {
  const isPod = item.type === 'Pod';
  const amount = (list: (typeof lists)[number]): Quantity | undefined => {
    if (isPod && (list === 'default' || list === 'defaultRequest')) return undefined;
    const text = item[list]?.[name];
    return text === undefined ? undefined : quantityOrZero(text);
  };
  const errors: FieldError[] = [];
  for (const { low, high, at: blamed, shown, words } of orders) {
    const [lower, upper] = [amount(low), amount(high)];
    if (!lower || !upper || lower.compare(upper) <= 0) continue;
    const message = `${words[0]} ${lower} is greater than ${words[1]} ${upper}`;
    errors.push(invalid(at.child(blamed).key(name), amount(shown), message));
  }
  errors.push(
    ...validateRatio(
      at.child('maxLimitRequestRatio').key(name),
      amount('maxLimitRequestRatio'),
      amount('min'),
      amount('max'),
    ),
  );
  const [limit, request] = [amount('default'), amount('defaultRequest')];
  if (!isOvercommitAllowed(name) && limit && request && limit.compare(request) !== 0) {
    const message = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
    errors.push(invalid(at.child('defaultRequest').key(name), request, message));
  }
  return errors;
}

function validateRatio(
  at: FieldPath,
  ratio: Quantity | undefined,
  min: Quantity | undefined,
  max: Quantity | undefined,
): FieldError[] {
  if (!ratio) return [];
  const errors: FieldError[] = [];
  if (ratio.compare(parseQuantity('1')) < 0) errors.push(invalid(at, ratio, `ratio ${ratio} is less than 1`));
  if (!min || !max) return errors;
  const most = max.toNumber() / min.toNumber();
  if (ratio.toNumber() > most) {
    errors.push(invalid(at, ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`));
  }
  return errors;
}

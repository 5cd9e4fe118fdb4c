/** How much of a capacity each of several claims on one device may ask for: some of a few amounts, or what lies in a range. */
import { type FieldError, type FieldPath, forbidden, invalid, required } from '../../apimachinery/field-error.ts';
import { parseQuantity, type Quantity } from '../../apimachinery/quantity.ts';
import type { CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity } from '../gen/resource-v1.ts';
import { validateSet } from './claim-validation.ts';

const mostValues = 10;

export function validateCapacity(
  at: FieldPath,
  { value, requestPolicy }: DeviceCapacity,
  shared: boolean,
): FieldError[] {
  if (!requestPolicy) return [];
  const here = at.child('requestPolicy');
  if (!shared) return [forbidden(here, 'allowMultipleAllocations must be true')];
  return validatePolicy(here, requestPolicy, quantity(value));
}

function validatePolicy(
  at: FieldPath,
  { default: usual, validValues = [], validRange }: CapacityRequestPolicy,
  capacity: Quantity,
): FieldError[] {
  if (validValues.length > 0 && validRange) {
    const message =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbidden(at, message)];
  }
  if (validValues.length > 0) {
    if (usual == null) return [required(at.child('default'), 'required when validValues is defined')];
    return validateValues(at.child('validValues'), validValues.map(quantity), { usual: quantity(usual), capacity });
  }
  if (!validRange) return [];
  if (usual == null) return [required(at.child('default'), 'required when validRange is defined')];
  return validatePolicyRange(at.child('validRange'), validRange, { usual: quantity(usual), capacity });
}

interface Amounts {
  /** What a claim gets that does not say. */
  readonly usual: Quantity;
  readonly capacity: Quantity;
}

function validateValues(at: FieldPath, values: readonly Quantity[], { usual, capacity }: Amounts): FieldError[] {
  const errors = values.flatMap((value, index) => {
    const before = values[index - 1];
    if (!before || before.compare(value) <= 0) return [];
    return [invalid(at.index(index), value.toString(), 'values must be sorted in ascending order')];
  });
  const message = `option is larger than capacity value: ${capacity}`;
  const found = validateSet(at, values, {
    most: mostValues,
    key: (value) => value.value().toString(),
    validate: (here, value) => (value.compare(capacity) > 0 ? [invalid(here, value.toString(), message)] : []),
  });
  errors.push(...found);
  // Upstream looks for the default only in a list that is not too long.
  if (values.length <= mostValues && values.some((value) => value.equals(usual))) return errors;
  return [...errors, invalid(at, usual.toString(), 'default value is not valid according to the requestPolicy')];
}

function validatePolicyRange(
  at: FieldPath,
  range: Partial<CapacityRequestPolicyRange>,
  { usual, capacity }: Amounts,
): FieldError[] {
  const [minAt, maxAt] = [at.child('min'), at.child('max')];
  if (range.min == null) return [required(minAt, 'required when validRange is defined')];
  const min = quantity(range.min);
  const max = range.max == null ? undefined : quantity(range.max);
  const errors = [
    ...validateOrder(minAt, min, { most: capacity, message: `min is larger than capacity value: ${capacity}` }),
    ...(usual.compare(min) < 0 ? [invalid(minAt, usual.toString(), `default is less than min: ${min}`)] : []),
  ];
  if (max) {
    errors.push(
      ...validateOrder(maxAt, min, { most: max, message: `min is larger than max: ${max}` }),
      ...validateOrder(maxAt, max, { most: capacity, message: `max is larger than capacity value: ${capacity}` }),
      ...validateOrder(maxAt, usual, { most: max, message: `default is more than max: ${max}` }),
    );
  }
  if (range.step == null) return errors;
  const step = quantity(range.step);
  const stepAt = at.child('step');
  const next = min.add(step);
  if (next.compare(capacity) > 0) {
    errors.push(invalid(stepAt, step.toString(), `one step ${next} is larger than capacity value: ${capacity}`));
  }
  const ends = max ? [usual, max] : [usual];
  return [...errors, ...ends.flatMap((value) => validateStep(stepAt, value, { min, step }))];
}

function validateOrder(
  at: FieldPath,
  value: Quantity,
  { most, message }: { readonly most: Quantity; readonly message: string },
): FieldError[] {
  return value.compare(most) > 0 ? [invalid(at, value.toString(), message)] : [];
}

/** A step of nothing leads nowhere but to the start; upstream fails on it with an internal error. */
function validateStep(
  at: FieldPath,
  value: Quantity,
  { min, step }: { readonly min: Quantity; readonly step: Quantity },
): FieldError[] {
  const way = value.value() - min.value();
  const stride = step.value();
  if (stride === 0n ? way === 0n : way % stride === 0n) return [];
  return [invalid(at, value.toString(), `value is not a multiple of a given step (${step}) from (${min})`)];
}

function quantity(text: string | undefined): Quantity {
  return parseQuantity(text ?? '0');
}

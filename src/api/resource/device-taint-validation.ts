/** A taint of a device, be it its driver's or an administrator's. */
import type { FieldError, FieldPath } from '../../apimachinery/field-error.ts';
import { labelValue } from '../../apimachinery/names.ts';
import type { DeviceTaint } from '../gen/resource-v1.ts';
import { refused, validateQualifiedName, validateRequiredEnum } from '../validation.ts';

/** Of taints, and of the tolerations that match them. */
export const taintEffects: readonly string[] = ['NoExecute', 'NoSchedule', 'None'];

/** An effect that stood there before may stay, though it be one of a later version. */
export function validateDeviceTaint(
  at: FieldPath,
  { key = '', value = '', effect }: Partial<DeviceTaint>,
  previous?: Partial<DeviceTaint>,
): FieldError[] {
  const errors = validateQualifiedName(at.child('key'), key);
  if (value !== '') errors.push(...refused(at.child('value'), value, labelValue(value)));
  if (previous && previous.effect === effect) return errors;
  return [...errors, ...validateRequiredEnum(at.child('effect'), effect, taintEffects)];
}

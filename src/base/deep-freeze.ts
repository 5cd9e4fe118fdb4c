/**
 * Freezes JSON data all the way down, so that it can be shared. The root is frozen last: a frozen value is frozen throughout, and
 * freezing again costs nothing.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze(value[key]);
  return Object.freeze(value);
}

/** Which parameters stand at a path instead of at each of its operations: those that all of them have. */
import type { Operation } from './operations.ts';
import type { Parameter } from './parameters.ts';

/** Sorted by name. Compares by identity first, by name and place where parameters were made anew. */
export function sharedParameters(operations: readonly Operation[]): Parameter[] {
  const [first, ...others] = operations;
  if (!first) return [];
  const shared = first.parameters.filter((parameter) =>
    others.every((other) => other.parameters.some((p) => isSame(p, parameter))),
  );
  return shared.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function isSame(a: Parameter, b: Parameter): boolean {
  return a === b || (a.name === b.name && a.in === b.in);
}

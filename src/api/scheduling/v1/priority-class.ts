/** PriorityClasses: names for how much a Pod matters. */
import { type FieldError, forbidden, path } from '../../../apimachinery/field-error.ts';
import { ageColumn, boolean, integer, nameColumn, text } from '../../columns.ts';
import { fillAbsent } from '../../defaulting.ts';
import { type PriorityClass, priorityClasses } from '../../gen/scheduling-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable, validateRequiredEnum } from '../../validation.ts';

const highestUserPriority = 1_000_000_000;
/** Kubernetes' own classes: the only ones whose names may begin with `system-`. */
const systemPriorityClasses: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

export const priorityClassBehaviour: KindBehaviour<PriorityClass> = {
  resource: priorityClasses,
  defaults(priorityClass) {
    fillAbsent(priorityClass, 'preemptionPolicy', 'PreemptLowerPriority');
  },
  countsGeneration: true,
  prepareForUpdate({ metadata }, previous) {
    // Counted once, at creation; nothing that matters can change.
    if (previous.metadata.generation === undefined) delete metadata.generation;
    else metadata.generation = previous.metadata.generation;
  },
  validate,
  validateUpdate: (next, previous) => [
    ...((next.value ?? 0) === (previous.value ?? 0)
      ? []
      : [forbidden(path('value'), 'may not be changed in an update.')]),
    ...validateImmutable(path('preemptionPolicy'), next.preemptionPolicy, previous.preemptionPolicy),
  ],
  columns: [
    nameColumn,
    integer('Value', ({ value }) => value ?? 0),
    boolean('Global-Default', ({ globalDefault }) => globalDefault ?? false),
    ageColumn,
    text('PreemptionPolicy', ({ preemptionPolicy }) => preemptionPolicy ?? ''),
  ],
};

function validate(priorityClass: PriorityClass): FieldError[] {
  const name = priorityClass.metadata.name ?? '';
  const errors: FieldError[] = [];
  if (name.startsWith('system-')) {
    const problem = systemClassProblem(name, priorityClass);
    if (problem) {
      const message = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;
      errors.push(forbidden(path('metadata', 'name'), message));
    }
  } else if ((priorityClass.value ?? 0) > highestUserPriority) {
    const message = `maximum allowed value of a user defined priority is ${highestUserPriority}`;
    errors.push(forbidden(path('value'), message));
  }
  const policies = ['PreemptLowerPriority', 'Never'];
  return [...errors, ...validateRequiredEnum(path('preemptionPolicy'), priorityClass.preemptionPolicy, policies)];
}

function systemClassProblem(name: string, { value = 0, globalDefault = false }: PriorityClass): string | undefined {
  const known = systemPriorityClasses.get(name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

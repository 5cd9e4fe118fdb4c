/** RuntimeClasses: which of a node's runtimes runs a Pod, what that costs, and where it is to be had. */
import { duplicate, type FieldError, path } from '../../../apimachinery/field-error.ts';
import { validateLabels } from '../../../apimachinery/labels.ts';
import { dns1123Label } from '../../../apimachinery/names.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { validateContainerResources } from '../../core/v1/resource-validation.ts';
import { validateTolerations } from '../../core/v1/scheduling-validation.ts';
import { type RuntimeClass, runtimeClasses, type Scheduling } from '../../gen/node-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { shown, validateImmutable, validateRequired } from '../../validation.ts';

export const runtimeClassBehaviour: KindBehaviour<RuntimeClass> = {
  resource: runtimeClasses,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate({ handler, overhead, scheduling }) {
    return [
      ...validateRequired(path('handler'), handler, dns1123Label),
      ...(overhead ? validateContainerResources(path('overhead'), { limits: overhead.podFixed }) : []),
      ...(scheduling ? validateScheduling(scheduling) : []),
    ];
  },
  validateUpdate: ({ handler }, previous) => validateImmutable(path('handler'), handler, previous.handler),
  columns: [nameColumn, text('Handler', ({ handler }) => handler), ageColumn],
};

function validateScheduling({ nodeSelector, tolerations = [] }: Scheduling): FieldError[] {
  const at = path('scheduling', 'tolerations');
  const errors = [
    ...validateLabels(nodeSelector, path('scheduling', 'nodeSelector')),
    ...validateTolerations(at, tolerations),
  ];
  const seen = new Set<string>();
  for (const [index, toleration] of tolerations.entries()) {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) {
      const TolerationSeconds = toleration.tolerationSeconds;
      const whole = shown({ Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds });
      errors.push(duplicate(at.index(index), whole));
    }
    seen.add(identity);
  }
  return errors;
}

/** ValidatingAdmissionPolicyBindings: put a policy into force, with its parameters and consequences. */
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import {
  type ValidatingAdmissionPolicyBinding,
  validatingAdmissionPolicyBindings,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { matchResourcesDefaults, paramRefText } from '../match-resources.ts';
import { validateBinding } from '../policy-validation.ts';

const actions = ['Audit', 'Deny', 'Warn'];

export const validatingAdmissionPolicyBindingBehaviour: KindBehaviour<ValidatingAdmissionPolicyBinding> = {
  resource: validatingAdmissionPolicyBindings,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(binding) {
    matchResourcesDefaults(partOf(binding, 'spec').matchResources);
  },
  validate: ({ spec }) => [...validateBinding(path('spec'), spec), ...validateActions(spec.validationActions ?? [])],
  columns: [
    nameColumn,
    text('PolicyName', ({ spec }) => spec.policyName ?? '', {
      description: 'PolicyName indicates the policy definition which the policy binding binded to',
    }),
    text('ParamRef', ({ spec }) => paramRefText(spec.paramRef), {
      description: 'ParamRef indicates the param resource which sets the configuration param',
    }),
    ageColumn,
  ],
};

function validateActions(list: readonly string[]): FieldError[] {
  const at = path('spec', 'validationActions');
  const errors = list.flatMap((action, index) => [
    ...(actions.includes(action) ? [] : [notSupported(at.index(index), action, actions)]),
    ...(list.indexOf(action) < index ? [duplicate(at.index(index), action)] : []),
  ]);
  if (list.includes('Deny') && list.includes('Warn')) {
    const message =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalid(at, list, message));
  }
  return list.length === 0 ? [required(at, 'at least one validation action is required')] : errors;
}

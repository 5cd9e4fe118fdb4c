/** MutatingAdmissionPolicyBindings: put a policy into force, with its parameters. */
import { path } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import {
  type MutatingAdmissionPolicyBinding,
  mutatingAdmissionPolicyBindings,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { matchResourcesDefaults, paramRefText } from '../match-resources.ts';
import { validateBinding } from '../policy-validation.ts';
import { validateMutatingOperations } from './mutating-operations.ts';

export const mutatingAdmissionPolicyBindingBehaviour: KindBehaviour<MutatingAdmissionPolicyBinding> = {
  resource: mutatingAdmissionPolicyBindings,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(binding) {
    matchResourcesDefaults(partOf(binding, 'spec').matchResources);
  },
  validate: ({ spec }) => [
    ...validateBinding(path('spec'), spec),
    ...validateMutatingOperations(path('spec', 'matchResources'), spec.matchResources),
  ],
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

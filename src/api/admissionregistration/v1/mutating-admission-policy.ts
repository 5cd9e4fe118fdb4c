/** MutatingAdmissionPolicies: changes to objects, written as expressions; whom they concern is said by bindings. */
import { type FieldError, type FieldPath, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { ageColumn, integer, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type MutatingAdmissionPolicy,
  type Mutation,
  mutatingAdmissionPolicies,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateRequiredEnum } from '../../validation.ts';
import { applyResult, type Compiler, expressionErrors, jsonPatchResult, type Scope } from '../expressions/compile.ts';
import { matchResourcesDefaults, paramKindText } from '../match-resources.ts';
import { validatePolicy } from '../policy-validation.ts';
import { validateMutatingOperations } from './mutating-operations.ts';

const patchFields = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
const patchResults = { ApplyConfiguration: applyResult, JSONPatch: jsonPatchResult };
type PatchType = keyof typeof patchFields;
const patchTypes = Object.keys(patchFields) as PatchType[];

export const mutatingAdmissionPolicyBehaviour: KindBehaviour<MutatingAdmissionPolicy> = {
  resource: mutatingAdmissionPolicies,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(policy) {
    const spec = partOf(policy, 'spec');
    fillAbsent(spec, 'failurePolicy', 'Fail');
    matchResourcesDefaults(spec.matchConstraints);
  },
  validate,
  columns: [
    nameColumn,
    integer('Mutations', ({ spec }) => spec.mutations?.length ?? 0, {
      description: 'Mutation indicates the number of mutations rules defined in this configuration',
    }),
    text('ParamKind', ({ spec }) => paramKindText(spec.paramKind), {
      description: 'ParamKind specifies the kind of resources used to parameterize this policy',
    }),
    ageColumn,
  ],
};

function validate({ spec }: MutatingAdmissionPolicy): FieldError[] {
  const at = path('spec');
  const { mutations = [] } = spec;
  const { errors: common, compiler } = validatePolicy(at, spec);
  const scope: Scope = { params: spec.paramKind !== undefined, authorizer: true, patches: true };
  const errors = [...common, ...validateMutatingOperations(at.child('matchConstraints'), spec.matchConstraints)];
  if (mutations.length === 0) errors.push(required(at.child('mutations'), 'mutations must contain at least one item'));
  for (const [index, mutation] of mutations.entries()) {
    errors.push(...validateMutation(at.child('mutations').index(index), mutation, { compiler, scope }));
  }
  const policies = ['IfNeeded', 'Never'];
  return [...errors, ...validateRequiredEnum(at.child('reinvocationPolicy'), spec.reinvocationPolicy, policies)];
}

function validateMutation(
  at: FieldPath,
  mutation: Mutation,
  { compiler, scope }: { readonly compiler: Compiler; readonly scope: Scope },
): FieldError[] {
  const type = mutation.patchType as PatchType;
  const errors = validateRequiredEnum(at.child('patchType'), type, patchTypes);
  if (errors.length > 0) return errors;
  const field = patchFields[type];
  const patch = mutation[field];
  if (!patch) errors.push(required(at.child(field), `must be specified when patchType is ${type}`));
  else {
    const here = at.child(field).child('expression');
    const text = patch.expression?.trim() ?? '';
    if (text === '') errors.push(required(here));
    else errors.push(...expressionErrors(here, compiler.compile(text, scope, patchResults[type])));
  }
  for (const other of Object.values(patchFields)) {
    if (other === field || mutation[other] == null) continue;
    errors.push(invalid(at.child(other), `{${other}}`, `must not be specified when patchType is ${type}`));
  }
  return errors;
}

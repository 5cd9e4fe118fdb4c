/** ValidatingAdmissionPolicies: rules on objects, written as expressions; whom they concern is said by bindings. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { ageColumn, integer, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type ValidatingAdmissionPolicy,
  type Validation,
  validatingAdmissionPolicies,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateEnum, validateQualifiedName } from '../../validation.ts';
import { matchResourcesDefaults, paramKindText } from '../match-resources.ts';
import { validatePolicy } from '../policy-validation.ts';

const mostAuditAnnotations = 20;

export const validatingAdmissionPolicyBehaviour: KindBehaviour<ValidatingAdmissionPolicy> = {
  resource: validatingAdmissionPolicies,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults(policy) {
    const spec = partOf(policy, 'spec');
    fillAbsent(spec, 'failurePolicy', 'Fail');
    matchResourcesDefaults(spec.matchConstraints);
  },
  validate,
  subresources: { status: statusKeepsMetadata },
  columns: [
    nameColumn,
    integer('Validations', ({ spec }) => spec.validations?.length ?? 0, {
      description: 'Validations indicates the number of validation rules defined in this configuration',
    }),
    text('ParamKind', ({ spec }) => paramKindText(spec.paramKind), {
      description: 'ParamKind specifies the kind of resources used to parameterize this policy',
    }),
    ageColumn,
  ],
};

function validate({ metadata, spec }: ValidatingAdmissionPolicy): FieldError[] {
  const at = path('spec');
  const { validations = [], auditAnnotations = [] } = spec;
  const errors = validatePolicy(at, spec);
  if (validations.length + auditAnnotations.length === 0) {
    const message = 'validations or auditAnnotations must contain at least one item';
    return [...errors, required(at.child('validations'), message), required(at.child('auditAnnotations'), message)];
  }
  for (const [index, validation] of validations.entries()) {
    errors.push(...validateValidation(at.child('validations').index(index), validation));
  }
  const annotations = at.child('auditAnnotations');
  if (auditAnnotations.length > mostAuditAnnotations) {
    const message = `must not have more than ${mostAuditAnnotations} auditAnnotations`;
    errors.push(invalid(annotations, auditAnnotations, message));
  }
  const keys = new Set<string>();
  for (const [index, { key = '', valueExpression = '' }] of auditAnnotations.entries()) {
    const here = annotations.index(index);
    errors.push(...validateQualifiedName(here.child('key'), `${metadata.name ?? ''}/${key}`));
    if (valueExpression.trim() === '') {
      errors.push(required(here.child('valueExpression'), 'valueExpression is not specified'));
    }
    if (keys.has(key)) errors.push(duplicate(here.child('key'), key));
    keys.add(key);
  }
  return errors;
}

function validateValidation(at: FieldPath, validation: Validation): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  const errors: FieldError[] = [];
  if (expression.trim() === '') errors.push(required(at.child('expression'), 'expression is not specified'));
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(invalid(at.child('messageExpression'), messageExpression, 'must be non-empty if specified'));
  }
  if (message !== '' && message.trim() === '') {
    errors.push(invalid(at.child('message'), message, 'must be non-empty if specified'));
  } else if (/[\r\n]/.test(message.trim())) {
    errors.push(invalid(at.child('message'), message, 'must not contain line breaks'));
  }
  const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
  return [...errors, ...validateEnum(at.child('reason'), reason, reasons)];
}

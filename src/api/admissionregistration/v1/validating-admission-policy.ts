/** ValidatingAdmissionPolicies: rules on objects, written as expressions; whom they concern is said by bindings. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { JsonPath, JsonPathError } from '../../../apimachinery/json-path.ts';
import { ageColumn, integer, nameColumn, text } from '../../columns.ts';
import { validateConditions } from '../../condition-validation.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type ValidatingAdmissionPolicy,
  type Validation,
  validatingAdmissionPolicies,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateEnum, validateQualifiedName } from '../../validation.ts';
import {
  annotationResult,
  type Compiler,
  conditionResult,
  expressionErrors,
  messageResult,
} from '../expressions/compile.ts';
import { matchResourcesDefaults, paramKindText } from '../match-resources.ts';
import { validatePolicy } from '../policy-validation.ts';

const mostAuditAnnotations = 20;
const longestValueExpression = 5 * 1024;

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
  subresources: { status: { ...statusKeepsMetadata, validateUpdate: validateStatus } },
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
  const { errors: common, compiler } = validatePolicy(at, spec);
  const errors = [...common];
  const checking: Checking = { compiler, params: spec.paramKind !== undefined };
  if (validations.length + auditAnnotations.length === 0) {
    const message = 'validations or auditAnnotations must contain at least one item';
    return [...errors, required(at.child('validations'), message), required(at.child('auditAnnotations'), message)];
  }
  for (const [index, validation] of validations.entries()) {
    errors.push(...validateValidation(at.child('validations').index(index), validation, checking));
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
    errors.push(...validateValueExpression(here.child('valueExpression'), valueExpression, checking));
    if (keys.has(key)) errors.push(duplicate(here.child('key'), key));
    keys.add(key);
  }
  return errors;
}

interface Checking {
  readonly compiler: Compiler;
  readonly params: boolean;
}

function validateValueExpression(at: FieldPath, expression: string, { compiler, params }: Checking): FieldError[] {
  const text = expression.trim();
  if (text === '') return [required(at, 'valueExpression is not specified')];
  if (Buffer.byteLength(text) > longestValueExpression) {
    return [required(at, `must not exceed ${longestValueExpression} bytes in length`)];
  }
  const compiled = compiler.compile(text, { params, authorizer: true }, annotationResult);
  return expressionErrors(at, compiled, expression);
}

function validateValidation(at: FieldPath, validation: Validation, { compiler, params }: Checking): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  const errors: FieldError[] = [];
  if (expression.trim() === '') errors.push(required(at.child('expression'), 'expression is not specified'));
  else {
    const compiled = compiler.compile(expression, { params, authorizer: true }, conditionResult);
    errors.push(...expressionErrors(at.child('expression'), compiled));
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(invalid(at.child('messageExpression'), messageExpression, 'must be non-empty if specified'));
  } else if (messageExpression !== '') {
    const compiled = compiler.compile(messageExpression, { params, authorizer: false }, messageResult);
    errors.push(...expressionErrors(at.child('messageExpression'), compiled));
  }
  if (message !== '' && message.trim() === '') {
    errors.push(invalid(at.child('message'), message, 'must be non-empty if specified'));
  } else if (/[\r\n]/.test(message.trim())) {
    errors.push(invalid(at.child('message'), message, 'must not contain line breaks'));
  }
  const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
  return [...errors, ...validateEnum(at.child('reason'), reason, reasons)];
}

/** Warnings name the expression that they are about. */
function validateStatus({ status }: ValidatingAdmissionPolicy): FieldError[] {
  const at = path('status');
  const warningsAt = at.child('typeChecking', 'expressionWarnings');
  const errors = (status?.typeChecking?.expressionWarnings ?? []).flatMap(({ warning, fieldRef }, index) => {
    const here = warningsAt.index(index);
    return [
      ...(warning ? [] : [required(here.child('warning'))]),
      ...validateFieldRef(here.child('fieldRef'), fieldRef),
    ];
  });
  return [...errors, ...validateConditions(at.child('conditions'), status?.conditions ?? [])];
}

function validateFieldRef(at: FieldPath, text = ''): FieldError[] {
  const reference = text.trim();
  if (reference === '') return [required(at)];
  try {
    // A field without its dot is well formed, too; nobody follows it.
    new JsonPath(/^[\p{L}_]/u.test(reference) ? `.${reference}` : reference);
    return [];
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return [invalid(at, reference, `invalid JSONPath: ${error.message}`)];
  }
}

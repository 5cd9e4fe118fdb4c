/** What validating and mutating admission policies and their bindings share. */
import { isReserved } from '../../apimachinery/cel/kubernetes/identifiers.ts';
import { type FieldError, type FieldPath, forbidden, invalid, required } from '../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../apimachinery/labels.ts';
import { dns1035Label, dns1123Subdomain, pathSegmentName } from '../../apimachinery/names.ts';
import type { MatchCondition, MatchResources, ParamKind, ParamRef, Variable } from '../gen/admissionregistration-v1.ts';
import { refused, validateGivenEnum, validateRequired, validateRequiredEnum } from '../validation.ts';
import { type Compiler, compileExpression, expressionErrors, PolicyCompiler } from './expressions/compile.ts';
import { failurePolicies, validateMatchConditions, validateMatchResources } from './rule-validation.ts';

interface PolicySpec {
  readonly failurePolicy?: string | undefined;
  readonly paramKind?: ParamKind | undefined;
  readonly matchConstraints?: MatchResources | undefined;
  readonly matchConditions?: readonly MatchCondition[] | undefined;
  readonly variables?: readonly Variable[] | undefined;
}

export interface ValidatedPolicy {
  readonly errors: readonly FieldError[];
  /** Knows the policy's variables. */
  readonly compiler: Compiler;
}

export function validatePolicy(at: FieldPath, spec: PolicySpec): ValidatedPolicy {
  const { paramKind, matchConstraints: match, variables = [] } = spec;
  const errors = validateGivenEnum(at.child('failurePolicy'), spec.failurePolicy, failurePolicies);
  if (paramKind) errors.push(...validateParamKind(at.child('paramKind'), paramKind));
  const constraints = at.child('matchConstraints');
  if (!match) errors.push(required(constraints));
  else {
    errors.push(...validateMatchResources(constraints, match));
    if (!match.resourceRules?.length) errors.push(required(constraints.child('resourceRules')));
  }
  const params = paramKind !== undefined;
  errors.push(...validateMatchConditions(at.child('matchConditions'), spec.matchConditions ?? [], { params }));
  if (variables.length === 0) return { errors, compiler: { compile: compileExpression } };
  const compiler = new PolicyCompiler();
  for (const [index, variable] of variables.entries()) {
    errors.push(...validateVariable(at.child('variables').index(index), variable, { compiler, params }));
  }
  return { errors, compiler };
}

function validateVariable(
  at: FieldPath,
  { name = '', expression = '' }: Variable,
  { compiler, params }: { readonly compiler: PolicyCompiler; readonly params: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  if (name.trim() === '') errors.push(required(at.child('name'), 'name is not specified'));
  else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || isReserved(name)) {
    errors.push(invalid(at.child('name'), name, 'must be a valid CEL identifier'));
  }
  if (expression.trim() === '') {
    return [...errors, required(at.child('expression'), 'expression is not specified')];
  }
  const compiled = compiler.addVariable(name, expression, { params, authorizer: true });
  return [...errors, ...expressionErrors(at.child('expression'), compiled)];
}

function validateParamKind(at: FieldPath, { apiVersion = '', kind = '' }: ParamKind): FieldError[] {
  const errors: FieldError[] = [];
  const parts = apiVersion.split('/');
  const [group, version] = parts.length === 1 ? ['', parts[0]!] : [parts[0]!, parts[1]!];
  const here = at.child('apiVersion');
  if (apiVersion === '') errors.push(required(here));
  else if (parts.length > 2) {
    errors.push(invalid(here, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else {
    if (group !== '') errors.push(...refusedAtOnce(here, group, dns1123Subdomain(group)));
    if (version === '') errors.push(invalid(here, apiVersion, 'version must be specified'));
    else errors.push(...refusedAtOnce(here, version, dns1035Label(version)));
  }
  if (kind === '') return [...errors, required(at.child('kind'))];
  const messages = dns1035Label(kind.toLowerCase());
  if (messages.length === 0) return errors;
  const message = `may have mixed case, but should otherwise match: ${messages.join(',')}`;
  return [...errors, invalid(at.child('kind'), kind, message)];
}

function refusedAtOnce(at: FieldPath, value: string, messages: readonly string[]): FieldError[] {
  return messages.length === 0 ? [] : [invalid(at, value, messages.join(','))];
}

interface BindingSpec {
  readonly policyName?: string | undefined;
  readonly paramRef?: ParamRef | undefined;
  readonly matchResources?: MatchResources | undefined;
}

export function validateBinding(at: FieldPath, { policyName, paramRef, matchResources }: BindingSpec): FieldError[] {
  return [
    ...validateRequired(at.child('policyName'), policyName, dns1123Subdomain),
    ...(paramRef ? validateParamRef(at.child('paramRef'), paramRef) : []),
    ...(matchResources ? validateMatchResources(at.child('matchResources'), matchResources) : []),
  ];
}

function validateParamRef(at: FieldPath, reference: ParamRef): FieldError[] {
  const { name = '', selector, parameterNotFoundAction: action } = reference;
  const both = name !== '' && selector != null;
  const errors: FieldError[] = [];
  if (name !== '') errors.push(...refused(at.child('name'), name, pathSegmentName(name)));
  if (both) errors.push(forbidden(at.child('name'), 'name and selector are mutually exclusive'));
  errors.push(...validateLabelSelector(selector, at.child('selector')));
  if (both) errors.push(forbidden(at.child('selector'), 'name and selector are mutually exclusive'));
  if (name === '' && selector == null) errors.push(required(at, 'one of name or selector must be specified'));
  return [...errors, ...validateRequiredEnum(at.child('parameterNotFoundAction'), action, ['Deny', 'Allow'])];
}

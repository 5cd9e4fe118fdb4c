/** Which requests a webhook or policy matches: operations, groups, versions and resources, where `*` stands alone. */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  tooMany,
} from '../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../apimachinery/labels.ts';
import { pathSegmentName } from '../../apimachinery/names.ts';
import type {
  MatchCondition,
  MatchResources,
  NamedRuleWithOperations,
  RuleWithOperations,
} from '../gen/admissionregistration-v1.ts';
import { refused, validateEnum, validateGivenEnum, validateQualifiedName, validateUnique } from '../validation.ts';
import { compileExpression, conditionResult, expressionErrors } from './expressions/compile.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
export const failurePolicies: readonly string[] = ['Fail', 'Ignore'];
export const matchPolicies: readonly string[] = ['Equivalent', 'Exact'];
const scopes = ['*', 'Cluster', 'Namespaced'];
const mostMatchConditions = 64;

export function validateRuleWithOperations(at: FieldPath, rule: RuleWithOperations): FieldError[] {
  const { apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const asked = rule.operations ?? [];
  return [
    ...validateWildcard(at.child('operations'), asked, 'operations'),
    ...asked.flatMap((operation, index) =>
      operations.includes(operation) ? [] : [notSupported(at.child('operations').index(index), operation, operations)],
    ),
    ...validateWildcard(at.child('apiGroups'), apiGroups, 'API groups'),
    ...validateWildcard(at.child('apiVersions'), apiVersions, 'API versions'),
    ...validateFilled(at.child('apiVersions'), apiVersions),
    ...validateResources(at.child('resources'), resources),
    ...validateEnum(at.child('scope'), scope, scopes),
  ];
}

function validateWildcard(at: FieldPath, values: readonly string[], noun: string): FieldError[] {
  if (values.length === 0) return [required(at)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalid(at, values, `if '*' is present, must not specify other ${noun}`)];
}

function validateFilled(at: FieldPath, values: readonly string[]): FieldError[] {
  return values.flatMap((value, index) => (value === '' ? [required(at.index(index))] : []));
}

// `pods`, `pods/status`, `pods/*`, any `status`, all of one kind, everything: nothing may be said twice.
function validateResources(at: FieldPath, resources: readonly string[]): FieldError[] {
  if (resources.length === 0) return [required(at)];
  const errors: FieldError[] = [];
  const wholeResources = new Set<string>();
  const wholeSubresources = new Set<string>();
  let namesResource = false;
  for (const [index, entry] of resources.entries()) {
    const slash = entry.indexOf('/');
    if (entry === '') errors.push(required(at.index(index)));
    if (entry !== '' && slash < 0) namesResource = entry !== '*';
    if (slash < 0) continue;
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)];
    const refuse = (present: string) =>
      errors.push(invalid(at.index(index), entry, `if '${present}' is present, must not specify ${entry}`));
    if (wholeResources.has(resource)) refuse(`${resource}/*`);
    if (wholeSubresources.has(subresource)) refuse(`*/${subresource}`);
    if (subresource === '*') wholeResources.add(resource);
    if (resource === '*') wholeSubresources.add(subresource);
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(at, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && namesResource) {
    const message = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalid(at, resources, message));
  }
  return errors;
}

export function validateMatchResources(at: FieldPath, match: MatchResources): FieldError[] {
  const errors = validateGivenEnum(at.child('matchPolicy'), match.matchPolicy, matchPolicies);
  for (const field of ['namespaceSelector', 'objectSelector'] as const) {
    const selector = match[field];
    if (selector) errors.push(...validateLabelSelector(selector, at.child(field)));
    else errors.push(required(at.child(field)));
  }
  for (const field of ['resourceRules', 'excludeResourceRules'] as const) {
    for (const [index, rule] of (match[field] ?? []).entries()) {
      errors.push(...validateNamedRule(at.child(field).index(index), rule));
    }
  }
  return errors;
}

function validateNamedRule(at: FieldPath, rule: NamedRuleWithOperations): FieldError[] {
  const names = at.child('resourceNames');
  return [
    ...(rule.resourceNames ?? []).flatMap((name, index) => refused(names.index(index), name, pathSegmentName(name))),
    ...validateUnique(names, rule.resourceNames),
    ...validateRuleWithOperations(at, rule),
  ];
}

/** `params`: whether conditions know parameters. */
export function validateMatchConditions(
  at: FieldPath,
  conditions: readonly MatchCondition[],
  { params = false }: { readonly params?: boolean } = {},
): FieldError[] {
  const errors = conditions.length > mostMatchConditions ? [tooMany(at, conditions.length, mostMatchConditions)] : [];
  const names = new Set<string>();
  for (const [index, { name = '', expression = '' }] of conditions.entries()) {
    const here = at.index(index);
    const text = expression.trim();
    if (text === '') errors.push(required(here.child('expression')));
    else {
      const compiled = compileExpression(text, { params, authorizer: true }, conditionResult);
      errors.push(...expressionErrors(here.child('expression'), compiled));
    }
    if (name === '') errors.push(required(here.child('name')));
    else errors.push(...validateQualifiedName(here.child('name'), name));
    if (name !== '' && names.has(name)) errors.push(duplicate(here.child('name'), name));
    names.add(name);
  }
  return errors;
}

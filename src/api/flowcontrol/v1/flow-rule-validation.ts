/** Rules of a FlowSchema: whose requests, and which; `*` stands alone. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import { dns1123Label, dns1123Subdomain } from '../../../apimachinery/names.ts';
import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from '../../gen/flowcontrol-v1.ts';
import { refused, validateRequired } from '../../validation.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const subjectFields = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const;
type SubjectKind = keyof typeof subjectFields;
const subjectKinds = Object.keys(subjectFields) as SubjectKind[];

export function validateRules(at: FieldPath, rules: PolicyRulesWithSubjects): FieldError[] {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rules;
  const errors = subjects.flatMap((subject, index) => validateSubject(at.child('subjects').index(index), subject));
  if (subjects.length === 0) errors.push(required(at.child('subjects'), 'subjects must contain at least one value'));
  if (resourceRules.length + nonResourceRules.length === 0) {
    errors.push(required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  return [
    ...errors,
    ...resourceRules.flatMap((rule, index) => validateResourceRule(at.child('resourceRules').index(index), rule)),
    ...nonResourceRules.flatMap((rule, index) => validateUrlRule(at.child('nonResourceRules').index(index), rule)),
  ];
}

function validateSubject(at: FieldPath, subject: Subject): FieldError[] {
  const kind = subject.kind as SubjectKind;
  const field = subjectFields[kind];
  if (!field) return [notSupported(at.child('kind'), kind ?? '', subjectKinds)];
  const named = subject[field];
  const here = at.child(field);
  const errors: FieldError[] = [];
  if (!named) errors.push(required(here, `${field} is required when subject kind is '${kind}'`));
  else if (kind === 'ServiceAccount') errors.push(...validateServiceAccount(here, named as ServiceAccountSubject));
  else errors.push(...validateRequired(here.child('name'), named.name));
  for (const other of ['ServiceAccount', 'User', 'Group'] as const) {
    const otherField = subjectFields[other];
    if (other === kind || subject[otherField] == null) continue;
    errors.push(forbidden(at.child(otherField), `${otherField} is forbidden when subject kind is not '${other}'`));
  }
  return errors;
}

function validateServiceAccount(at: FieldPath, { name, namespace }: ServiceAccountSubject): FieldError[] {
  const errors = validateRequired(at.child('name'), name, (text) => (text === '*' ? [] : dns1123Subdomain(text)));
  if (namespace) return [...errors, ...refused(at.child('namespace'), namespace, dns1123Label(namespace))];
  return [...errors, required(at.child('namespace'), 'must specify namespace for service account')];
}

function validateVerbs(at: FieldPath, list: readonly string[]): FieldError[] {
  if (list.length === 0) return [required(at, 'verbs must contain at least one value')];
  if (list.includes('*')) return validateAlone(at, list, 'verbs');
  return list.every((verb) => verbs.includes(verb)) ? [] : [notSupported(at, list, verbs)];
}

function validateAlone(at: FieldPath, list: readonly string[], noun: string): FieldError[] {
  if (list.length <= 1 || !list.includes('*')) return [];
  return [invalid(at, list, `if '*' is present, must not specify other ${noun}`)];
}

function validateResourceRule(at: FieldPath, rule: ResourcePolicyRule): FieldError[] {
  const { apiGroups = [], resources = [], namespaces = [], clusterScope } = rule;
  const errors = validateVerbs(at.child('verbs'), rule.verbs ?? []);
  if (apiGroups.length === 0) {
    errors.push(required(at.child('apiGroups'), 'resource rules must supply at least one api group'));
  } else errors.push(...validateAlone(at.child('apiGroups'), apiGroups, 'api groups'));
  if (resources.length === 0) {
    errors.push(required(at.child('resources'), 'resource rules must supply at least one resource'));
  } else errors.push(...validateAlone(at.child('resources'), resources, 'resources'));
  const here = at.child('namespaces');
  if (namespaces.length === 0 && !clusterScope) {
    const message = 'resource rules that are not cluster scoped must supply at least one namespace';
    return [...errors, required(here, message)];
  }
  if (namespaces.includes('*')) return [...errors, ...validateAlone(here, namespaces, 'namespaces')];
  const intro = "each member of this list must be '*' or a DNS-1123 label; ";
  return [
    ...errors,
    ...namespaces.flatMap((namespace, index) =>
      refused(
        here.index(index),
        namespace,
        dns1123Label(namespace).map((message) => intro + message),
      ),
    ),
  ];
}

function validateUrlRule(at: FieldPath, rule: NonResourcePolicyRule): FieldError[] {
  const urls = rule.nonResourceURLs ?? [];
  const here = at.child('nonResourceURLs');
  const errors = validateVerbs(at.child('verbs'), rule.verbs ?? []);
  if (urls.length === 0) return [...errors, required(here, 'nonResourceURLs must contain at least one value')];
  if (urls.includes('*')) return [...errors, ...validateAlone(here, urls, 'non-resource URLs')];
  return [
    ...errors,
    ...urls.flatMap((url, index) => {
      const problem = urlProblem(url);
      return problem ? [invalid(here.index(index), url, problem)] : [];
    }),
  ];
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const stars = url.split('*').length - 1;
  if (stars > 1 || (stars === 1 && !url.endsWith('/*'))) return 'wildcard can only do suffix matching';
  return undefined;
}

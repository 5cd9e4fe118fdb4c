/**
 * Which requests are told of, and how much: the rules of a `Policy` of `audit.k8s.io/v1`, of which the first that matches decides. What
 * no rule matches is not told of. Reading the file is the composition root's.
 */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../apimachinery/field-error.ts';
import { nameIsDnsSubdomain } from '../../apimachinery/names.ts';
import { pathMatches } from '../authorization/policy-rules.ts';
import type { RequestInfo, UserInfo } from '../request.ts';
import { type AuditLevel, type AuditStage, auditLevels, auditStages } from './event.ts';

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[] | undefined;
  readonly userGroups?: readonly string[] | undefined;
  readonly verbs?: readonly string[] | undefined;
  readonly resources?: readonly AuditResources[] | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

export interface AuditResources {
  readonly group?: string | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
}

/** What is told of one request. */
export interface AuditScope {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export function auditScope(policy: AuditPolicy, user: UserInfo | undefined, info: RequestInfo): AuditScope {
  const rule = policy.rules.find((candidate) => matches(candidate, user, info));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...(policy.omitStages ?? []), ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

function matches(rule: AuditRule, user: UserInfo | undefined, info: RequestInfo): boolean {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  if (users.length > 0 && !users.includes(user?.name ?? '')) return false;
  if (userGroups.length > 0 && !user?.groups?.some((group) => userGroups.includes(group))) return false;
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) {
    if (!info.isResource) return false;
    if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
    return resources.length === 0 || resources.some((candidate) => matchesResource(candidate, info));
  }
  if (nonResourceURLs.length > 0)
    return !info.isResource && nonResourceURLs.some((pattern) => pathMatches(pattern, info.path));
  return true;
}

function matchesResource(
  { group = '', resources = [], resourceNames = [] }: AuditResources,
  info: RequestInfo,
): boolean {
  if (group !== '*' && group !== info.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (pattern) =>
      pattern === '*' ||
      pattern === whole ||
      pattern === `${resource}/*` ||
      (subresource !== '' && pattern === `*/${subresource}`),
  );
}

/** All that is wrong with a policy, in upstream's words. */
export function validateAuditPolicy({ rules, omitStages = [] }: AuditPolicy): FieldError[] {
  return [
    ...validateStages(omitStages, path('omitStages')),
    ...rules.flatMap((rule, index) => validateRule(rule, path('rules').index(index))),
  ];
}

function validateRule(rule: AuditRule, at: FieldPath): FieldError[] {
  const { level, nonResourceURLs = [], resources = [], namespaces = [], omitStages = [] } = rule;
  const mixed = nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0);
  const mixedMessage = 'rules cannot apply to both regular resources and non-resource URLs';
  return [
    ...validateLevel(level, at.child('level')),
    ...nonResourceURLs.flatMap((url, index) => validateUrl(url, at.child('nonResourceURLs').index(index))),
    ...resources.flatMap((candidate) => validateResources(candidate, at.child('resources'))),
    ...validateStages(omitStages, at.child('omitStages')),
    ...(mixed ? [invalid(at.child('nonResourceURLs'), nonResourceURLs, mixedMessage)] : []),
  ];
}

function validateLevel(level: string | undefined, at: FieldPath): FieldError[] {
  if (!level) return [required(at)];
  return (auditLevels as readonly string[]).includes(level) ? [] : [notSupported(at, level, auditLevels)];
}

function validateUrl(url: string, at: FieldPath): FieldError[] {
  if (url === '*') return [];
  const start = "non-resource URL rules must begin with a '/' character";
  const star = "non-resource URL wildcards '*' must be the final character of the rule";
  return [
    ...(url.startsWith('/') ? [] : [invalid(at, url, start)]),
    ...(url.slice(0, -1).includes('*') ? [invalid(at, url, star)] : []),
  ];
}

function validateResources(
  { group = '', resources = [], resourceNames = [] }: AuditResources,
  at: FieldPath,
): FieldError[] {
  const groupErrors = group === '' || group === '*' ? [] : nameIsDnsSubdomain(group, false);
  const nameless = resourceNames.length > 0 && resources.length === 0;
  return [
    ...(groupErrors.length > 0 ? [invalid(at.child('group'), group, groupErrors.join(','))] : []),
    ...(nameless
      ? [invalid(at.child('resourceNames'), resourceNames, 'using resourceNames requires at least one resource')]
      : []),
  ];
}

function validateStages(stages: readonly string[], at: FieldPath): FieldError[] {
  return stages.flatMap((stage, index) =>
    (auditStages as readonly string[]).includes(stage)
      ? []
      : [invalid(at.index(index), stage, `allowed stages are ${auditStages.join(',')}`)],
  );
}

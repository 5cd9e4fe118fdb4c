/** Whether a FlowSchema is about a request: one of its rules must name the user, and what the request asks for. */
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../api/gen/flowcontrol-v1.ts';
import type { RequestInfo, UserInfo } from '../request.ts';

export type RequestMatcher = (user: UserInfo, info: RequestInfo) => boolean;

const all = '*';

export function requestMatcher({ spec }: FlowSchema): RequestMatcher {
  const rules = (spec.rules ?? []).map(ruleMatcher);
  if (rules.length === 1) return rules[0]!;
  return (user, info) => rules.some((matches) => matches(user, info));
}

function ruleMatcher({ subjects, resourceRules = [], nonResourceRules = [] }: PolicyRulesWithSubjects): RequestMatcher {
  const aboutUser = subjectsMatcher(subjects ?? []);
  const resources = resourceRules.map(resourceMatcher);
  const paths = nonResourceRules.map(pathMatcher);
  return (user, info) => {
    if (!aboutUser(user)) return false;
    return (info.isResource ? resources : paths).some((matches) => matches(info));
  };
}

function subjectsMatcher(subjects: readonly Subject[]): (user: UserInfo) => boolean {
  const users = subjects.flatMap(({ kind, user }) => (kind === 'User' && user ? [user.name] : []));
  const groups = new Set(subjects.flatMap(({ kind, group }) => (kind === 'Group' && group ? [group.name] : [])));
  const accounts = subjects.flatMap(({ kind, serviceAccount }) =>
    kind === 'ServiceAccount' && serviceAccount ? [serviceAccount] : [],
  );
  const prefixes = accounts.flatMap(({ namespace, name }) => (name === all ? [accountName(namespace, '')] : []));
  const names = new Set([...users, ...accounts.map(({ namespace, name }) => accountName(namespace, name))]);
  if (users.includes(all) || groups.has(all)) return () => true;
  return (user) =>
    names.has(user.name) ||
    user.groups.some((group) => groups.has(group)) ||
    prefixes.some((prefix) => user.name.startsWith(prefix));
}

function accountName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

function resourceMatcher(rule: ResourcePolicyRule): (info: RequestInfo) => boolean {
  const verbs = oneOf(rule.verbs);
  const resources = oneOf(rule.resources);
  const groups = oneOf(rule.apiGroups);
  const namespaces = oneOf(rule.namespaces);
  const clusterScope = rule.clusterScope === true;
  return ({ verb, resource, subresource, group, namespace }) =>
    verbs(verb) &&
    resources(subresource === '' ? resource : `${resource}/${subresource}`) &&
    groups(group) &&
    (namespace === '' ? clusterScope : namespaces(namespace));
}

function pathMatcher(rule: NonResourcePolicyRule): (info: RequestInfo) => boolean {
  const verbs = oneOf(rule.verbs);
  const urls = rule.nonResourceURLs ?? [];
  const exact = new Set(urls);
  // Upstream takes what lies below a path for part of it, with or without a star.
  const prefixes = urls.map((url) => url.replace(/\*$/, '').replace(/\/?$/, '/'));
  return ({ verb, path }) =>
    verbs(verb) && (exact.has(all) || exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix)));
}

/** A star stands alone, as validation sees to. */
function oneOf(list: readonly string[] | undefined): (value: string) => boolean {
  if (list?.[0] === all) return () => true;
  const values = new Set(list);
  return (value) => values.has(value);
}

/**
 * What one RBAC rule permits, and whether the rules somebody holds cover those that he wants to hand on. Pure functions over
 * `PolicyRule`; where rules come from is `rule-resolver.ts`.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { RequestInfo } from '../request.ts';

/** Whether this rule alone permits the request. */
export function ruleAllows(rule: PolicyRule, info: RequestInfo): boolean {
  if (!hasOrStar(rule.verbs, info.verb)) return false;
  if (!info.isResource) return (rule.nonResourceURLs ?? []).some((pattern) => pathMatches(pattern, info.path));
  return (
    hasOrStar(rule.apiGroups, info.group) &&
    resourceMatches(rule.resources, info.resource, info.subresource) &&
    nameMatches(rule.resourceNames, info.name)
  );
}

/**
 * The parts of `wanted` that no rule of `held` covers, each broken down to one group, resource, verb and name; empty when all is
 * covered. Only a single held rule can cover a part, because parts are atomic.
 */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap(breakDown).filter((part) => !held.some((rule) => ruleCovers(rule, part)));
}

/**
 * Rules that differ only in verbs become one, for shorter messages: `get pods` and `list pods` give `get, list pods`. Only rules of
 * one group, one resource and at most one name are joined, as `uncoveredRules` yields them.
 */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const compact = new Map<string, PolicyRule>();
  rules.forEach((rule, position) => {
    const simple =
      rule.apiGroups?.length === 1 && rule.resources?.length === 1 && (rule.resourceNames?.length ?? 0) <= 1;
    const key = simple ? JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []]) : String(position);
    const known = compact.get(key);
    compact.set(key, known ? { ...known, verbs: [...new Set([...known.verbs, ...rule.verbs])] } : rule);
  });
  return [...compact.values()];
}

/** As upstream's messages print a rule: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const texts = parts
    .filter(([, values]) => values && values.length > 0)
    .map(([name, values]) => `${name}:${quotedList(values!)}`);
  return `{${texts.join(', ')}}`;
}

/** Go's `%q` of a list of strings: `["a" "b"]`. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map(quote).join(' ')}]`;
}

function hasOrStar(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes('*') || values.includes(value));
}

/** `pods` matches `pods` only, `pods/log` that subresource, a star with a subresource that subresource of everything. */
function resourceMatches(patterns: readonly string[] | undefined, resource: string, subresource: string): boolean {
  if (!patterns) return false;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return patterns.some(
    (pattern) => pattern === '*' || pattern === combined || (subresource !== '' && pattern === `*/${subresource}`),
  );
}

function nameMatches(names: readonly string[] | undefined, name: string): boolean {
  return !names || names.length === 0 || names.includes(name);
}

/** A star stands for any rest, at the end of the pattern only. */
export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}

function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        const part = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (!rule.resourceNames?.length) parts.push(part);
        else for (const name of rule.resourceNames) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  return parts;
}

/** `part` is atomic, as `breakDown` makes it. */
function ruleCovers(rule: PolicyRule, part: PolicyRule): boolean {
  const covers = (held: readonly string[] | undefined, wanted: readonly string[] | undefined) =>
    (held ?? []).includes('*') || (wanted ?? []).every((value) => held?.includes(value));
  const coversResource = (part.resources ?? []).every((resource) => {
    const slash = resource.indexOf('/');
    return covers(rule.resources, [resource]) || (slash >= 0 && rule.resources?.includes(`*${resource.slice(slash)}`));
  });
  const coversName =
    !rule.resourceNames?.length ||
    (!!part.resourceNames?.length && part.resourceNames.every((n) => rule.resourceNames!.includes(n)));
  const coversPath = (part.nonResourceURLs ?? []).every((url) =>
    (rule.nonResourceURLs ?? []).some((pattern) => pathMatches(pattern, url)),
  );
  return (
    covers(rule.verbs, part.verbs) &&
    covers(rule.apiGroups, part.apiGroups) &&
    coversResource &&
    coversName &&
    coversPath
  );
}

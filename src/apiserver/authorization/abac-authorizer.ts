/**
 * `ABAC`: who may do what stands in a file, a policy a line, read once at the start. A request that one policy covers is allowed; no
 * policy forbids.
 *
 *     {"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"bob","namespace":"dev","resource":"pods","readonly":true}}
 *     {"user":"alice"}      the older form, in which what is not said means everything
 */
import type { RequestInfo, UserInfo } from '../request.ts';
import type { Authorizer } from './authorizer.ts';
import type { RuleSource } from './user-rules.ts';

export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

export interface AbacPolicies {
  readonly policies: readonly AbacPolicy[];
  /** Whether some are in the older form. */
  readonly someUnversioned: boolean;
}

const apiVersion = 'abac.authorization.kubernetes.io/v1beta1';
const everybody = 'system:authenticated';
const readVerbs = ['get', 'list', 'watch'];

/** Throws an `Error` in upstream's words for a line that is no policy. `path` is the file's, for them. */
export function parseAbacPolicies(path: string, text: string): AbacPolicies {
  const policies: AbacPolicy[] = [];
  let someUnversioned = false;
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    try {
      const written = objectOf(JSON.parse(trimmed));
      const versioned = written.apiVersion === apiVersion && written.kind === 'Policy';
      someUnversioned ||= !versioned;
      policies.push(versioned ? policyOf(objectOf(written.spec ?? {})) : olderPolicyOf(written));
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw new Error(`error reading policy file ${path}, line ${index + 1}: ${line}: ${problem}`, { cause: error });
    }
  }
  return { policies, someUnversioned };
}

type Written = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Written {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('a policy is an object');
  return value as Written;
}

function textOf(written: Written, field: string): string {
  const value = written[field] ?? '';
  if (typeof value !== 'string') throw new Error(`${field} must be a text`);
  return value;
}

function policyOf(spec: Written): AbacPolicy {
  const [user, group] = [textOf(spec, 'user'), textOf(spec, 'group')];
  const anybody = user === '*' || group === '*';
  const readonly = spec.readonly ?? false;
  if (typeof readonly !== 'boolean') throw new Error('readonly must be true or false');
  return {
    user: anybody ? '' : user,
    group: anybody ? everybody : group,
    readonly,
    apiGroup: textOf(spec, 'apiGroup'),
    resource: textOf(spec, 'resource'),
    namespace: textOf(spec, 'namespace'),
    nonResourcePath: textOf(spec, 'nonResourcePath'),
  };
}

function olderPolicyOf(written: Written): AbacPolicy {
  const policy = policyOf(written);
  const { user, group, namespace, resource } = policy;
  return {
    ...policy,
    group: user === '' && group === '' ? everybody : group,
    apiGroup: '*',
    namespace: namespace || '*',
    resource: resource || '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
  };
}

export function abacAuthorizer(policies: readonly AbacPolicy[]): Authorizer & RuleSource {
  return {
    name: 'ABAC',
    authorize({ user, info }) {
      const covers = (policy: AbacPolicy) => isFor(policy, user) && allowsVerb(policy, info) && isAbout(policy, info);
      return policies.some(covers)
        ? { decision: 'allow', reason: '' }
        : { decision: 'no-opinion', reason: 'No policy matched.' };
    },
    userRules(user, namespace) {
      const held = policies.filter(
        (policy) => isFor(policy, user) && (policy.namespace === '*' || policy.namespace === namespace),
      );
      const verbs = ({ readonly }: AbacPolicy) => (readonly ? readVerbs : ['*']);
      return {
        resourceRules: held
          .filter(({ resource }) => resource !== '')
          .map((policy) => ({ verbs: verbs(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] })),
        nonResourceRules: held
          .filter(({ nonResourcePath }) => nonResourcePath !== '')
          .map((policy) => ({ verbs: verbs(policy), nonResourceURLs: [policy.nonResourcePath] })),
        incomplete: false,
        errors: [],
      };
    },
  };
}

/** Both, where both are said; a policy for nobody in particular is for nobody. */
function isFor({ user, group }: AbacPolicy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  return (user === '' || user === name) && (group === '' || groups.includes(group));
}

function allowsVerb({ readonly }: AbacPolicy, { verb }: RequestInfo): boolean {
  return !readonly || readVerbs.includes(verb);
}

function isAbout(policy: AbacPolicy, info: RequestInfo): boolean {
  const { nonResourcePath } = policy;
  if (info.isResource) {
    const isOne = (wanted: string, found: string) => wanted === '*' || wanted === found;
    return (
      isOne(policy.namespace, info.namespace) &&
      isOne(policy.resource, info.resource) &&
      isOne(policy.apiGroup, info.group)
    );
  }
  if (nonResourcePath === '*' || nonResourcePath === info.path) return true;
  return nonResourcePath.endsWith('*') && info.path.startsWith(nonResourcePath.replace(/\*+$/, ''));
}

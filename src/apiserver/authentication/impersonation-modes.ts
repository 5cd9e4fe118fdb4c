/**
 * The ways in which somebody may be impersonated, narrowest first. The constrained ones ask for two rights: to act as that user
 * (`impersonate:user-info` on `users`), and to do this very request as him (`impersonate-on:user-info:list` on `pods`). The oldest
 * one asks only for `impersonate`, and then for everything that user may.
 */
import { validateDomainPrefixedPath } from '../../api/validation.ts';
import { errorsText, path } from '../../apimachinery/field-error.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { dns1123Subdomain } from '../../apimachinery/names.ts';
import { isForbidden, type StatusError } from '../../apimachinery/status.ts';
import { type ResourceAccess, resourceAccess } from '../authorization/access.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import { AccessRefusal } from '../authorization/forbidden.ts';
import type { RequestInfo, UserInfo } from '../request.ts';
import type { WantedUser } from './impersonation-headers.ts';
import { serviceAccountGroups, splitServiceAccountUsername } from './service-account-users.ts';

export type ImpersonationModeName = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | 'legacy';

export interface Impersonated {
  readonly user: UserInfo;
  /** The verb that allowed it, e.g. `impersonate:user-info`; empty for the oldest way. */
  readonly constraint: string;
}

export interface ImpersonationQuestion {
  readonly requestor: UserInfo;
  readonly wanted: WantedUser;
  readonly info: RequestInfo;
  readonly authorizer: Authorizer;
}

export interface ImpersonationMode {
  readonly name: ImpersonationModeName;
  /** Undefined: such users are not impersonated in this way. Rejects with 403. */
  check(question: ImpersonationQuestion): Promise<Impersonated | undefined>;
}

const nodePrefix = 'system:node:';
const nodeNameKey = 'authentication.kubernetes.io/node-name';
const associatedKeys = 'authentication.kubernetes.io/associated-node-keys';
const authenticationGroup = 'authentication.k8s.io';
/** From so many groups or extra values on, the right to all of them is asked for first. */
const manyChecks = 4;

const onlyName = ({ uid, groups, extra }: WantedUser) =>
  uid === undefined && groups.length === 0 && Object.keys(extra).length === 0;

const constrainedModes: readonly ImpersonationMode[] = [
  constrained(
    'associated-node',
    ({ wanted, requestor }) => onlyName(wanted) && isOwnNode(wanted.name, requestor),
    ({ requestor, ...question }) => ({ ...question, requestor: withoutExtraValues(requestor) }),
  ),
  constrained('arbitrary-node', ({ wanted }) => onlyName(wanted) && nodeNameOf(wanted.name) !== undefined),
  constrained('serviceaccount', ({ wanted }) => onlyName(wanted) && !!splitServiceAccountUsername(wanted.name)),
  constrained(
    'user-info',
    ({ wanted: { name } }) => nodeNameOf(name) === undefined && !splitServiceAccountUsername(name),
  ),
];

const legacyMode: ImpersonationMode = {
  name: 'legacy',
  check: (question) => impersonated(question, { verb: 'impersonate', group: '', name: 'legacy' }),
};

/** In the order in which they are tried. */
export function impersonationModes(options: { readonly constrained: boolean }): readonly ImpersonationMode[] {
  return options.constrained ? [...constrainedModes, legacyMode] : [legacyMode];
}

function constrained(
  name: Exclude<ImpersonationModeName, 'legacy'>,
  applies: (question: ImpersonationQuestion) => boolean,
  asAsked: (question: ImpersonationQuestion) => ImpersonationQuestion = (question) => question,
): ImpersonationMode {
  return {
    name,
    async check(question) {
      if (!applies(question)) return undefined;
      const asked = asAsked(question);
      const { requestor: user, info, authorizer } = asked;
      await mustBeAllowed(authorizer, { user, info: { ...info, verb: `impersonate-on:${name}:${info.verb}` } });
      return impersonated(asked, { verb: `impersonate:${name}`, group: authenticationGroup, name });
    },
  };
}

interface Way {
  readonly name: ImpersonationModeName;
  readonly verb: string;
  /** Of users, groups, nodes and service accounts. */
  readonly group: string;
}

/** The user to go on as, when each thing he is made of is allowed. */
async function impersonated({ wanted, ...question }: ImpersonationQuestion, way: Way): Promise<Impersonated> {
  const ask = (access: Omit<ResourceAccess, 'verb' | 'version'>) =>
    mustBeAllowed(
      question.authorizer,
      resourceAccess(question.requestor, { ...access, verb: way.verb, version: 'v1' }),
    );
  const { name, uid, groups, extra } = wanted;
  const account = splitServiceAccountUsername(name);
  const node = way.name === 'legacy' ? undefined : nodeNameOf(name);
  await ask({ ...subjectOf(name, way), group: way.group });
  if (uid !== undefined) await ask({ group: authenticationGroup, resource: 'uids', name: uid });
  await checkGroups(question, groups, way, ask);
  await checkExtra(question, extra, way, ask);
  const ownGroups = node
    ? ['system:nodes']
    : account && groups.length === 0
      ? serviceAccountGroups(account.namespace)
      : groups;
  return {
    user: { ...wanted, groups: withGeneralGroup(name, ownGroups) },
    constraint: way.name === 'legacy' ? '' : way.verb,
  };
}

function subjectOf(username: string, way: Way): Pick<ResourceAccess, 'resource' | 'namespace' | 'name'> {
  const account = splitServiceAccountUsername(username);
  if (account) return { resource: 'serviceaccounts', ...account };
  const node = way.name === 'legacy' ? undefined : nodeNameOf(username);
  // The right to act as one's own node holds wherever one runs.
  if (node !== undefined) return { resource: 'nodes', name: way.name === 'associated-node' ? '*' : node };
  return { resource: 'users', name: username };
}

type Ask = (access: Omit<ResourceAccess, 'verb' | 'version'>) => Promise<void>;
type Asker = Omit<ImpersonationQuestion, 'wanted'>;

async function checkGroups(asker: Asker, groups: readonly string[], way: Way, ask: Ask): Promise<void> {
  const access = { group: way.group, resource: 'groups' };
  if (way.name !== 'legacy') {
    if (groups.includes('')) throw refusal(asker, way, access, 'impersonating the empty string group is not allowed');
    const masters = 'system:masters';
    if (groups.includes(masters))
      throw refusal(asker, way, { ...access, name: masters }, `impersonating the ${masters} group is not allowed`);
    if (groups.length >= manyChecks && (await succeeds(ask({ ...access, name: '*' })))) return;
  }
  for (const name of groups) await ask({ ...access, name });
}

async function checkExtra(asker: Asker, extra: WantedUser['extra'], way: Way, ask: Ask): Promise<void> {
  const access = { group: authenticationGroup, resource: 'userextras' };
  const entries = Object.entries(extra);
  if (way.name !== 'legacy') {
    const problem = entries.map(([key, values]) => extraProblem(key, values)).find((text) => text !== undefined);
    if (problem !== undefined) throw refusal(asker, way, access, problem);
    const count = entries.reduce((sum, [, values]) => sum + values.length, 0);
    if (count >= manyChecks && (await succeeds(ask({ ...access, subresource: '*', name: '*' })))) return;
  }
  for (const [subresource, values] of entries) for (const name of values) await ask({ ...access, subresource, name });
}

function extraProblem(key: string, values: readonly string[]): string | undefined {
  if (key === '') return 'impersonating the empty string key in extra is not allowed';
  const errors = validateDomainPrefixedPath(path('extra', 'key'), key);
  if (errors.length > 0) return `impersonating an invalid key in extra is not allowed: ${errorsText(errors)}`;
  if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${quote(key)}`;
  return values.includes('') ? 'impersonating the empty string value in extra is not allowed' : undefined;
}

function refusal(
  { requestor }: Asker,
  { verb }: Way,
  access: Omit<ResourceAccess, 'verb' | 'version'>,
  reason: string,
): StatusError {
  return new AccessRefusal(resourceAccess(requestor, { ...access, verb, version: 'v1' }), reason);
}

async function mustBeAllowed(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<void> {
  const { decision, reason, error } = await authorizer.authorize(attributes);
  if (decision === 'allow') return;
  throw new AccessRefusal(attributes, [error, reason].filter((text) => text).join(': '));
}

async function succeeds(check: Promise<void>): Promise<boolean> {
  try {
    await check;
    return true;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}

/** `system:authenticated` unless the groups given already say which of the two it is. */
function withGeneralGroup(name: string, groups: readonly string[]): readonly string[] {
  const [nobody, everybody] = ['system:unauthenticated', 'system:authenticated'];
  const general = name === 'system:anonymous' ? nobody : groups.includes(nobody) ? undefined : everybody;
  return general === undefined || groups.includes(general) ? groups : [...groups, general];
}

function nodeNameOf(username: string): string | undefined {
  if (!username.startsWith(nodePrefix)) return undefined;
  const name = username.slice(nodePrefix.length);
  return dns1123Subdomain(name).length === 0 ? name : undefined;
}

/** Whether a service account asks to be the node that its Pod runs on. */
function isOwnNode(username: string, requestor: UserInfo): boolean {
  const node = nodeNameOf(username);
  const told = requestor.extra?.[nodeNameKey];
  return node !== undefined && !!splitServiceAccountUsername(requestor.name) && told?.length === 1 && told[0] === node;
}

/** Authorizers see of the account what is the same on every node. */
function withoutExtraValues(user: UserInfo): UserInfo {
  return { ...user, extra: { [associatedKeys]: Object.keys(user.extra ?? {}).sort() } };
}

/**
 * `kubectl --as`: a user who may impersonate goes on as somebody else. Each thing he takes on, the name, each group, each extra value,
 * the uid, needs the right to it.
 */
import { badRequest } from '../../apimachinery/status.ts';
import { type ResourceAccess, resourceAccess } from '../authorization/access.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { forbiddenError } from '../authorization/forbidden.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { headerValues } from './header-values.ts';
import { unescapeKey } from './request-header.ts';
import { serviceAccountGroups, splitServiceAccountUsername } from './service-account-users.ts';

const extraPrefix = 'impersonate-extra-';

/** The user to go on as: `user` itself when the request asks for nobody else. Throws 403, or 400 for groups without a user. */
export async function impersonatedUser(request: ApiRequest, user: UserInfo, authorizer: Authorizer): Promise<UserInfo> {
  const { headers } = request;
  const name = headers['impersonate-user'] ?? '';
  const groups = headerValues(headers['impersonate-group']);
  const uid = headers['impersonate-uid'] ?? '';
  const extra = extraOf(headers);
  if (name === '' && groups.length === 0 && uid === '' && extra.length === 0) return user;
  if (name === '') throw badRequest(`requested ${requestedText(groups, extra, uid)} without impersonating a user`);

  const account = splitServiceAccountUsername(name);
  const wanted: readonly ResourceAccess[] = [
    account
      ? {
          verb: 'impersonate',
          version: 'v1',
          resource: 'serviceaccounts',
          namespace: account.namespace,
          name: account.name,
        }
      : { verb: 'impersonate', version: 'v1', resource: 'users', name },
    ...groups.map((group) => ({ verb: 'impersonate', version: 'v1', resource: 'groups', name: group })),
    ...extra.map(([key, value]) => ({ ...authentication, resource: 'userextras', subresource: key, name: value })),
    ...(uid === '' ? [] : [{ ...authentication, resource: 'uids', name: uid }]),
  ];
  for (const access of wanted) {
    const attributes = resourceAccess(user, access);
    const { decision, reason } = await authorizer.authorize(attributes);
    if (decision !== 'allow') throw forbiddenError(attributes, reason);
  }
  const ownGroups = account && groups.length === 0 ? serviceAccountGroups(account.namespace) : groups;
  return {
    name,
    ...(uid === '' ? {} : { uid }),
    groups: withGeneralGroup(name, ownGroups),
    extra: gather(extra),
  };
}

const authentication = { verb: 'impersonate', group: 'authentication.k8s.io', version: 'v1' };

/** Whether the request asks to be somebody else: the audit log then needs both users. */
export function asksImpersonation({ headers }: ApiRequest): boolean {
  return Object.keys(headers).some((name) => name.startsWith('impersonate-'));
}

/** `system:authenticated` unless the groups given already say which of the two it is. */
function withGeneralGroup(name: string, groups: readonly string[]): readonly string[] {
  if (name === 'system:anonymous') {
    return groups.includes('system:unauthenticated') ? groups : [...groups, 'system:unauthenticated'];
  }
  const told = groups.includes('system:authenticated') || groups.includes('system:unauthenticated');
  return told ? groups : [...groups, 'system:authenticated'];
}

function extraOf(headers: ApiRequest['headers']): readonly (readonly [string, string])[] {
  return Object.entries(headers)
    .filter(([header]) => header.startsWith(extraPrefix))
    .flatMap(([header, text]) =>
      headerValues(text).map((value) => [unescapeKey(header.slice(extraPrefix.length)), value] as const),
    );
}

function gather(extra: readonly (readonly [string, string])[]): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = {};
  for (const [key, value] of extra) result[key] = [...(result[key] ?? []), value];
  return result;
}

/** As Go prints the list of references that upstream makes of the headers: kind, namespace, name, uid, apiVersion, version, path. */
function requestedText(groups: readonly string[], extra: readonly (readonly [string, string])[], uid: string): string {
  const api = 'authentication.k8s.io/v1';
  const references = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...extra.map(([key, value]) => `{UserExtra  ${value}  ${api}  ${key}}`),
    ...(uid === '' ? [] : [`{UID  ${uid}  ${api}  }`]),
  ];
  return `[${references.join(' ')}]`;
}

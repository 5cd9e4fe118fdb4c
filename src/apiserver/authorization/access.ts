/**
 * Attributes for questions that do not come from a URL: an access review, a plugin that asks on behalf of a user, impersonation.
 */
import type { RequestInfo, UserInfo } from '../request.ts';
import type { AuthorizationAttributes } from './authorizer.ts';

export interface ResourceAccess {
  readonly verb: string;
  readonly group?: string | undefined;
  /** `*` when the question is about any version. */
  readonly version?: string | undefined;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
}

/** May `user` do this to that resource? */
export function resourceAccess(user: UserInfo, access: ResourceAccess): AuthorizationAttributes {
  const info: RequestInfo = {
    isResource: true,
    verb: access.verb,
    path: '',
    group: access.group ?? '',
    version: access.version || '*',
    namespace: access.namespace ?? '',
    resource: access.resource,
    subresource: access.subresource ?? '',
    name: access.name ?? '',
    rest: [],
    fieldSelector: access.fieldSelector,
    labelSelector: access.labelSelector,
  };
  return { user, info };
}

/** May `user` use this path of the server, e.g. `get /healthz`? */
export function pathAccess(
  user: UserInfo,
  access: { readonly verb: string; readonly path: string },
): AuthorizationAttributes {
  const { verb, path } = access;
  const empty = { group: '', version: '', namespace: '', resource: '', subresource: '', name: '', rest: [] };
  return { user, info: { isResource: false, verb, path, ...empty } };
}

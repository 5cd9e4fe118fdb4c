/** The server's authorizer as expressions ask it: `authorizer.group(...).resource(...).check('create')`. */
import type { AccessAuthorizer } from '../../../apimachinery/cel/library/authorization.ts';
import { pathAccess, resourceAccess } from '../../authorization/access.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';

export function accessAuthorizer(authorizer: Authorizer): AccessAuthorizer {
  return {
    async authorize({ user: { name, groups = [], uid, extra }, verb, path = '', resource }) {
      const user = { name, groups, uid, extra };
      const asked = resource ? resourceAccess(user, { verb, ...resource }) : pathAccess(user, { verb, path });
      const { decision, reason } = await authorizer.authorize(asked);
      return { allowed: decision === 'allow', reason };
    },
  };
}

/** A kubelet is user `system:node:NAME` in group `system:nodes`; one without the other is no node. */
import type { UserInfo } from '../request.ts';

const userPrefix = 'system:node:';

/** The node's name, empty when the user is a node but does not say which; undefined when the user is no node. */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.name.startsWith(userPrefix) || !user.groups.includes('system:nodes')) return undefined;
  return user.name.slice(userPrefix.length);
}

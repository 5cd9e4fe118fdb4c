/** The user of the server's own calls: passes authorization whatever the policy. */
import type { UserInfo } from './request.ts';

export const loopbackUser: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] };

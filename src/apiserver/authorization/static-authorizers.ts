/** Authorizers that need to know nothing: `AlwaysAllow`, `AlwaysDeny`, and the group that may always do everything. */
import type { AuthorizationDecision, Authorizer } from './authorizer.ts';
import type { RuleSource } from './user-rules.ts';

export const alwaysAllow: Authorizer & RuleSource = {
  name: 'AlwaysAllow',
  authorize: (): AuthorizationDecision => ({ decision: 'allow', reason: '' }),
  userRules: () => ({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
    errors: [],
  }),
};

export const alwaysDeny: Authorizer & RuleSource = {
  name: 'AlwaysDeny',
  // Upstream's AlwaysDeny has no opinion, so that an authorizer after it can still allow.
  authorize: (): AuthorizationDecision => ({ decision: 'no-opinion', reason: 'Everything is forbidden.' }),
  userRules: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] }),
};

/** Members of `system:masters` may do anything, whatever the authorization mode: nobody can lock himself out for good. */
export const privilegedGroup: Authorizer = {
  name: 'PrivilegedGroup',
  authorize: ({ user }): AuthorizationDecision =>
    user.groups.includes('system:masters') ? { decision: 'allow', reason: '' } : { decision: 'no-opinion', reason: '' },
};

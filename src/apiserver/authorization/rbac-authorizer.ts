/** Authorization mode `RBAC`: allows what some rule bound to the user allows; never denies, for rules are purely additive. */
import type { UserInfo } from '../request.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';
import { ruleAllows } from './policy-rules.ts';
import { errorsText, type RuleResolver } from './rule-resolver.ts';
import type { RuleSource, UserRules } from './user-rules.ts';

export function rbacAuthorizer(resolver: RuleResolver): Authorizer & RuleSource {
  return {
    name: 'RBAC',
    authorize({ user, info }: AuthorizationAttributes): AuthorizationDecision {
      let allowedBy: (() => string) | undefined;
      const errors = resolver.visit(user, info.namespace, (rule, source) => {
        if (!ruleAllows(rule, info)) return false;
        allowedBy = source;
        return true;
      });
      if (allowedBy) return allowed(allowedBy);
      return { decision: 'no-opinion', reason: errors.length === 0 ? '' : `RBAC: ${errorsText(errors)}` };
    },
    userRules(user: UserInfo, namespace: string): UserRules {
      const { rules, errors } = resolver.rulesFor(user, namespace);
      return {
        resourceRules: rules
          .filter((rule) => rule.resources?.length)
          .map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
        nonResourceRules: rules
          .filter((rule) => rule.nonResourceURLs?.length)
          .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
        incomplete: false,
        errors,
      };
    },
  };
}

/** Nearly every request is allowed, and only audits and reviews read why: the words are made when they do. */
function allowed(source: () => string): AuthorizationDecision {
  return {
    decision: 'allow',
    get reason() {
      return `RBAC: allowed by ${source()}`;
    },
  };
}

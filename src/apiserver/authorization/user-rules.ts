/** What may somebody do at all: the answer behind `kubectl auth can-i --list`. Not every authorizer can tell. */
import type { NonResourceRule, ResourceRule } from '../../api/gen/authorization-v1.ts';
import type { UserInfo } from '../request.ts';

export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  /** There are rules that cannot be listed. */
  readonly incomplete: boolean;
  readonly errors: readonly string[];
}

export interface RuleSource {
  userRules(user: UserInfo, namespace: string): UserRules;
}

export function joinUserRules(sources: readonly RuleSource[]): RuleSource {
  return {
    userRules(user, namespace) {
      const all = sources.map((source) => source.userRules(user, namespace));
      return {
        resourceRules: all.flatMap((rules) => rules.resourceRules),
        nonResourceRules: all.flatMap((rules) => rules.nonResourceRules),
        incomplete: all.some((rules) => rules.incomplete),
        errors: all.flatMap((rules) => rules.errors),
      };
    },
  };
}

/**
 * Puts the authorizers together as `--authorization-mode` orders them: the privileged group first, then each mode; the first that
 * allows or denies decides, and when none does the answer is no, with the reasons of all.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';
import { nodeAuthorizer } from './node-authorizer.ts';
import { nodeRelations } from './node-relations.ts';
import { rbacAuthorizer } from './rbac-authorizer.ts';
import { RuleResolver } from './rule-resolver.ts';
import { alwaysAllow, alwaysDeny, privilegedGroup } from './static-authorizers.ts';
import { joinUserRules, type RuleSource } from './user-rules.ts';

/** Values of `--authorization-mode` that are known. */
export const authorizationModes = ['AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC'] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];

export interface Authorization {
  readonly authorizer: Authorizer;
  /** For `SelfSubjectRulesReview`. */
  readonly userRules: RuleSource;
  /** For the check that nobody grants what he does not hold. */
  readonly ruleResolver: RuleResolver;
}

/** `informers` must not pass through this authorizer as an ordinary user: give those of the privileged loopback client. */
export function createAuthorization(options: {
  readonly modes: readonly AuthorizationMode[];
  readonly informers: InformerSet;
}): Authorization {
  const ruleResolver = new RuleResolver(options.informers);
  const modes = options.modes.map((mode) => modeAuthorizer(mode, options.informers, ruleResolver));
  return { authorizer: unionAuthorizer([privilegedGroup, ...modes]), userRules: joinUserRules(modes), ruleResolver };
}

/** Asks in order; see the module comment. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  const askFrom = (attributes: AuthorizationAttributes, first: number, reasons: readonly string[]): Answer => {
    let collected = reasons;
    for (let i = first; i < authorizers.length; i++) {
      const answer = authorizers[i]!.authorize(attributes);
      // Most authorizers answer at once; a request does not wait a turn for each of them.
      if (answer instanceof Promise) {
        return answer.then((decision) =>
          decision.decision === 'no-opinion' ? askFrom(attributes, i + 1, withReason(collected, decision)) : decision,
        );
      }
      if (answer.decision !== 'no-opinion') return answer;
      collected = withReason(collected, answer);
    }
    return { decision: 'no-opinion', reason: collected.join('\n') };
  };
  return { name: 'Union', authorize: (attributes) => askFrom(attributes, 0, []) };
}

type Answer = AuthorizationDecision | Promise<AuthorizationDecision>;

function withReason(reasons: readonly string[], { reason }: AuthorizationDecision): readonly string[] {
  return reason === '' ? reasons : [...reasons, reason];
}

function modeAuthorizer(
  mode: AuthorizationMode,
  informers: InformerSet,
  resolver: RuleResolver,
): Authorizer & RuleSource {
  switch (mode) {
    case 'AlwaysAllow':
      return alwaysAllow;
    case 'AlwaysDeny':
      return alwaysDeny;
    case 'Node':
      return nodeAuthorizer({ relations: nodeRelations(informers), rules: nodeRules() });
    case 'RBAC':
      return rbacAuthorizer(resolver);
  }
}

function nodeRules(): readonly PolicyRule[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../gen/node-rules.json'), 'utf8')) as PolicyRule[];
}

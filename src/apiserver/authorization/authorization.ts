/**
 * Puts the authorizers together as flags or a file order them: the privileged group first, then each mode; the first that
 * allows or denies decides, and when none does the answer is no, with the reasons of all.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { aggregate } from '../../apimachinery/go-text.ts';
import type { InformerSet } from '../../reconcile/informer.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';
import { nodeAuthorizer } from './node-authorizer.ts';
import { nodeRelations } from './node-relations.ts';
import { rbacAuthorizer } from './rbac-authorizer.ts';
import { RuleResolver } from './rule-resolver.ts';
import { alwaysAllow, alwaysDeny, privilegedGroup } from './static-authorizers.ts';
import { joinUserRules, type RuleSource } from './user-rules.ts';

/** Values of `--authorization-mode` that are known. */
export const authorizationModes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];
/** Those that need no more than their name. */
export type BuiltInMode = Exclude<AuthorizationMode, 'ABAC' | 'Webhook'>;

export function isBuiltInMode(mode: string): mode is BuiltInMode {
  return mode !== 'ABAC' && mode !== 'Webhook' && (authorizationModes as readonly string[]).includes(mode);
}

/** One link of the chain. */
export type ChainedAuthorizer =
  | { readonly type: BuiltInMode; readonly name: string }
  | { readonly type: 'ABAC'; readonly name: string; readonly authorizer: Authorizer & RuleSource }
  | { readonly type: 'Webhook'; readonly name: string; readonly authorizer: Authorizer };

export interface Authorization {
  readonly authorizer: Authorizer;
  /** For `SelfSubjectRulesReview`. */
  readonly userRules: RuleSource;
  /** For the check that nobody grants what he does not hold. */
  readonly ruleResolver: RuleResolver;
}

export interface AuthorizationOptions {
  /** Asked with each request, so that another array is another chain. */
  readonly chain: () => readonly ChainedAuthorizer[];
  /** Must not pass through this authorizer as an ordinary user: those of the privileged loopback client. */
  readonly informers: InformerSet;
  readonly decisions?: IdentityStatistics['decisions'] | undefined;
}

/** The chain that a list of modes asks for; a webhook and `ABAC` need more than their names. */
export function chainOf(modes: readonly BuiltInMode[]): readonly ChainedAuthorizer[] {
  return modes.map((type) => ({ type, name: type.toLowerCase() }));
}

export function createAuthorization({ chain, informers, decisions }: AuthorizationOptions): Authorization {
  const ruleResolver = new RuleResolver(informers);
  const made = new Map<AuthorizationMode, Authorizer & RuleSource>();
  const ownAuthorizer = (type: BuiltInMode) => {
    const authorizer = made.get(type) ?? modeAuthorizer(type, informers, ruleResolver);
    made.set(type, authorizer);
    return authorizer;
  };
  const join = (links: readonly ChainedAuthorizer[]) => {
    const members = links.map((link) => {
      if (link.type === 'ABAC') return link.authorizer;
      return link.type === 'Webhook' ? { ...link.authorizer, ...unlistedRules } : ownAuthorizer(link.type);
    });
    const counted = members.map((member, i) => countedAuthorizer(member, links[i]!, decisions));
    return { links, union: unionAuthorizer([privilegedGroup, ...counted]), rules: joinUserRules(members) };
  };
  let current = join(chain());
  const now = () => {
    const links = chain();
    if (links !== current.links) current = join(links);
    return current;
  };
  return {
    authorizer: { name: 'Union', authorize: (attributes) => now().union.authorize(attributes) },
    userRules: { userRules: (user, namespace) => now().rules.userRules(user, namespace) },
    ruleResolver,
  };
}

/** Asks in order; see the module comment. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  const askFrom = (attributes: AuthorizationAttributes, first: number, met: Met): Answer => {
    let collected = met;
    for (let i = first; i < authorizers.length; i++) {
      const answer = authorizers[i]!.authorize(attributes);
      // Most authorizers answer at once; a request does not wait a turn for each of them.
      if (answer instanceof Promise) {
        return answer.then((decision) =>
          decision.decision === 'no-opinion' ? askFrom(attributes, i + 1, withAnswer(collected, decision)) : decision,
        );
      }
      if (answer.decision !== 'no-opinion') return answer;
      collected = withAnswer(collected, answer);
    }
    const { reasons, errors } = collected;
    const reason = reasons.join('\n');
    return { decision: 'no-opinion', reason, ...(errors.length > 0 ? { error: aggregate(errors) } : {}) };
  };
  return { name: 'Union', authorize: (attributes) => askFrom(attributes, 0, { reasons: [], errors: [] }) };
}

type Answer = AuthorizationDecision | Promise<AuthorizationDecision>;

interface Met {
  readonly reasons: readonly string[];
  readonly errors: readonly string[];
}

function withAnswer({ reasons, errors }: Met, { reason, error }: AuthorizationDecision): Met {
  return { reasons: reason === '' ? reasons : [...reasons, reason], errors: error ? [...errors, error] : errors };
}

/** Counts the answers that decide. */
function countedAuthorizer(
  inner: Authorizer,
  { type, name }: ChainedAuthorizer,
  decisions: IdentityStatistics['decisions'] | undefined,
): Authorizer {
  if (!decisions) return inner;
  const counted = (answer: AuthorizationDecision) => {
    const { decision } = answer;
    if (decision !== 'no-opinion') decisions.add({ decision: decision === 'allow' ? 'allowed' : 'denied', name, type });
    return answer;
  };
  return {
    name: inner.name,
    authorize(attributes) {
      const answer = inner.authorize(attributes);
      return answer instanceof Promise ? answer.then(counted) : counted(answer);
    },
  };
}

/** Nobody can list what a webhook would allow. */
const unlistedRules: RuleSource = {
  userRules: () => ({
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    errors: ['webhook authorizer does not support user rule resolution'],
  }),
};

function modeAuthorizer(mode: BuiltInMode, informers: InformerSet, resolver: RuleResolver): Authorizer & RuleSource {
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

/** Upstream adds the last one with a gate; without that gate there are no such objects to read. */
function nodeRules(): readonly PolicyRule[] {
  const path = join(import.meta.dirname, '../gen/node-rules.json');
  return [
    ...(JSON.parse(readFileSync(path, 'utf8')) as PolicyRule[]),
    { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['get', 'list', 'watch'] },
  ];
}

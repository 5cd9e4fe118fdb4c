/**
 * Authorization mode `Webhook`: each question is posted as a SubjectAccessReview, and the answers are remembered for a while. What becomes
 * of a request when there is no answer is the failure policy's matter.
 */
import type { SubjectAccessReviewSpec } from '../../api/gen/authorization-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { IdentityStatistics } from '../metrics/identity-statistics.ts';
import type { RequestInfo } from '../request.ts';
import { type BackoffOptions, withBackoff } from '../webhook-client/backoff.ts';
import { reviewStatus } from '../webhook-client/review-reply.ts';
import type { Webhook } from '../webhook-client/webhook-clients.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './authorizer.ts';
import type { MatchConditions, MatchResult } from './match-conditions.ts';
import { reviewSpec } from './subject-access-review.ts';

export interface WebhookAuthorizerOptions extends BackoffOptions {
  readonly name: string;
  readonly version: 'v1' | 'v1beta1';
  readonly timeoutMs: number;
  /** How long an answer holds; 0: asked anew each time. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** Absent: asked about every request. */
  readonly conditions?: MatchConditions | undefined;
  readonly statistics?: Pick<IdentityStatistics, 'webhooks' | 'matchConditions'> | undefined;
}

const group = 'authorization.k8s.io';
const kind = 'SubjectAccessReview';
const rememberedAnswers = 8192;
/** A question whose text somebody has made longer than this is not remembered. */
const longestRemembered = 10_000;

interface Answer {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

interface Remembered {
  readonly untilMs: number;
  readonly answer: Answer;
}

export function webhookAuthorizer(webhook: Pick<Webhook, 'post'>, options: WebhookAuthorizerOptions): Authorizer {
  const { clock, authorizedTtlMs, unauthorizedTtlMs, failurePolicy } = options;
  const onFailure = failurePolicy === 'Deny' ? 'deny' : 'no-opinion';
  const known = new Map<string, Remembered>();
  return {
    name: 'Webhook',
    async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
      const spec = reviewSpec(attributes);
      const match = evaluated(spec, options);
      if ('error' in match) return { decision: onFailure, reason: '', error: match.error };
      if (!match.matches) return { decision: 'no-opinion', reason: '' };
      const key = JSON.stringify(spec);
      const hit = known.get(key);
      if (hit && hit.untilMs > clock.monotonic()) return decisionOf(hit.answer);
      known.delete(key);
      let answer: Answer;
      try {
        answer = await withBackoff(() => ask(webhook, spec, options), options);
      } catch (error) {
        if (onFailure === 'no-opinion')
          options.statistics?.webhooks.failedOpen.add({ name: options.name, result: resultOf(error) });
        return { decision: onFailure, reason: '', error: messageOf(error) };
      }
      const ttlMs = answer.allowed ? authorizedTtlMs : unauthorizedTtlMs;
      if (ttlMs > 0 && askedLength(attributes.info) < longestRemembered) {
        const oldest = known.keys().next();
        if (known.size >= rememberedAnswers && !oldest.done) known.delete(oldest.value);
        known.set(key, { untilMs: clock.monotonic() + ttlMs, answer });
      }
      return decisionOf(answer);
    },
  };
}

function evaluated(
  spec: SubjectAccessReviewSpec,
  { conditions, statistics, name, clock }: WebhookAuthorizerOptions,
): MatchResult {
  if (!conditions) return { matches: true };
  const startMs = clock.monotonic();
  const result = conditions.evaluate(spec);
  const labels = { name, type: 'Webhook' };
  statistics?.matchConditions.evaluations.add(labels, clock.monotonic() - startMs);
  if ('error' in result) statistics?.matchConditions.errors.add(labels);
  else if (!result.matches) statistics?.matchConditions.exclusions.add(labels);
  return result;
}

async function ask(
  webhook: Pick<Webhook, 'post'>,
  spec: SubjectAccessReviewSpec,
  { version, timeoutMs, clock, name, statistics }: WebhookAuthorizerOptions,
): Promise<Answer> {
  const review = {
    kind,
    apiVersion: `${group}/${version}`,
    metadata: {},
    spec: version === 'v1' ? spec : olderSpec(spec),
    status: { allowed: false },
  };
  const startMs = clock.monotonic();
  let result = 'success';
  try {
    const status = reviewStatus(await webhook.post(review, { timeoutMs }), { group, kind });
    return { allowed: status.flag('allowed'), denied: status.flag('denied'), reason: status.text('reason') };
  } catch (error) {
    result = resultOf(error);
    throw error;
  } finally {
    statistics?.webhooks.evaluations.add({ name, result }, clock.monotonic() - startMs);
  }
}

/** `v1beta1` calls the groups `group`. */
function olderSpec({ groups, extra, uid, ...spec }: SubjectAccessReviewSpec) {
  return { ...spec, ...(groups ? { group: groups } : {}), ...(extra ? { extra } : {}), ...(uid ? { uid } : {}) };
}

function decisionOf({ allowed, denied, reason }: Answer): AuthorizationDecision {
  if (denied && allowed) {
    const error = 'webhook subject access review returned both allow and deny response';
    return { decision: 'deny', reason, error };
  }
  return { decision: denied ? 'deny' : allowed ? 'allow' : 'no-opinion', reason };
}

function resultOf(error: unknown): string {
  return /context deadline exceeded|i\/o timeout/.test(messageOf(error)) ? 'timeout' : 'error';
}

function askedLength(info: RequestInfo): number {
  const { namespace, verb, group: apiGroup, version, resource, subresource, name, path } = info;
  return [namespace, verb, apiGroup, version, resource, subresource, name, path].join('').length;
}

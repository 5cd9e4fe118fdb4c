/** Who is it? TokenReview says whose a token is; SelfSubjectReview says who one is oneself (`kubectl auth whoami`). */
import {
  type UserInfo as ApiUserInfo,
  type SelfSubjectReview,
  selfSubjectReviews,
  type TokenReview,
  tokenReviews,
} from '../../api/gen/authentication-v1.ts';
import { badRequest, messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import { type Authentication, withAuthenticatedGroup } from '../authentication/authentication.ts';
import { invalidTokenMessage } from '../authentication/token-authenticator.ts';
import type { Handler, UserInfo } from '../request.ts';
import { reviewHandler } from './review-handler.ts';

export function identityReviewHandlers(options: {
  readonly authentication: Pick<Authentication, 'tokens' | 'apiAudiences'>;
  readonly admission: () => AdmissionChain;
  readonly clock: Clock;
}): Readonly<Record<'tokenreviews' | 'selfsubjectreviews', Handler>> {
  const { authentication, admission, clock } = options;
  const token = reviewHandler<TokenReview>({
    resource: tokenReviews,
    kind: tokenReviews,
    admission,
    clock,
    async review(review, context) {
      const { token: text, audiences = [] } = review.spec;
      if (!text) throw badRequest('token is required for TokenReview in authentication');
      await context.validateAdmission();
      const status = await tokenStatus(
        authentication,
        text,
        audiences.length > 0 ? audiences : authentication.apiAudiences,
      );
      return { ...(review as TokenReview), status };
    },
  });
  const self = reviewHandler<SelfSubjectReview>({
    resource: selfSubjectReviews,
    kind: selfSubjectReviews,
    admission,
    clock,
    async review(_review, context) {
      await context.validateAdmission();
      return { metadata: { creationTimestamp: formatTime(clock.now()) }, status: { userInfo: userOf(context.user) } };
    },
  });
  return { tokenreviews: token, selfsubjectreviews: self };
}

async function tokenStatus(
  { tokens }: Pick<Authentication, 'tokens'>,
  token: string,
  audiences: readonly string[],
): Promise<NonNullable<TokenReview['status']>> {
  try {
    const result = await tokens.authenticateToken(token, audiences);
    if (!result) return { error: invalidTokenMessage };
    const { user } = withAuthenticatedGroup(result);
    return { authenticated: true, user: userOf(user), audiences: result.audiences ?? [] };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function userOf({ name, uid, groups, extra }: UserInfo): ApiUserInfo {
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length > 0 ? { groups } : {}),
    ...(extra && Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

/** All handlers of this folder, by `group/version/resource` or `group/version/resource/subresource` (the core group is empty). */
import { onFirstCall } from '../../base/lazy-module.ts';
import type { Handler } from '../request.ts';
import type { accessReviewHandlers } from './access-reviews.ts';
import type { identityReviewHandlers } from './identity-reviews.ts';
import type { TokenRequestOptions } from './token-request.ts';

export type ReviewHandlerOptions = Parameters<typeof accessReviewHandlers>[0] &
  Parameters<typeof identityReviewHandlers>[0] & {
    /** Absent: no tokens are issued here, as with an external issuer. */
    readonly tokenRequest?: Omit<TokenRequestOptions, 'admission' | 'clock'> | undefined;
  };

const accessReviews = [
  'subjectaccessreviews',
  'localsubjectaccessreviews',
  'selfsubjectaccessreviews',
  'selfsubjectrulesreviews',
] as const;
const identityReviews = ['tokenreviews', 'selfsubjectreviews'] as const;

/** Their code is loaded by the first request for one. */
export function reviewHandlers(options: ReviewHandlerOptions): ReadonlyMap<string, Handler> {
  const { tokenRequest, admission, clock } = options;
  const handlers = new Map<string, Handler>();
  for (const review of accessReviews) {
    const load = async () => (await import('./access-reviews.ts')).accessReviewHandlers(options)[review];
    handlers.set(`authorization.k8s.io/v1/${review}`, onFirstCall(load));
  }
  for (const review of identityReviews) {
    const load = async () => (await import('./identity-reviews.ts')).identityReviewHandlers(options)[review];
    handlers.set(`authentication.k8s.io/v1/${review}`, onFirstCall(load));
  }
  if (tokenRequest) {
    const load = async () =>
      (await import('./token-request.ts')).tokenRequestHandler({ ...tokenRequest, admission, clock });
    handlers.set('/v1/serviceaccounts/token', onFirstCall(load));
  }
  return handlers;
}

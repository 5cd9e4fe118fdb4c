/** All handlers of this folder, by `group/version/resource` or `group/version/resource/subresource` (the core group is empty). */
import type { Handler } from '../request.ts';
import { accessReviewHandlers } from './access-reviews.ts';
import { identityReviewHandlers } from './identity-reviews.ts';
import { type TokenRequestOptions, tokenRequestHandler } from './token-request.ts';

export type ReviewHandlerOptions = Parameters<typeof accessReviewHandlers>[0] &
  Parameters<typeof identityReviewHandlers>[0] & {
    /** Absent: no tokens are issued here, as with an external issuer. */
    readonly tokenRequest?: Omit<TokenRequestOptions, 'admission' | 'clock'> | undefined;
  };

export function reviewHandlers(options: ReviewHandlerOptions): ReadonlyMap<string, Handler> {
  const { tokenRequest, admission, clock } = options;
  const handlers = new Map([...accessReviewHandlers(options), ...identityReviewHandlers(options)]);
  if (tokenRequest)
    handlers.set('/v1/serviceaccounts/token', tokenRequestHandler({ ...tokenRequest, admission, clock }));
  return handlers;
}

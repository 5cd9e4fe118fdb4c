/** Tokens that a webhook knows: each is posted to it in a TokenReview. The webhook is asked again when it fails for a reason that may pass. */

import type { UserInfo } from '../request.ts';
import { type BackoffOptions, withBackoff } from '../webhook-client/backoff.ts';
import { type ReplyFields, reviewStatus } from '../webhook-client/review-reply.ts';
import type { Webhook } from '../webhook-client/webhook-clients.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

export interface WebhookTokenOptions extends BackoffOptions {
  /** `--authentication-token-webhook-version`. */
  readonly version: 'v1' | 'v1beta1';
  /** What a token is for when the webhook does not say. */
  readonly apiAudiences: readonly string[];
}

const group = 'authentication.k8s.io';
const kind = 'TokenReview';

export function webhookTokens(webhook: Pick<Webhook, 'post'>, options: WebhookTokenOptions): TokenAuthenticator {
  const { version, apiAudiences } = options;
  return {
    name: 'Webhook',
    async authenticateToken(token, audiences) {
      const spec = { token, ...(audiences.length > 0 ? { audiences } : {}) };
      const review = { kind, apiVersion: `${group}/${version}`, metadata: {}, spec, status: { user: {} } };
      const status = await withBackoff(async () => reviewStatus(await webhook.post(review), { group, kind }), options);
      const told = status.texts('audiences');
      const granted = (told.length > 0 ? told : apiAudiences).filter((audience) => audiences.includes(audience));
      if (audiences.length > 0 && granted.length === 0) return undefined;
      if (status.flag('authenticated')) return { user: userOf(status.fields('user')), audiences: granted };
      const error = status.text('error');
      if (error !== '') throw new Error(error);
      return undefined;
    },
  };
}

function userOf(fields: ReplyFields): UserInfo {
  const uid = fields.text('uid');
  const extra = fields.textLists('extra');
  return {
    name: fields.text('username'),
    ...(uid === '' ? {} : { uid }),
    groups: fields.texts('groups'),
    ...(extra ? { extra } : {}),
  };
}

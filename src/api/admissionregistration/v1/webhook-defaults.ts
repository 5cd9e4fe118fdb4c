/** Defaults of webhooks of both sorts. */
import type { Draft } from '../../../apimachinery/meta.ts';
import { fillAbsent } from '../../defaulting.ts';
import type { ValidatingWebhook } from '../../gen/admissionregistration-v1.ts';
import { clientDefaults, matchDefaults, ruleDefaults } from '../match-resources.ts';

export function webhookDefaults(webhook: Draft<ValidatingWebhook>): void {
  fillAbsent(webhook, 'failurePolicy', 'Fail');
  matchDefaults(webhook);
  fillAbsent(webhook, 'timeoutSeconds', 10);
  clientDefaults(webhook.clientConfig);
  for (const rule of webhook.rules ?? []) ruleDefaults(rule);
}

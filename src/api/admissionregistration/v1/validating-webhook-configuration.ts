/** ValidatingWebhookConfigurations: servers that are asked whether objects may be stored. */
import {
  type ValidatingWebhookConfiguration,
  validatingWebhookConfigurations,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { webhookConfiguration } from './webhook-configuration.ts';
import { webhookDefaults } from './webhook-defaults.ts';

export const validatingWebhookConfigurationBehaviour: KindBehaviour<ValidatingWebhookConfiguration> = {
  ...webhookConfiguration,
  resource: validatingWebhookConfigurations,
  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) webhookDefaults(webhook);
  },
};

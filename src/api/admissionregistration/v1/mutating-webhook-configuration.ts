/** MutatingWebhookConfigurations: servers that are asked to change objects before they are stored. */
import { fillAbsent } from '../../defaulting.ts';
import {
  type MutatingWebhookConfiguration,
  mutatingWebhookConfigurations,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { webhookConfiguration } from './webhook-configuration.ts';
import { webhookDefaults } from './webhook-defaults.ts';

export const mutatingWebhookConfigurationBehaviour: KindBehaviour<MutatingWebhookConfiguration> = {
  ...webhookConfiguration,
  resource: mutatingWebhookConfigurations,
  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) {
      webhookDefaults(webhook);
      fillAbsent(webhook, 'reinvocationPolicy', 'Never');
    }
  },
};

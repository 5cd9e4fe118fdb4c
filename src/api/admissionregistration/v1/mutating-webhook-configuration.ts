/** MutatingWebhookConfigurations: servers that are asked to change objects before they are stored. */
import { ageColumn, integer, nameColumn } from '../../columns.ts';
import { fillAbsent } from '../../defaulting.ts';
import {
  type MutatingWebhookConfiguration,
  mutatingWebhookConfigurations,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { countGeneration } from '../../strategy.ts';
import { webhookDefaults } from './webhook-defaults.ts';
import { validateWebhooks } from './webhook-validation.ts';

export const mutatingWebhookConfigurationBehaviour: KindBehaviour<MutatingWebhookConfiguration> = {
  resource: mutatingWebhookConfigurations,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) {
      webhookDefaults(webhook);
      fillAbsent(webhook, 'reinvocationPolicy', 'Never');
    }
  },
  prepareForUpdate(configuration, previous) {
    countGeneration(configuration, previous, configuration.webhooks ?? [], previous.webhooks ?? []);
  },
  validate: ({ webhooks }) => validateWebhooks(webhooks ?? []),
  validateUpdate: ({ webhooks }, previous) => validateWebhooks(webhooks ?? [], previous.webhooks ?? []),
  columns: [
    nameColumn,
    integer('Webhooks', ({ webhooks }) => webhooks?.length ?? 0, {
      description: 'Webhooks indicates the number of webhooks registered in this configuration',
    }),
    ageColumn,
  ],
};

/** ValidatingWebhookConfigurations: servers that are asked whether objects may be stored. */
import { ageColumn, integer, nameColumn } from '../../columns.ts';

import {
  type ValidatingWebhookConfiguration,
  validatingWebhookConfigurations,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { countGeneration } from '../../strategy.ts';
import { webhookDefaults } from './webhook-defaults.ts';
import { validateWebhooks } from './webhook-validation.ts';

export const validatingWebhookConfigurationBehaviour: KindBehaviour<ValidatingWebhookConfiguration> = {
  resource: validatingWebhookConfigurations,
  allowUnconditionalUpdate: false,
  countsGeneration: true,
  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) webhookDefaults(webhook);
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

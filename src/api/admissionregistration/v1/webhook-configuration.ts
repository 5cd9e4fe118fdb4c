/** What both kinds of webhook configurations do alike: all but which webhooks there may be, and their defaults. */
import { ageColumn, integer, nameColumn } from '../../columns.ts';
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../gen/admissionregistration-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { countGeneration } from '../../strategy.ts';
import { validateWebhooks } from './webhook-validation.ts';

type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

export const webhookConfiguration = {
  allowUnconditionalUpdate: false,
  countsGeneration: true,
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
} satisfies Omit<KindBehaviour<WebhookConfiguration>, 'resource'>;

/** ResourceClaimTemplates: the claims that are made for Pods of a kind. They never change. */
import { path } from '../../../apimachinery/field-error.ts';
import { ageColumn, nameColumn } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type ResourceClaimTemplate, resourceClaimTemplates } from '../../gen/resource-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateTemplateMetadata } from '../../metadata-validation.ts';
import { validateImmutable } from '../../validation.ts';
import { demandOfRequests } from '../admin-access.ts';
import { claimDefaults } from '../claim-defaults.ts';
import { validateDeviceClaim } from '../claim-validation.ts';

export const resourceClaimTemplateBehaviour: KindBehaviour<ResourceClaimTemplate> = {
  resource: resourceClaimTemplates,
  countsGeneration: false,
  defaults(template) {
    claimDefaults(partOf(partOf(template, 'spec'), 'spec'));
  },
  // As upstream, which names the path within the claim.
  namespaceDemand: ({ spec }) => demandOfRequests(spec.spec?.devices?.requests),
  validate: ({ spec }) => [
    ...validateTemplateMetadata(path('spec', 'metadata'), spec.metadata),
    ...validateDeviceClaim(path('spec', 'spec', 'devices'), spec.spec?.devices),
  ],
  validateUpdate: ({ spec }, previous) => validateImmutable(path('spec'), spec, previous.spec),
  columns: [nameColumn, ageColumn],
};

/** PodTemplates: a template that stands on its own. */
import { path } from '../../../apimachinery/field-error.ts';
import { containerColumns, labelsText, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type PodTemplate, podTemplates } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { defaultPodTemplate } from './pod-spec-defaults.ts';
import { validatePodTemplate } from './pod-template.ts';

export const podTemplateBehaviour: KindBehaviour<PodTemplate> = {
  resource: podTemplates,
  defaults(object) {
    defaultPodTemplate(partOf(object, 'template'));
  },
  countsGeneration: true,
  validate: ({ template }) => (template ? validatePodTemplate(path('template'), template) : []),
  columns: [
    nameColumn,
    ...containerColumns<PodTemplate>(({ template }) => template?.spec.containers).map((column) => ({
      ...column,
      priority: 0,
    })),
    text('Pod Labels', ({ template }) => labelsText(template?.metadata?.labels), {
      description: 'The labels for the pod template.',
    }),
  ],
};

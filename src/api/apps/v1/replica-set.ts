/** ReplicaSets: so many Pods of one template, and no more. */
import { type FieldError, type FieldPath, invalid, path } from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, containerColumns, integer, labelSelectorText, nameColumn, text } from '../../columns.ts';
import { defaultPodTemplate } from '../../core/v1/pod-spec-defaults.ts';
import {
  selectorMatches,
  validateEndlessTemplate,
  validatePodTemplate,
  validateSelector,
  validateTemplateLabels,
} from '../../core/v1/pod-template.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import { type ReplicaSet, type ReplicaSetSpec, replicaSets } from '../../gen/apps-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateImmutable, validateNonNegative } from '../../validation.ts';
import { validateReplicaCounts } from './replica-counts.ts';

export const replicaSetBehaviour: KindBehaviour<ReplicaSet> = {
  resource: replicaSets,
  validates: 'spec',
  defaultsByMember: true,
  defaults(replicaSet: Draft<ReplicaSet>) {
    const spec = partOf(replicaSet, 'spec');
    fillAbsent(spec, 'replicas', 1);
    defaultPodTemplate(partOf(spec, 'template'));
  },
  countsGeneration: true,
  validate: ({ spec }) => validateSpec(path('spec'), spec),
  validateUpdate: ({ spec }, previous) => [
    ...validateSpec(path('spec'), spec),
    ...validateImmutable(path('spec', 'selector'), spec.selector, previous.spec.selector),
  ],
  subresources: {
    status: {
      validateUpdate: ({ status }) =>
        validateReplicaCounts(status ?? {}, {
          counts: [
            'replicas',
            'fullyLabeledReplicas',
            'readyReplicas',
            'availableReplicas',
            'observedGeneration',
            'terminatingReplicas',
          ],
          atMostReplicas: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
        }),
    },
  },
  columns: [
    nameColumn,
    integer('Desired', ({ spec }) => spec.replicas ?? 0),
    integer('Current', ({ status }) => status?.replicas ?? 0),
    integer('Ready', ({ status }) => status?.readyReplicas ?? 0),
    ageColumn,
    ...containerColumns<ReplicaSet>(({ spec }) => spec.template?.spec.containers),
    text('Selector', ({ spec }) => labelSelectorText(spec.selector), { wide: true }),
  ],
};

function validateSpec(at: FieldPath, spec: ReplicaSetSpec): FieldError[] {
  const errors = [
    ...validateNonNegative(at.child('replicas'), spec.replicas),
    ...validateNonNegative(at.child('minReadySeconds'), spec.minReadySeconds),
    // Upstream's message says deployment here.
    ...validateSelector(at.child('selector'), spec.selector, 'deployment'),
  ];
  const template = spec.template!;
  const templateAt = at.child('template');
  const matches = selectorMatches(spec.selector, template.metadata?.labels);
  if (matches === undefined) return [...errors, invalid(at.child('selector'), spec.selector, 'invalid label selector')];
  if (!matches) errors.push(validateTemplateLabels(templateAt, template));
  return [
    ...errors,
    ...validatePodTemplate(templateAt, template),
    ...validateEndlessTemplate(templateAt, template, 'ReplicaSet'),
  ];
}

/** ReplicationControllers: the older ReplicaSets, with a plain map for a selector. */
import { type FieldError, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { validateReplicaCounts } from '../../apps/v1/replica-counts.ts';
import { ageColumn, containerColumns, integer, labelsText, nameColumn, text } from '../../columns.ts';
import { fillAbsent, isEmpty, partOf } from '../../defaulting.ts';
import {
  type ReplicationController,
  type ReplicationControllerSpec,
  replicationControllers,
} from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { entriesOf, validateNonNegative } from '../../validation.ts';
import { defaultPodTemplate } from './pod-spec-defaults.ts';
import { validateEndlessTemplate, validatePodTemplate } from './pod-template.ts';

export const replicationControllerBehaviour: KindBehaviour<ReplicationController> = {
  resource: replicationControllers,
  defaults(controller) {
    const spec = partOf(controller, 'spec');
    const labels = spec.template?.metadata?.labels;
    if (labels && isEmpty(spec.selector)) spec.selector = { ...labels };
    if (labels && isEmpty(controller.metadata.labels)) controller.metadata.labels = { ...labels };
    fillAbsent(spec, 'replicas', 1);
    if (spec.template) defaultPodTemplate(spec.template);
  },
  countsGeneration: true,
  defaultPropagation: 'orphan',
  validate: ({ spec }) => validateSpec(spec),
  validateUpdate: ({ spec }) => validateSpec(spec),
  subresources: {
    status: {
      validateUpdate: ({ status }) =>
        validateReplicaCounts(status ?? {}, {
          counts: ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
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
    ...containerColumns<ReplicationController>(({ spec }) => spec.template?.spec.containers),
    text('Selector', ({ spec }) => labelsText(spec.selector), { wide: true }),
  ],
};

function validateSpec(spec: ReplicationControllerSpec): FieldError[] {
  const at = path('spec');
  const errors = validateNonNegative(at.child('minReadySeconds'), spec.minReadySeconds);
  if (isEmpty(spec.selector)) errors.push(required(at.child('selector')));
  if (spec.replicas == null) errors.push(required(at.child('replicas')));
  errors.push(...validateNonNegative(at.child('replicas'), spec.replicas));
  const templateAt = at.child('template');
  if (!spec.template) return [...errors, required(templateAt)];
  const labels = spec.template.metadata?.labels ?? {};
  if (!entriesOf(spec.selector).every(([key, value]) => labels[key] === value)) {
    const message = '`selector` does not match template `labels`';
    errors.push(invalid(templateAt.child('metadata', 'labels'), spec.template.metadata?.labels ?? null, message));
  }
  return [
    ...errors,
    ...validatePodTemplate(templateAt, spec.template),
    ...validateEndlessTemplate(templateAt, spec.template, 'ReplicationController'),
  ];
}

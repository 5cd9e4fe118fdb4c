/** Deployments: a template, a number of replicas, and how to get from one template to the next. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, containerColumns, nameColumn, selectorText, text } from '../../columns.ts';
import { defaultPodTemplate } from '../../core/v1/pod-spec-defaults.ts';
import {
  selectorMatches,
  validateEndlessTemplate,
  validatePodTemplate,
  validateSelector,
  validateTemplateLabels,
} from '../../core/v1/pod-template.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type Deployment, type DeploymentSpec, type DeploymentStrategy, deployments } from '../../gen/apps-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { keepMetadata, raiseGeneration } from '../../strategy.ts';
import {
  percentOf,
  validateAtMostWhole,
  validateCountOrPercent,
  validateImmutable,
  validateNonNegative,
} from '../../validation.ts';
import { validateCollisionCount, validateReplicaCounts } from './replica-counts.ts';
import { strategyShown } from './strategy-shown.ts';

export const deploymentBehaviour: KindBehaviour<Deployment> = {
  resource: deployments,
  validates: 'spec',
  defaults,
  defaultsByMember: true,
  countsGeneration: true,
  prepareForUpdate(deployment, previous) {
    // A change of annotations is passed on to the ReplicaSets, so the controller must see it as news.
    if (!semanticallyEqual(deployment.metadata.annotations, previous.metadata.annotations)) {
      raiseGeneration(deployment, previous);
    }
  },
  validate: ({ spec }) => validateSpec(path('spec'), spec),
  validateUpdate: ({ spec }, previous) => [
    ...validateSpec(path('spec'), spec),
    ...validateImmutable(path('spec', 'selector'), spec.selector, previous.spec.selector),
  ],
  subresources: {
    status: {
      prepareForUpdate: (deployment, previous) => keepMetadata(deployment, previous, 'labels'),
      validateUpdate: ({ status = {} }, previous) => [
        ...validateReplicaCounts(status, {
          counts: [
            'observedGeneration',
            'replicas',
            'updatedReplicas',
            'readyReplicas',
            'availableReplicas',
            'unavailableReplicas',
            'terminatingReplicas',
            'collisionCount',
          ],
          atMostReplicas: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
        }),
        ...validateCollisionCount(status, previous.status),
      ],
    },
  },
  columns: [
    nameColumn,
    text('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`, {
      description: 'Number of the pod with ready state',
    }),
    text('Up-to-date', ({ status }) => status?.updatedReplicas ?? 0),
    text('Available', ({ status }) => status?.availableReplicas ?? 0),
    ageColumn,
    ...containerColumns<Deployment>(({ spec }) => spec.template.spec.containers),
    text('Selector', ({ spec }) => selectorText(spec.selector) ?? '<invalid>', { wide: true }),
  ],
};

function defaults(deployment: Draft<Deployment>): void {
  const spec = partOf(deployment, 'spec');
  fillAbsent(spec, 'replicas', 1);
  const strategy = partOf(spec, 'strategy');
  fillEmpty(strategy, 'type', 'RollingUpdate');
  if (strategy.type === 'RollingUpdate') {
    const rollingUpdate = partOf(strategy, 'rollingUpdate');
    fillAbsent(rollingUpdate, 'maxUnavailable', '25%');
    fillAbsent(rollingUpdate, 'maxSurge', '25%');
  }
  fillAbsent(spec, 'revisionHistoryLimit', 10);
  fillAbsent(spec, 'progressDeadlineSeconds', 600);
  defaultPodTemplate(partOf(spec, 'template'));
}

function validateSpec(at: FieldPath, spec: DeploymentSpec): FieldError[] {
  const errors = [
    ...validateNonNegative(at.child('replicas'), spec.replicas),
    ...validateSelector(at.child('selector'), spec.selector, 'deployment'),
  ];
  const templateAt = at.child('template');
  const matches = selectorMatches(spec.selector, spec.template.metadata?.labels);
  if (matches === undefined) errors.push(invalid(at.child('selector'), spec.selector, 'invalid label selector'));
  else {
    if (!matches) errors.push(validateTemplateLabels(templateAt, spec.template));
    errors.push(...validatePodTemplate(templateAt, spec.template));
    errors.push(...validateEndlessTemplate(templateAt, spec.template, 'ReplicaSet'));
  }
  errors.push(...validateStrategy(at.child('strategy'), spec.strategy ?? {}));
  errors.push(...validateNonNegative(at.child('minReadySeconds'), spec.minReadySeconds));
  errors.push(...validateNonNegative(at.child('revisionHistoryLimit'), spec.revisionHistoryLimit));
  const deadline = spec.progressDeadlineSeconds;
  const deadlineAt = at.child('progressDeadlineSeconds');
  errors.push(...validateNonNegative(deadlineAt, deadline));
  if (deadline != null && deadline <= (spec.minReadySeconds ?? 0)) {
    errors.push(invalid(deadlineAt, deadline, 'must be greater than minReadySeconds'));
  }
  return errors;
}

function validateStrategy(at: FieldPath, strategy: DeploymentStrategy): FieldError[] {
  const rollingAt = at.child('rollingUpdate');
  const { type, rollingUpdate } = strategy;
  if (type === 'Recreate') {
    if (!rollingUpdate) return [];
    return [forbidden(rollingAt, "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== 'RollingUpdate') return [notSupported(at, strategyShown(strategy), ['Recreate', 'RollingUpdate'])];
  if (!rollingUpdate) return [required(rollingAt, 'this should be defaulted and never be nil')];
  const { maxUnavailable, maxSurge } = rollingUpdate;
  const unavailableAt = rollingAt.child('maxUnavailable');
  const errors = [
    ...validateCountOrPercent(unavailableAt, maxUnavailable),
    ...validateCountOrPercent(rollingAt.child('maxSurge'), maxSurge),
  ];
  if (amount(maxUnavailable) === 0 && amount(maxSurge) === 0) {
    errors.push(invalid(unavailableAt, maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  }
  return [...errors, ...validateAtMostWhole(unavailableAt, maxUnavailable)];
}

function amount(value: number | string | undefined): number {
  return typeof value === 'number' ? value : (percentOf(value) ?? 0);
}

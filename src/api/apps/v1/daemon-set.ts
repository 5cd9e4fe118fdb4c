/** DaemonSets: one Pod on every node that the template's rules let it on. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import {
  ageColumn,
  containerColumns,
  integer,
  labelSelectorText,
  labelsText,
  nameColumn,
  text,
} from '../../columns.ts';
import { defaultPodTemplate } from '../../core/v1/pod-spec-defaults.ts';
import {
  selectorMatches,
  selectsAll,
  validateEndlessTemplate,
  validatePodTemplate,
  validateTemplateLabels,
} from '../../core/v1/pod-template.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type DaemonSet, type DaemonSetSpec, type DaemonSetUpdateStrategy, daemonSets } from '../../gen/apps-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import {
  percentOf,
  validateAtMostWhole,
  validateCountOrPercent,
  validateImmutable,
  validateNonNegative,
} from '../../validation.ts';
import { validateCollisionCount, validateCounts } from './replica-counts.ts';
import { strategyShown } from './strategy-shown.ts';

/** Counts changes of the template; once a field of the spec, kept for old clients. */
const templateGeneration = 'deprecated.daemonset.template.generation';

export const daemonSetBehaviour: KindBehaviour<DaemonSet> = {
  resource: daemonSets,
  validates: 'spec',
  defaults,
  defaultsByMember: true,
  countsGeneration: true,
  prepareForCreate: (daemonSet) => setTemplateGeneration(daemonSet, Math.max(1, templateGenerationOf(daemonSet))),
  prepareForUpdate(daemonSet, previous) {
    const changed = !semanticallyEqual(daemonSet.spec.template, previous.spec.template);
    setTemplateGeneration(daemonSet, templateGenerationOf(previous) + (changed ? 1 : 0));
  },
  validate: ({ spec }) => validateSpec(path('spec'), spec),
  validateUpdate: ({ spec }, previous) => [
    ...validateImmutable(path('spec', 'selector'), spec.selector, previous.spec.selector),
    ...validateSpec(path('spec'), spec),
  ],
  subresources: {
    status: {
      validateUpdate: ({ status }, previous) => [
        ...validateCounts(path('status'), status ?? {}, [
          'currentNumberScheduled',
          'numberMisscheduled',
          'desiredNumberScheduled',
          'numberReady',
          'observedGeneration',
          'updatedNumberScheduled',
          'numberAvailable',
          'numberUnavailable',
          'collisionCount',
        ]),
        ...validateCollisionCount(status, previous.status),
      ],
    },
  },
  columns: [
    nameColumn,
    integer('Desired', ({ status }) => status?.desiredNumberScheduled ?? 0),
    integer('Current', ({ status }) => status?.currentNumberScheduled ?? 0),
    integer('Ready', ({ status }) => status?.numberReady ?? 0),
    integer('Up-to-date', ({ status }) => status?.updatedNumberScheduled ?? 0),
    integer('Available', ({ status }) => status?.numberAvailable ?? 0),
    text('Node Selector', ({ spec }) => labelsText(spec.template.spec.nodeSelector)),
    ageColumn,
    ...containerColumns<DaemonSet>(({ spec }) => spec.template.spec.containers),
    text('Selector', ({ spec }) => labelSelectorText(spec.selector), { wide: true }),
  ],
};

function templateGenerationOf({ metadata }: Pick<DaemonSet, 'metadata'>): number {
  const count = Number.parseInt(metadata.annotations?.[templateGeneration] ?? '', 10);
  return Number.isNaN(count) ? 0 : count;
}

function setTemplateGeneration(daemonSet: Draft<DaemonSet>, count: number): void {
  partOf(daemonSet.metadata, 'annotations')[templateGeneration] = String(count);
}

function defaults(daemonSet: Draft<DaemonSet>): void {
  const spec = partOf(daemonSet, 'spec');
  const strategy = partOf(spec, 'updateStrategy');
  fillEmpty(strategy, 'type', 'RollingUpdate');
  if (strategy.type === 'RollingUpdate') {
    const rollingUpdate = partOf(strategy, 'rollingUpdate');
    fillAbsent(rollingUpdate, 'maxUnavailable', 1);
    fillAbsent(rollingUpdate, 'maxSurge', 0);
  }
  fillAbsent(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(partOf(spec, 'template'));
}

function validateSpec(at: FieldPath, spec: DaemonSetSpec): FieldError[] {
  const errors = validateLabelSelector(spec.selector, at.child('selector'));
  const templateAt = at.child('template');
  if (selectorMatches(spec.selector, spec.template.metadata?.labels) === false) {
    errors.push(validateTemplateLabels(templateAt, spec.template));
  }
  if (spec.selector && selectsAll(spec.selector)) {
    errors.push(invalid(at.child('selector'), spec.selector, 'empty selector is invalid for daemonset'));
  }
  return [
    ...errors,
    ...validatePodTemplate(templateAt, spec.template),
    ...validateEndlessTemplate(templateAt, spec.template, 'DaemonSet'),
    ...validateNonNegative(at.child('minReadySeconds'), spec.minReadySeconds),
    ...validateStrategy(at.child('updateStrategy'), spec.updateStrategy ?? {}),
    ...validateNonNegative(at.child('revisionHistoryLimit'), spec.revisionHistoryLimit),
  ];
}

function validateStrategy(at: FieldPath, strategy: DaemonSetUpdateStrategy): FieldError[] {
  if (strategy.type === 'OnDelete') return [];
  if (strategy.type !== 'RollingUpdate')
    return [notSupported(at, strategyShown(strategy), ['RollingUpdate', 'OnDelete'])];
  const rollingAt = at.child('rollingUpdate');
  if (!strategy.rollingUpdate) return [required(rollingAt)];
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate;
  const unavailableAt = rollingAt.child('maxUnavailable');
  const surgeAt = rollingAt.child('maxSurge');
  const errors = [
    ...validateCountOrPercent(unavailableAt, maxUnavailable),
    ...validateCountOrPercent(surgeAt, maxSurge),
    ...validateAtMostWhole(unavailableAt, maxUnavailable),
    ...validateAtMostWhole(surgeAt, maxSurge),
  ];
  const [unavailable, surge] = [maxUnavailable, maxSurge].map((value) =>
    typeof value === 'number' ? value : (percentOf(value) ?? 0),
  );
  if (unavailable !== 0 && surge !== 0) {
    errors.push(invalid(surgeAt, maxSurge, 'may not be set when maxUnavailable is non-zero'));
  }
  if (unavailable === 0 && surge === 0) errors.push(required(unavailableAt, 'cannot be 0 when maxSurge is 0'));
  return errors;
}

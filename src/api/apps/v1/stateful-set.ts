/** StatefulSets: numbered Pods, each with its own name and its own volumes. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  path,
  required,
} from '../../../apimachinery/field-error.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { nameIsDnsLabel } from '../../../apimachinery/names.ts';
import { ageColumn, containerColumns, nameColumn, text } from '../../columns.ts';
import { validateClaimSpec } from '../../core/v1/persistent-volume-claim-spec.ts';
import { defaultPodTemplate } from '../../core/v1/pod-spec-defaults.ts';
import {
  selectorMatches,
  validateEndlessTemplate,
  validatePodTemplate,
  validateSelector,
  validateTemplateLabels,
} from '../../core/v1/pod-template.ts';
import { defaultClaimSpec } from '../../core/v1/volume-defaults.ts';
import { fillAbsent, fillEmpty, partOf } from '../../defaulting.ts';
import { semanticallyEqual } from '../../equality.ts';
import { type StatefulSet, type StatefulSetSpec, statefulSets } from '../../gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import {
  percentOf,
  validateAtMostWhole,
  validateCountOrPercent,
  validateDnsLabel,
  validateEnum,
  validateNonNegative,
} from '../../validation.ts';
import { validateCollisionCount, validateReplicaCounts } from './replica-counts.ts';
import { rollingUpdateShown, strategyShown } from './strategy-shown.ts';

const updatable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const;

export const statefulSetBehaviour: KindBehaviour<StatefulSet> = {
  resource: statefulSets,
  validates: 'spec',
  defaults,
  defaultsByMember: true,
  countsGeneration: true,
  validateName: nameIsDnsLabel,
  prepareForCreate: dropGatedFields,
  prepareForUpdate: dropGatedFields,
  validate: ({ spec }) => validateSpec(path('spec'), spec, { isNew: true, checkTemplate: true }),
  validateUpdate,
  subresources: {
    status: {
      validateUpdate: ({ status }, previous) => [
        ...validateReplicaCounts(status ?? {}, {
          counts: [
            'replicas',
            'readyReplicas',
            'currentReplicas',
            'updatedReplicas',
            'availableReplicas',
            'observedGeneration',
            'collisionCount',
          ],
          atMostReplicas: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
          readyName: 'status.readyReplicas',
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
    ageColumn,
    ...containerColumns<StatefulSet>(({ spec }) => spec.template.spec.containers),
  ],
};

function defaults(statefulSet: Draft<StatefulSet>): void {
  const spec = partOf(statefulSet, 'spec');
  fillEmpty(spec, 'podManagementPolicy', 'OrderedReady');
  const strategy = partOf(spec, 'updateStrategy');
  if (!strategy.type) {
    strategy.type = 'RollingUpdate';
    partOf(strategy, 'rollingUpdate');
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate) fillAbsent(strategy.rollingUpdate, 'partition', 0);
  const retention = partOf(spec, 'persistentVolumeClaimRetentionPolicy');
  fillEmpty(retention, 'whenDeleted', 'Retain');
  fillEmpty(retention, 'whenScaled', 'Retain');
  fillAbsent(spec, 'replicas', 1);
  fillAbsent(spec, 'revisionHistoryLimit', 10);
  defaultPodTemplate(partOf(spec, 'template'));
  for (const claim of spec.volumeClaimTemplates ?? []) {
    if (claim.apiVersion !== 'v1') claim.apiVersion = 'v1';
    if (claim.kind !== 'PersistentVolumeClaim') claim.kind = 'PersistentVolumeClaim';
    fillEmpty(partOf(claim, 'status'), 'phase', 'Pending');
    defaultClaimSpec(partOf(claim, 'spec'));
  }
}

/** `maxUnavailable` is beta and off by default. */
function dropGatedFields(statefulSet: Draft<StatefulSet>, previous?: unknown): void {
  const stored = (previous as Partial<StatefulSet> | undefined)?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable;
  const rollingUpdate = statefulSet.spec.updateStrategy?.rollingUpdate;
  if (stored === undefined && rollingUpdate) delete rollingUpdate.maxUnavailable;
}

interface Scope {
  /** What cannot change later is checked at creation alone. */
  readonly isNew: boolean;
  /** A template that was stored before today's rules is let be. */
  readonly checkTemplate: boolean;
}

function validateUpdate({ spec }: StatefulSet, previous: StatefulSet): FieldError[] {
  const at = path('spec');
  const wasValid = validateSpec(at, previous.spec, { isNew: false, checkTemplate: true }).length === 0;
  const errors = validateSpec(at, spec, { isNew: false, checkTemplate: wasValid });
  const fixed: Record<string, unknown> = { ...spec };
  for (const field of updatable) fixed[field] = previous.spec[field];
  if (!semanticallyEqual(fixed, previous.spec)) {
    const names = `${updatable
      .slice(0, -1)
      .map((field) => `'${field}'`)
      .join(', ')} and '${updatable.at(-1)}'`;
    errors.push(forbidden(at, `updates to statefulset spec for fields other than ${names} are forbidden`));
  }
  return errors;
}

function validateSpec(at: FieldPath, spec: StatefulSetSpec, scope: Scope): FieldError[] {
  const errors = [...validatePolicies(at, spec), ...validateStrategy(at, spec)];
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  for (const field of ['whenDeleted', 'whenScaled'] as const) {
    const here = at.child('persistentVolumeClaimRetentionPolicy', field);
    if (retention) errors.push(...validateEnum(here, retention[field] ?? '', ['Retain', 'Delete']));
  }
  if (scope.isNew) {
    for (const [index, claim] of (spec.volumeClaimTemplates ?? []).entries()) {
      errors.push(...validateClaimSpec(at.child('volumeClaimTemplates').index(index).child('spec'), claim.spec));
    }
  }
  errors.push(...validateNonNegative(at.child('replicas'), spec.replicas));
  errors.push(...validateNonNegative(at.child('minReadySeconds'), spec.minReadySeconds));
  errors.push(...validateNonNegative(at.child('ordinals', 'start'), spec.ordinals?.start));
  if (scope.isNew && spec.serviceName) errors.push(...validateDnsLabel(at.child('serviceName'), spec.serviceName));
  errors.push(...validateSelector(at.child('selector'), spec.selector, 'statefulset'));
  const templateAt = at.child('template');
  const matches = selectorMatches(spec.selector, spec.template.metadata?.labels);
  if (matches === undefined) errors.push(invalid(at.child('selector'), spec.selector, ''));
  else {
    if (!matches) errors.push(validateTemplateLabels(templateAt, spec.template));
    if (scope.checkTemplate) errors.push(...validatePodTemplate(templateAt, withClaims(spec)));
  }
  return [...errors, ...validateEndlessTemplate(templateAt, spec.template, 'StatefulSet')];
}

/** The template as its Pods will be: named by the controller, with a volume for each claim. */
function withClaims(spec: StatefulSetSpec): PodTemplateSpec {
  const claims = spec.volumeClaimTemplates ?? [];
  const claimed = claims.map(({ metadata }) => ({
    name: metadata.name ?? '',
    persistentVolumeClaim: { claimName: metadata.name ?? '' },
  }));
  const names = new Set(claimed.map(({ name }) => name));
  const others = (spec.template.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  const { hostname: _hostname, subdomain: _subdomain, ...podSpec } = spec.template.spec;
  return { ...spec.template, spec: { ...podSpec, volumes: [...claimed, ...others] } };
}

function validatePolicies(at: FieldPath, { podManagementPolicy: policy }: StatefulSetSpec): FieldError[] {
  const here = at.child('podManagementPolicy');
  if (!policy) return [required(here)];
  if (policy === 'OrderedReady' || policy === 'Parallel') return [];
  return [invalid(here, policy, "must be 'OrderedReady' or 'Parallel'")];
}

function validateStrategy(at: FieldPath, { updateStrategy }: StatefulSetSpec): FieldError[] {
  const here = at.child('updateStrategy');
  const rollingAt = here.child('rollingUpdate');
  const { type, rollingUpdate } = updateStrategy ?? {};
  if (!type) return [required(here)];
  if (type === 'OnDelete') {
    return rollingUpdate
      ? [invalid(rollingAt, rollingUpdateShown(rollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")]
      : [];
  }
  if (type !== 'RollingUpdate')
    return [invalid(here, strategyShown(updateStrategy), "must be 'RollingUpdate' or 'OnDelete'")];
  const errors = validateNonNegative(rollingAt.child('partition'), rollingUpdate?.partition);
  const maxUnavailable = rollingUpdate?.maxUnavailable;
  if (maxUnavailable == null) return errors;
  const maxAt = rollingAt.child('maxUnavailable');
  const amount = typeof maxUnavailable === 'number' ? maxUnavailable : (percentOf(maxUnavailable) ?? 0);
  return [
    ...errors,
    ...validateCountOrPercent(maxAt, maxUnavailable),
    ...(amount === 0 ? [invalid(maxAt, maxUnavailable, 'cannot be 0')] : []),
    ...validateAtMostWhole(maxAt, maxUnavailable),
  ];
}

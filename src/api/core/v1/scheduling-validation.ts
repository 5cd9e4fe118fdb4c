/**
 * What a Pod says about where it may run: affinities, tolerations, topology spread and gates; and the taints and selectors of
 * nodes, which are written in the same words.
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import type { LabelSelector } from '../../../apimachinery/gen/meta-v1.ts';
import { validateLabelSelector } from '../../../apimachinery/labels.ts';
import { dns1123Label, dns1123Subdomain, labelValue } from '../../../apimachinery/names.ts';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSchedulingGate,
  Taint,
  Toleration,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from '../../gen/core-v1.ts';
import { refused, shown, validateEnum, validatePositive, validateQualifiedName } from '../../validation.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function validateAffinity(at: FieldPath, affinity: Affinity | undefined): FieldError[] {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const errors: FieldError[] = [];
  const node = affinity?.nodeAffinity;
  if (node?.[required]) errors.push(...validateNodeSelector(at.child('nodeAffinity', required), node[required]));
  for (const [index, { weight, preference }] of (node?.[preferred] ?? []).entries()) {
    const here = at.child('nodeAffinity', preferred).index(index);
    errors.push(...validateWeight(here, weight));
    errors.push(...validateNodeSelectorTerm(here.child('preference'), preference, { anyValues: true }));
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const terms = affinity?.[kind];
    for (const [index, term] of (terms?.[required] ?? []).entries()) {
      errors.push(...validatePodAffinityTerm(at.child(kind, required).index(index), term));
    }
    for (const [index, weighted] of (terms?.[preferred] ?? []).entries()) {
      errors.push(...validateWeightedTerm(at.child(kind, preferred).index(index), weighted));
    }
  }
  return errors;
}

function validateWeight(at: FieldPath, weight: number): FieldError[] {
  return weight > 0 && weight <= 100 ? [] : [invalid(at.child('weight'), weight ?? 0, 'must be in the range 1-100')];
}

function validateWeightedTerm(at: FieldPath, { weight, podAffinityTerm }: WeightedPodAffinityTerm): FieldError[] {
  return [...validateWeight(at, weight), ...validatePodAffinityTerm(at.child('podAffinityTerm'), podAffinityTerm)];
}

function validatePodAffinityTerm(at: FieldPath, term: PodAffinityTerm): FieldError[] {
  const errors = [
    ...validateLabelSelector(term.labelSelector, at.child('labelSelector')),
    ...validateLabelSelector(term.namespaceSelector, at.child('namespaceSelector')),
  ];
  for (const namespace of term.namespaces ?? []) {
    errors.push(...refused(at.child('namespace'), namespace, dns1123Label(namespace)));
  }
  errors.push(...validateMatchLabelKeys(at, term));
  if (!term.topologyKey) errors.push(required(at.child('topologyKey'), 'can not be empty'));
  return [...errors, ...validateQualifiedName(at.child('topologyKey'), term.topologyKey ?? '')];
}

interface LabelKeys {
  readonly matchLabelKeys?: readonly string[] | undefined;
  readonly mismatchLabelKeys?: readonly string[] | undefined;
  readonly labelSelector?: LabelSelector | undefined;
}

/** The API server itself merges these keys into the selector once; a second mention is somebody's mistake. */
function validateMatchLabelKeys(at: FieldPath, keys: LabelKeys): FieldError[] {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = keys;
  const errors: FieldError[] = [];
  for (const [field, list] of [
    ['matchLabelKeys', matchLabelKeys],
    ['mismatchLabelKeys', mismatchLabelKeys],
  ] as const) {
    const here = at.child(field);
    if (list.length === 0) continue;
    if (!labelSelector) errors.push(forbidden(here, 'must not be specified when labelSelector is not set'));
    else errors.push(...list.flatMap((key, index) => validateQualifiedName(here.index(index), key)));
  }
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = matchLabelKeys.lastIndexOf(key);
    if (index >= 0 && selected.has(key)) {
      errors.push(invalid(at.index(index), key, 'exists in both matchLabelKeys and labelSelector'));
    }
    selected.add(key);
  }
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatchLabelKeys.includes(key)) continue;
    const here = at.child('matchLabelKeys').index(index);
    errors.push(invalid(here, key, 'exists in both matchLabelKeys and mismatchLabelKeys'));
  }
  return errors;
}

export function validateNodeSelector(at: FieldPath, { nodeSelectorTerms = [] }: NodeSelector): FieldError[] {
  const here = at.child('nodeSelectorTerms');
  if (nodeSelectorTerms.length === 0) return [required(here, 'must have at least one node selector term')];
  return nodeSelectorTerms.flatMap((term, index) => validateNodeSelectorTerm(here.index(index), term));
}

function validateNodeSelectorTerm(
  at: FieldPath,
  term: NodeSelectorTerm | undefined,
  options: { readonly anyValues?: boolean } = {},
): FieldError[] {
  const { matchExpressions = [], matchFields = [] } = term ?? {};
  return [
    ...matchExpressions.flatMap((requirement, index) =>
      validateRequirement(at.child('matchExpressions').index(index), requirement, options),
    ),
    ...matchFields.flatMap((requirement, index) =>
      validateFieldRequirement(at.child('matchFields').index(index), requirement),
    ),
  ];
}

function validateRequirement(
  at: FieldPath,
  { key, operator, values = [] }: NodeSelectorRequirement,
  { anyValues = false }: { readonly anyValues?: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const valuesAt = at.child('values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      errors.push(required(valuesAt, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      errors.push(forbidden(valuesAt, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) {
      errors.push(required(valuesAt, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else errors.push(invalid(at.child('operator'), operator ?? '', 'not a valid selector operator'));
  errors.push(...validateQualifiedName(at.child('key'), key ?? ''));
  if (anyValues) return errors;
  return [...errors, ...values.flatMap((value, index) => refused(valuesAt.index(index), value, labelValue(value)))];
}

function validateFieldRequirement(
  at: FieldPath,
  { key, operator, values = [] }: NodeSelectorRequirement,
): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(invalid(at.child('operator'), operator ?? '', 'not a valid selector operator'));
  } else if (values.length !== 1) {
    const message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(at.child('values'), message));
  }
  if (key !== 'metadata.name') {
    return [...errors, invalid(at.child('key'), key ?? '', 'not a valid field selector key')];
  }
  const valuesAt = at.child('values');
  return [
    ...errors,
    ...values.flatMap((value, index) => refused(valuesAt.index(index), value, dns1123Subdomain(value))),
  ];
}

export function validateTolerations(at: FieldPath, tolerations: readonly Toleration[]): FieldError[] {
  return tolerations.flatMap((toleration, index) => validateToleration(at.index(index), toleration));
}

function validateToleration(at: FieldPath, toleration: Toleration): FieldError[] {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  const errors = key ? validateQualifiedName(at.child('key'), key) : [];
  const operatorAt = at.child('operator');
  if (!key && operator !== 'Exists') {
    const message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(operatorAt, operator, message));
  }
  if (tolerationSeconds != null && effect !== 'NoExecute') {
    errors.push(invalid(at.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  // Upstream blames the operator for a bad value.
  if (operator === 'Equal' || operator === '') {
    const messages = labelValue(value);
    if (messages.length > 0) errors.push(invalid(operatorAt, value, messages.join(';')));
  } else if (operator === 'Exists') {
    if (value) errors.push(invalid(operatorAt, value, "value must be empty when `operator` is 'Exists'"));
  } else if (operator === 'Lt' || operator === 'Gt') {
    errors.push(notSupported(operatorAt, operator, ['Equal', 'Exists', 'Lt', 'Gt']));
  } else errors.push(notSupported(operatorAt, operator, ['Equal', 'Exists']));
  if (effect) errors.push(...validateEnum(at.child('effect'), effect, effects));
  return errors;
}

export function validateTaints(at: FieldPath, taints: readonly Taint[]): FieldError[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key = '', value = '', effect, timeAdded }, index) => {
    const here = at.index(index);
    const errors = validateQualifiedName(here.child('key'), key);
    const messages = labelValue(value);
    if (messages.length > 0) errors.push(invalid(here.child('value'), value, messages.join(';')));
    if (!effect) errors.push(required(here.child('effect')));
    else errors.push(...validateEnum(here.child('effect'), effect, effects));
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) {
      errors.push({
        ...duplicate(here, shown({ Key: key, Value: value, Effect: effect, TimeAdded: timeAdded })),
        detail: 'taints must be unique by key and effect pair',
      });
    }
    seen.add(identity);
    return errors;
  });
}

export function validateTopologySpread(at: FieldPath, constraints: readonly TopologySpreadConstraint[]): FieldError[] {
  return constraints.flatMap((constraint, index) => {
    const here = at.index(index);
    const { maxSkew, topologyKey = '', whenUnsatisfiable, minDomains } = constraint;
    const errors = validatePositive(here.child('maxSkew'), maxSkew ?? 0);
    if (!topologyKey) errors.push(required(here.child('topologyKey'), 'can not be empty'));
    const actions = ['DoNotSchedule', 'ScheduleAnyway'];
    errors.push(...validateEnum(here.child('whenUnsatisfiable'), whenUnsatisfiable ?? '', actions));
    const repeated = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (repeated) {
      const pairAt = here.child('{topologyKey, whenUnsatisfiable}');
      errors.push(duplicate(pairAt, `{${topologyKey}, ${whenUnsatisfiable}}`));
    }
    errors.push(...validatePositive(here.child('minDomains'), minDomains));
    if (minDomains != null && whenUnsatisfiable !== 'DoNotSchedule') {
      const message = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      errors.push(invalid(here.child('minDomains'), minDomains, message));
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      errors.push(...validateEnum(here.child(policy), constraint[policy], ['Honor', 'Ignore']));
    }
    return [
      ...errors,
      ...validateMatchLabelKeys(here, constraint),
      ...validateLabelSelector(constraint.labelSelector, here.child('labelSelector')),
    ];
  });
}

export function validateSchedulingGates(at: FieldPath, gates: readonly PodSchedulingGate[]): FieldError[] {
  const seen = new Set<string>();
  return gates.flatMap(({ name }, index) => {
    const errors = validateQualifiedName(at.index(index), name ?? '');
    if (seen.has(name)) errors.push(duplicate(at.index(index), name));
    seen.add(name);
    return errors;
  });
}

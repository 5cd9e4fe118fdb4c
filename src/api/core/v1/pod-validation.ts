/**
 * What is refused about a Pod as it is created, changed or given a debugging container (a status: `pod-status-validation.ts`). Hardly anything of a
 * Pod can change: what it was started with is what runs.
 */
import { type FieldError, forbidden, invalid, path, required } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import { inclusiveRangeMessage } from '../../../apimachinery/names.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { NodeAffinity, NodeSelectorTerm, Pod, PodSpec, Toleration } from '../../gen/core-v1.ts';
import { entriesOf, largestInt32 } from '../../validation.ts';
import { validateImageText } from './container-validation.ts';
import { mirrorPodAnnotation } from './mirror-pod.ts';
import { validatePodAnnotations, validateProfileAnnotations } from './pod-annotation-validation.ts';
import { validatePodSpec } from './pod-spec-validation.ts';
import { validateTolerations } from './scheduling-validation.ts';

const specAt = path('spec');
const annotationsAt = path('metadata', 'annotations');
const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

export function validatePod(pod: Pod): FieldError[] {
  const errors = validateMetadataAndSpec(pod);
  if (pod.spec.ephemeralContainers?.length) {
    errors.push(forbidden(specAt.child('ephemeralContainers'), 'cannot be set on create'));
  }
  if (pod.spec.nodeName && pod.spec.schedulingGates?.length) {
    errors.push(forbidden(specAt.child('nodeName'), 'cannot be set until all schedulingGates have been cleared'));
  }
  return [...errors, ...validateProfileAnnotations(specAt, pod.metadata.annotations, pod.spec)];
}

/** What holds for a Pod at any time. */
export function validateMetadataAndSpec(pod: Pod): FieldError[] {
  const errors = [
    ...validatePodAnnotations(annotationsAt, pod.metadata.annotations, pod.spec),
    ...validatePodSpec(specAt, pod.spec, pod.metadata),
  ];
  if (!pod.spec.serviceAccountName) {
    for (const [index, { projected }] of (pod.spec.volumes ?? []).entries()) {
      for (const [sourceIndex, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
        if (!serviceAccountToken) continue;
        const here = specAt.child('volumes').index(index).child('projected', 'sources').index(sourceIndex);
        const message = 'must not be specified when serviceAccountName is not set';
        errors.push(forbidden(here.child('serviceAccountToken'), message));
      }
    }
  }
  for (const field of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (pod.spec[field] ?? []).entries()) {
      errors.push(...validateImageText(specAt.child(field).index(index), container));
    }
  }
  return errors;
}

export function validateAnnotationUpdate(pod: Pod, previous: Pod): FieldError[] {
  const next = pod.metadata.annotations ?? {};
  const stored = previous.metadata.annotations ?? {};
  const errors: FieldError[] = [];
  for (const [key, value] of entriesOf(stored)) {
    if (Object.hasOwn(next, key) && next[key] === value) continue;
    const at = annotationsAt.key(key);
    if (key.startsWith(appArmorPrefix)) {
      errors.push(forbidden(at, 'may not remove or update AppArmor annotations'));
    }
    if (key === mirrorPodAnnotation) errors.push(forbidden(at, 'may not remove or update mirror pod annotation'));
  }
  for (const key of Object.keys(next)) {
    if (Object.hasOwn(stored, key)) continue;
    const at = annotationsAt.key(key);
    if (key.startsWith(appArmorPrefix)) errors.push(forbidden(at, 'may not add AppArmor annotations'));
    if (key === mirrorPodAnnotation) errors.push(forbidden(at, 'may not add mirror pod annotation'));
  }
  return errors;
}

const updatableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

export function validatePodUpdate(pod: Pod, previous: Pod): FieldError[] {
  const errors = [...validateMetadataAndSpec(pod), ...validateAnnotationUpdate(pod, previous)];
  for (const field of ['containers', 'initContainers'] as const) {
    const next = pod.spec[field] ?? [];
    if (next.length !== (previous.spec[field] ?? []).length) {
      return [...errors, forbidden(specAt.child(field), 'pod updates may not add or remove containers')];
    }
    for (const [index, container] of next.entries()) {
      const here = specAt.child(field).index(index);
      if (!container.image) errors.push(required(here.child('image')));
      errors.push(...validateImageText(here, container));
    }
  }
  const deadline = validateDeadlineUpdate(pod.spec, previous.spec);
  errors.push(...deadline.errors);
  if (deadline.stop) return errors;
  errors.push(...validateAddedTolerations(pod.spec.tolerations ?? [], previous.spec.tolerations ?? []));
  errors.push(...validateRemovedGates(pod.spec, previous.spec));
  if (semanticallyEqual(pod.spec, previous.spec)) return errors;

  const gated = (previous.spec.schedulingGates?.length ?? 0) > 0;
  if (gated) errors.push(...validateGatedChanges(pod.spec, previous.spec));
  const rest = withoutUpdatable(pod.spec, previous.spec, gated);
  if (!semanticallyEqual(rest, previous.spec)) {
    errors.push(
      forbidden(
        specAt,
        `pod updates may not change fields other than ${updatableFields}\n${specDiff(previous.spec, rest)}`,
      ),
    );
  }
  return errors;
}

/** The new spec with all that may change put back to what is stored. */
function withoutUpdatable(next: PodSpec, stored: PodSpec, gated: boolean): PodSpec {
  const withImages = (field: 'containers' | 'initContainers') =>
    (next[field] ?? []).map((container, index) => ({ ...container, image: stored[field]?.[index]?.image }));
  const fixedGrace = (stored.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1;
  return {
    ...next,
    containers: withImages('containers'),
    initContainers: withImages('initContainers'),
    activeDeadlineSeconds: stored.activeDeadlineSeconds,
    schedulingGates: stored.schedulingGates,
    tolerations: stored.tolerations,
    ...(fixedGrace ? { terminationGracePeriodSeconds: stored.terminationGracePeriodSeconds } : {}),
    ...(gated
      ? {
          nodeSelector: stored.nodeSelector,
          affinity: { ...next.affinity, nodeAffinity: stored.affinity?.nodeAffinity },
        }
      : {}),
  };
}

/** Names the fields that differ. Upstream prints both values in a form that its own authors call unstable. */
function specDiff(stored: PodSpec, next: PodSpec): string {
  const before = stored as unknown as Record<string, unknown>;
  const after = next as unknown as Record<string, unknown>;
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return fields
    .filter((field) => !semanticallyEqual(before[field], after[field]))
    .flatMap((field) => [
      `- ${field}: ${JSON.stringify(before[field] ?? null)}`,
      `+ ${field}: ${JSON.stringify(after[field] ?? null)}`,
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function validateDeadlineUpdate(next: PodSpec, stored: PodSpec): { errors: FieldError[]; stop: boolean } {
  const at = specAt.child('activeDeadlineSeconds');
  const seconds = next.activeDeadlineSeconds;
  const before = stored.activeDeadlineSeconds;
  if (seconds == null) {
    if (before == null) return { errors: [], stop: false };
    return { errors: [invalid(at, null, 'must not update from a positive integer to nil value')], stop: false };
  }
  if (seconds < 0 || seconds > largestInt32) {
    return { errors: [invalid(at, seconds, inclusiveRangeMessage(0, largestInt32))], stop: true };
  }
  if (before != null && before < seconds) {
    return { errors: [invalid(at, seconds, 'must be less than or equal to previous value')], stop: true };
  }
  return { errors: [], stop: false };
}

function validateAddedTolerations(next: readonly Toleration[], stored: readonly Toleration[]): FieldError[] {
  const at = specAt.child('tolerations');
  const kept = stored.every((old) =>
    next.some((toleration) =>
      semanticallyEqual({ ...old, tolerationSeconds: undefined }, { ...toleration, tolerationSeconds: undefined }),
    ),
  );
  if (!kept) return [forbidden(at, 'existing toleration can not be modified except its tolerationSeconds')];
  return validateTolerations(at, next);
}

function validateRemovedGates(next: PodSpec, stored: PodSpec): FieldError[] {
  const known = new Set((stored.schedulingGates ?? []).map(({ name }) => name));
  return (next.schedulingGates ?? []).flatMap(({ name }, index) => {
    if (known.has(name)) return [];
    const here = specAt.child('schedulingGates').index(index).child('name');
    return [forbidden(here, `only deletion is allowed, but found new scheduling gate '${name}'`)];
  });
}

/** While gates hold a Pod back, its choice of nodes may be narrowed. */
function validateGatedChanges(next: PodSpec, stored: PodSpec): FieldError[] {
  const selector = next.nodeSelector ?? {};
  const narrowed = entriesOf(stored.nodeSelector).every(([key, value]) => selector[key] === value);
  const message = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  return [
    ...(narrowed ? [] : [invalid(specAt.child('nodeSelector'), selector, message)]),
    ...validateNarrowedAffinity(next.affinity?.nodeAffinity, stored.affinity?.nodeAffinity),
  ];
}

function validateNarrowedAffinity(next: NodeAffinity | undefined, stored: NodeAffinity | undefined): FieldError[] {
  const field = 'requiredDuringSchedulingIgnoredDuringExecution';
  if (!stored?.[field]) return [];
  const at = specAt.child('affinity', 'nodeAffinity', field, 'nodeSelectorTerms');
  const before = stored[field].nodeSelectorTerms ?? [];
  const after = next?.[field]?.nodeSelectorTerms ?? [];
  if (before.length > 0 && before.length !== after.length) {
    return [invalid(at, after, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')];
  }
  return before.flatMap((term, index) => {
    if (onlyAdds(after[index]!, term)) return [];
    return [invalid(at.index(index), after[index], 'only additions are allowed (no mutations or deletions)')];
  });
}

function onlyAdds(next: NodeSelectorTerm, stored: NodeSelectorTerm): boolean {
  const fields = ['matchExpressions', 'matchFields'] as const;
  const wasEmpty = fields.every((field) => !stored[field]?.length);
  if (wasEmpty) return fields.every((field) => !next[field]?.length);
  return fields.every((field) => {
    const before = stored[field] ?? [];
    return semanticallyEqual((next[field] ?? []).slice(0, before.length), before);
  });
}

export function validateEphemeralContainersUpdate(pod: Pod, previous: Pod): FieldError[] {
  if (previous.metadata.annotations && Object.hasOwn(previous.metadata.annotations, mirrorPodAnnotation)) {
    return [forbidden(path(), 'static pods do not support ephemeral containers')];
  }
  const errors = [...validateMetadataAndSpec(pod), ...validateAnnotationUpdate(pod, previous)];
  const at = specAt.child('ephemeralContainers');
  for (const old of previous.spec.ephemeralContainers ?? []) {
    const next = pod.spec.ephemeralContainers?.find(({ name }) => name === old.name);
    const subject = `existing ephemeral containers ${quote(old.name)}`;
    if (!next) errors.push(forbidden(at, `${subject} may not be removed\n`));
    else if (!semanticallyEqual(next, old)) errors.push(forbidden(at, `${subject} may not be changed\n`));
  }
  return errors;
}

/**
 * What the API server makes of a Pod before it stores it: the first status, selectors completed from the Pod's own labels, and
 * which part of the object each subresource may touch.
 */

import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import type { LabelSelector } from '../../../apimachinery/gen/meta-v1.ts';
import { type Draft, draft } from '../../../apimachinery/meta.ts';
import { semanticallyEqual } from '../../equality.ts';
import type { Container, Pod, PodAffinityTerm, PodSpec } from '../../gen/core-v1.ts';
import type { StrategyContext } from '../../kind.ts';
import { keepMetadata, raiseGeneration } from '../../strategy.ts';
import { computeQosClass } from './quality-of-service.ts';

export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

export function preparePod(pod: Draft<Pod>, { warn }: StrategyContext): void {
  pod.status = { phase: 'Pending', qosClass: computeQosClass(pod.spec) };
  if (pod.spec.schedulingGates?.length) {
    pod.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
  }
  mergeLabelKeys(pod);
  adoptAppArmorAnnotations(pod, warn);
}

interface SelectorWithKeys {
  labelSelector?: Draft<LabelSelector> | undefined;
  matchLabelKeys?: readonly string[] | undefined;
  mismatchLabelKeys?: readonly string[] | undefined;
}

/** `matchLabelKeys: [app]` on a Pod with `app: web` selects `app in (web)`: written into the selector, once, at creation. */
function mergeLabelKeys(pod: Draft<Pod>): void {
  const labels = pod.metadata.labels ?? {};
  const merge = (term: SelectorWithKeys) => {
    if (!term.labelSelector) return;
    for (const [keys, operator] of [
      [term.matchLabelKeys, 'In'],
      [term.mismatchLabelKeys, 'NotIn'],
    ] as const) {
      for (const key of keys ?? []) {
        if (!Object.hasOwn(labels, key)) continue;
        term.labelSelector.matchExpressions ??= [];
        term.labelSelector.matchExpressions.push({ key, operator, values: [labels[key]!] });
      }
    }
  };
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const terms = pod.spec.affinity?.[kind];
    const required: Draft<PodAffinityTerm>[] = terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    required.forEach(merge);
    for (const { podAffinityTerm } of terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      merge(podAffinityTerm);
    }
  }
  pod.spec.topologySpreadConstraints?.forEach(merge);
}

/** Old annotations that choose a profile become the field, unless the field is set. Who uses them is told. */
function adoptAppArmorAnnotations(pod: Draft<Pod>, warn: StrategyContext['warn']): void {
  if (pod.spec.os?.name === 'windows') return;
  for (const [key, value] of Object.entries(pod.metadata.annotations ?? {})) {
    if (!key.startsWith(appArmorPrefix)) continue;
    const profile = appArmorProfile(value);
    const name = key.slice(appArmorPrefix.length);
    const containers = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
    const container = containers.find((candidate) => candidate.name === name);
    if (!container || container.securityContext?.appArmorProfile) continue;
    if (profile && semanticallyEqual(profile, pod.spec.securityContext?.appArmorProfile)) continue;
    warn(appArmorWarning(path('metadata', 'annotations'), name));
    if (!profile) continue;
    container.securityContext ??= {};
    container.securityContext.appArmorProfile = profile;
  }
}

type Profile = NonNullable<Draft<NonNullable<Container['securityContext']>>['appArmorProfile']>;

/** `at` is where the annotations are. */
export function appArmorWarning(at: FieldPath, container: string): string {
  return `${at.key(`${appArmorPrefix}${container}`)}: deprecated since v1.30; use the "appArmorProfile" field instead`;
}

/** Undefined for an annotation that names none. */
export function appArmorProfile(annotation: string): Profile | undefined {
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  const localhost = 'localhost/';
  if (!annotation.startsWith(localhost) || annotation === localhost) return undefined;
  return { type: 'Localhost', localhostProfile: annotation.slice(localhost.length) };
}

export function prepareStatus(pod: Draft<Pod>, previous: Pod): void {
  keepMetadata(pod, previous, 'deletionTimestamp', 'deletionGracePeriodSeconds', 'ownerReferences');
  pod.status ??= {};
  if (!pod.status.qosClass && previous.status?.qosClass) pod.status.qosClass = previous.status.qosClass;
}

/** Takes only the debugging containers of the request. */
export function prepareEphemeralContainers(pod: Draft<Pod>, previous: Pod): void {
  const wanted = pod.spec.ephemeralContainers;
  takeSpec(pod, previous, { ...draft(previous.spec), ephemeralContainers: wanted });
}

/** Takes only sizes, of the same containers as before; anything else is left for validation to refuse. */
export function prepareResize(pod: Draft<Pod>, previous: Pod): void {
  const lists = ['initContainers', 'containers'] as const;
  const sameContainers = lists.every((field) => {
    const names = (spec: PodSpec) => (spec[field] ?? []).map(({ name }) => name);
    return semanticallyEqual(names(pod.spec), names(previous.spec));
  });
  if (!sameContainers) return takeSpec(pod, previous, pod.spec);
  const spec = draft(previous.spec);
  for (const field of lists) {
    for (const [index, container] of (spec[field] ?? []).entries()) {
      const wanted = pod.spec[field]![index]!;
      container.resources = wanted.resources;
      container.resizePolicy = wanted.resizePolicy;
    }
  }
  spec.resources = pod.spec.resources;
  takeSpec(pod, previous, spec);
}

const keptMetadata = [
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'deletionTimestamp',
  'generation',
] as const;

function takeSpec(pod: Draft<Pod>, previous: Pod, spec: Draft<PodSpec>): void {
  keepMetadata(pod, previous, ...keptMetadata);
  pod.spec = spec;
  if (previous.status) pod.status = draft(previous.status);
  else delete pod.status;
  if (!semanticallyEqual(pod.spec, previous.spec)) raiseGeneration(pod, previous);
}

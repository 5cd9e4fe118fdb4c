/**
 * A Deployment's history: which ReplicaSet carries the present template, which are older, what number each revision has and which
 * annotations a ReplicaSet takes over from its Deployment. Pure. Rolling back is nothing special here: a template that was used
 * before finds its old ReplicaSet again, which then gets the newest number.
 */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import { scaledValue } from '../common/rounding.ts';
import { equalOnWire } from '../common/wire-equality.ts';

export const templateHashLabel = 'pod-template-hash';
export const revisionAnnotation = 'deployment.kubernetes.io/revision';
const revisionHistoryAnnotation = 'deployment.kubernetes.io/revision-history';
export const desiredReplicasAnnotation = 'deployment.kubernetes.io/desired-replicas';
export const maxReplicasAnnotation = 'deployment.kubernetes.io/max-replicas';

const maxRevisionHistoryCharacters = 2000;

/** Annotations of a Deployment that say something about itself and so never go to its ReplicaSets. */
const ownAnnotations: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  'deprecated.deployment.rollback.revisionTo',
]);

export function replicasOf(object: Deployment | ReplicaSet): number {
  return object.spec.replicas ?? 1;
}

export function hasProgressDeadline(deployment: Deployment): boolean {
  const { progressDeadlineSeconds } = deployment.spec;
  return progressDeadlineSeconds !== undefined && progressDeadlineSeconds !== 2 ** 31 - 1;
}

export function isRollingUpdate(deployment: Deployment): boolean {
  return (deployment.spec.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

/**
 * How far a rollout may leave the desired number: surge rounded up, unavailable rounded down, and when both come to nothing one
 * may be unavailable, or the rollout could never move.
 */
export function rollingLimits(deployment: Deployment): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return { maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge ?? '25%', replicas, true) ?? 0;
  const unavailable = scaledValue(maxUnavailable ?? '25%', replicas, false) ?? 0;
  const least = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { maxSurge: surge, maxUnavailable: Math.min(least, replicas) };
}

export function sameTemplate(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return equalOnWire(withoutHash(a), withoutHash(b));
}

function withoutHash(template: PodTemplateSpec | undefined): unknown {
  const { [templateHashLabel]: _, ...labels } = template?.metadata?.labels ?? {};
  const { metadata, spec } = template ?? {};
  return { spec, metadata: { ...metadata, labels, creationTimestamp: undefined } };
}

/** Oldest first; equal times by name. */
export function byCreation(a: ReplicaSet, b: ReplicaSet): number {
  return (
    (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
    (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
  );
}

/** The oldest ReplicaSet with the Deployment's template: with several (an old bug, a hand-made one) the choice must be stable. */
export function findNewReplicaSet(deployment: Deployment, all: readonly ReplicaSet[]): ReplicaSet | undefined {
  return [...all]
    .sort(byCreation)
    .find((replicaSet) => sameTemplate(replicaSet.spec.template, deployment.spec.template));
}

/** A whole number of 64 bits, as users may set it; anything else counts as none. */
export function revisionOf(object: Deployment | ReplicaSet): bigint {
  return parseRevision(object.metadata.annotations?.[revisionAnnotation]) ?? 0n;
}

export function maxRevision(replicaSets: readonly ReplicaSet[]): bigint {
  let most = 0n;
  for (const revision of replicaSets.map(revisionOf)) if (revision > most) most = revision;
  return most;
}

function parseRevision(text = '0'): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const revision = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, revision) === revision ? revision : undefined;
}

/**
 * The annotations that the ReplicaSet of the present template must have as revision `revision`. A revision it had before goes into
 * its history, which is kept under 2000 characters by dropping the oldest.
 */
export function annotationsFor(
  deployment: Deployment,
  replicaSet: Pick<ReplicaSet, 'metadata'>,
  revision: bigint,
): Readonly<Record<string, string>> {
  const annotations: Record<string, string> = { ...replicaSet.metadata.annotations };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!ownAnnotations.has(key)) annotations[key] = value;
  }
  const previous = annotations[revisionAnnotation];
  const previousRevision = parseRevision(previous);
  if (previousRevision === undefined || previousRevision >= revision) return annotations;
  annotations[revisionAnnotation] = String(revision);
  if (previous !== undefined) {
    annotations[revisionHistoryAnnotation] = history(annotations[revisionHistoryAnnotation], previous);
  }
  return annotations;
}

function history(present: string | undefined, added: string): string {
  const revisions = present ? present.split(',') : [];
  let length = revisions.join(',').length + added.length + 1;
  while (length > maxRevisionHistoryCharacters && revisions.length > 0) length -= (revisions.shift()?.length ?? 0) + 1;
  return [...revisions, added].join(',');
}

/** What a ReplicaSet remembers of its Deployment's size, so that a later change of size can be shared out in proportion. */
export function sizeAnnotations(deployment: Deployment): Readonly<Record<string, string>> {
  const desired = replicasOf(deployment);
  return {
    [desiredReplicasAnnotation]: String(desired),
    [maxReplicasAnnotation]: String(desired + rollingLimits(deployment).maxSurge),
  };
}

export function hasSizeAnnotations(replicaSet: ReplicaSet, deployment: Deployment): boolean {
  const present = replicaSet.metadata.annotations ?? {};
  return Object.entries(sizeAnnotations(deployment)).every(([key, value]) => present[key] === value);
}

/** Old ReplicaSets beyond the history limit that hold nothing any more, oldest revision first. */
export function planCleanup(deployment: Deployment, old: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const limit = deployment.spec.revisionHistoryLimit;
  if (limit === undefined || limit === 2 ** 31 - 1) return [];
  const alive = old.filter((replicaSet) => replicaSet.metadata.deletionTimestamp === undefined);
  const surplus = alive.length - limit;
  if (surplus <= 0) return [];
  return alive
    .sort((a, b) => Number(revisionOf(a) - revisionOf(b)) || byCreation(a, b))
    .slice(0, surplus)
    .filter(
      ({ metadata, spec, status }) =>
        (status?.replicas ?? 0) === 0 &&
        spec.replicas === 0 &&
        (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0),
    );
}

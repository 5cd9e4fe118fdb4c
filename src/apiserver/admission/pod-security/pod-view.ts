/** A Pod, or a workload's template, as the checks of the Pod Security Standards look at it. */
import type { Container, EphemeralContainer, Pod } from '../../../api/gen/core-v1.ts';
import { allContainers } from '../../authorization/pod-references.ts';
import type { Finding } from './finding.ts';

/** A Pod, or a template of Pods, which may have no metadata. */
export type PodLike = Pick<Pod, 'spec'> & Partial<Pick<Pod, 'metadata'>>;
export type AnyContainer = Container | EphemeralContainer;

/** `minor`: 28 for v1.28; infinite for `latest`. */
export type CheckFunction = (pod: PodLike, minor: number) => Finding | undefined;

export interface Check {
  readonly id: string;
  readonly level: 'baseline' | 'restricted';
  /** First minor version of the standard that has it. */
  readonly since: number;
  /** Baseline checks that this one replaces. */
  readonly replaces?: readonly string[];
  readonly run: CheckFunction;
}

export function containersOf(pod: PodLike): readonly AnyContainer[] {
  return allContainers(pod as Pod);
}

export function namesWhere(pod: PodLike, isBad: (container: AnyContainer) => boolean): readonly string[] {
  return containersOf(pod)
    .filter(isBad)
    .map((container) => container.name);
}

/** From 1.35 on, a Pod in a user namespace of its own may be root in it. */
export function hasOwnUsers(pod: PodLike): boolean {
  return pod.spec.hostUsers === false;
}

/**
 * What a user's policies make of Pods: which failures count, which end the Job or an index, and when enough has succeeded. Pure.
 */
import { podCondition } from '../../api/core/v1/pod-status.ts';
import type {
  PodFailurePolicy,
  PodFailurePolicyAction,
  PodFailurePolicyRule,
  SuccessPolicy,
} from '../../api/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { parseIndexes } from './indexes.ts';

export interface FailureMatch {
  readonly action: PodFailurePolicyAction;
  /** Whether the failure counts toward the limits. */
  readonly counts: boolean;
  readonly message: string;
}

/** The first rule that the failed Pod matches; a failure that matches none simply counts. */
export function matchFailure(policy: PodFailurePolicy | undefined, pod: Pod, perIndex: boolean): FailureMatch {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const subject = exitCodeMatch(rule, pod) ?? conditionMatch(rule, pod);
    if (subject === undefined) continue;
    const { action } = rule;
    if (action === 'FailIndex' && !perIndex) break;
    return { action, counts: action !== 'Ignore', message: `${subject} matching ${action} rule at index ${index}` };
  }
  return { action: 'Count', counts: true, message: '' };
}

function exitCodeMatch({ onExitCodes }: PodFailurePolicyRule, pod: Pod): string | undefined {
  if (!onExitCodes) return undefined;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const found = statuses.find((status) => {
    const code = status.state?.terminated?.exitCode;
    if (code === undefined || code === 0) return false;
    if (onExitCodes.containerName !== undefined && onExitCodes.containerName !== status.name) return false;
    return onExitCodes.values.includes(code) === (onExitCodes.operator === 'In');
  });
  return found && exitCodeText(pod, found);
}

function exitCodeText({ metadata }: Pod, { name, state }: ContainerStatus): string {
  return `Container ${name} for pod ${metadata.namespace}/${metadata.name} failed with exit code ${state?.terminated?.exitCode}`;
}

function conditionMatch({ onPodConditions }: PodFailurePolicyRule, pod: Pod): string | undefined {
  const found = onPodConditions?.find(
    ({ type, status }) => (podCondition(pod.status, type)?.status ?? '') === (status ?? 'True'),
  );
  return found && `Pod ${pod.metadata.namespace}/${pod.metadata.name} has condition ${found.type}`;
}

/** The message of the first rule of a success policy that the succeeded indexes satisfy. */
export function matchSuccess(
  policy: SuccessPolicy | undefined,
  succeeded: ReadonlySet<number>,
  completions: number,
): string | undefined {
  if (succeeded.size === 0) return undefined;
  for (const [index, { succeededIndexes, succeededCount }] of (policy?.rules ?? []).entries()) {
    const message = `Matched rules at index ${index}`;
    if (succeededIndexes === undefined) {
      if (succeededCount !== undefined && succeeded.size >= succeededCount) return message;
      continue;
    }
    const required = parseIndexes(succeededIndexes, completions);
    if (required.size === 0) continue;
    const reached = required.intersection(succeeded).size;
    if (reached === required.size || (succeededCount !== undefined && reached >= succeededCount)) return message;
  }
  return undefined;
}

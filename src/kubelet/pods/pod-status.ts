/**
 * The status that the kubelet posts for a Pod: phase, conditions, addresses and container statuses. Pure: from the spec, what the
 * runtime shows and what the kubelet knows. Conditions that belong to others (readiness gates, the scheduler's) are kept.
 */

import { isSidecar, podCondition, withPodCondition } from '../../api/core/v1/pod-status.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { ContainerStatus, Pod, PodCondition, PodPhase, PodStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { WholePodStatus } from '../resize/pod-level-status.ts';
import { resizeConditionTypes } from '../resize/resize-conditions.ts';
import { type ContainerKnowledge, type ContainerStatuses, containerStatuses } from './container-statuses.ts';
import { podPhase } from './pod-phase.ts';
import { restartCondition } from './restart-all.ts';
import { type RuntimePod, readySandbox, runningContainers } from './runtime-pod.ts';

/** Why the kubelet ends a Pod, as its status shall say; absent fields leave the status alone. */
export interface TerminationCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** Ends as Failed, whatever its containers say. */
  readonly fails?: boolean | undefined;
  readonly condition?: { readonly type: string; readonly reason: string; readonly message: string } | undefined;
}

export interface PodStatusInput {
  readonly pod: Pod;
  readonly observed: RuntimePod;
  readonly knowledge: ContainerKnowledge;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  readonly startTimeMs: number;
  readonly nowMs: number;
  /** Nothing of it runs any more, and nothing will. */
  readonly isTerminal: boolean;
  readonly cause?: TerminationCause | undefined;
  /** How far a change of its resources has come. */
  readonly resizing?: readonly PodCondition[] | undefined;
  /** What the Pod as a whole was given, and has. */
  readonly asWhole?: WholePodStatus | undefined;
}

export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, observed, knowledge, isTerminal } = input;
  // Why it was ended is told together with the final phase.
  const cause = isTerminal ? input.cause : undefined;
  const containers = settle(containerStatuses({ pod, observed, knowledge }), input);
  const all = [...containers.init, ...containers.regular];
  const before = pod.status;
  const wasTerminal = before?.phase === 'Succeeded' || before?.phase === 'Failed';
  const ended = podPhase(pod, all, input);
  // What is over without ever having begun has failed.
  const computed = isTerminal && (cause?.fails || ended === 'Pending') ? 'Failed' : ended;
  // Whoever sees a final phase may take the Pod's place: it is not shown while anything of it still runs, nor without its cause.
  const isHeld = !isTerminal && (input.cause !== undefined || runningContainers(observed).length > 0);
  const isEarly = isHeld && (computed === 'Succeeded' || computed === 'Failed');
  const phase = wasTerminal ? before.phase! : isEarly ? (before?.phase ?? 'Pending') : computed;
  const ips = addresses(input);
  const reason = cause?.reason ?? before?.reason;
  const message = cause?.message ?? before?.message;
  return {
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: conditions(input, containers, phase),
    ...(message ? { message } : {}),
    ...(reason ? { reason } : {}),
    ...(input.hostIps[0] ? { hostIP: input.hostIps[0], hostIPs: input.hostIps.map((ip) => ({ ip })) } : {}),
    ...(ips[0] ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}),
    startTime: before?.startTime ?? formatTime(input.startTimeMs),
    ...(containers.init.length > 0 ? { initContainerStatuses: containers.init } : {}),
    containerStatuses: containers.regular,
    qosClass: before?.qosClass ?? qosClass(pod),
    ...(containers.ephemeral.length > 0 ? { ephemeralContainerStatuses: containers.ephemeral } : {}),
    ...input.asWhole,
  };
}

/** Of a Pod that the kubelet never let in: it fails at once, with no container ever made. */
export function rejectedStatus(pod: Pod, reason: string, message: string, nowMs: number): PodStatus {
  return {
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: formatTime(nowMs),
    qosClass: pod.status?.qosClass ?? qosClass(pod),
    ...(pod.status?.conditions ? { conditions: pod.status.conditions } : {}),
  };
}

function addresses({ pod, observed, hostIps }: PodStatusInput): readonly string[] {
  if (pod.spec.hostNetwork) return observed.sandboxes.length > 0 ? hostIps : [];
  const ips = readySandbox(observed)?.ips ?? [];
  // The addresses a Pod had stay in its status when its sandbox is gone.
  return ips.length > 0 ? ips : (pod.status?.podIPs ?? []).map(({ ip }) => ip);
}

/** In a Pod that is over no container may look as if it were still to come or still there. */
function settle(statuses: ContainerStatuses, { isTerminal, pod }: PodStatusInput): ContainerStatuses {
  if (!isTerminal) return statuses;
  const settled = (status: ContainerStatus): ContainerStatus => {
    if (status.state?.terminated) return { ...status, started: false };
    const unknown = {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
    };
    const last = status.state?.waiting ? status.lastState?.terminated : undefined;
    return {
      ...status,
      ready: false,
      started: false,
      state: { terminated: last ?? unknown },
      lastState: last ? {} : (status.lastState ?? {}),
    };
  };
  const initialised = hasInitialised(pod, statuses);
  // Init containers that were never reached stay as they are.
  const init = statuses.init.map((status) =>
    status.state?.waiting && !status.containerID && !initialised ? status : settled(status),
  );
  // Nor do those behind an init container that failed: they never were.
  const regular = statuses.regular.map((status) => (initialised ? settled(status) : status));
  return { ...statuses, init, regular };
}

function hasInitialised(pod: Pod, statuses: ContainerStatuses): boolean {
  if ((pod.spec.initContainers ?? []).length === 0) return true;
  if (statuses.regular.some((status) => status.containerID)) return true;
  const last = statuses.init.at(-1);
  return last?.state?.terminated?.exitCode === 0 || last?.started === true;
}

type ConditionDraft = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;

function conditions(input: PodStatusInput, containers: ContainerStatuses, phase: PodPhase): readonly PodCondition[] {
  const { pod, nowMs, isTerminal, cause, resizing = [] } = input;
  const drafts: ConditionDraft[] = [
    readyToStartContainers(input),
    initializedCondition(pod, containers, phase),
    readyCondition(input, containers, phase),
    containersReadyCondition(pod, containers, phase),
    { type: 'PodScheduled', status: 'True' },
  ];
  const restarting = restartCondition(pod, input.observed, phase);
  if (restarting) drafts.push(restarting);
  if (isTerminal && cause?.condition) drafts.push({ status: 'True', ...cause.condition });
  let list: readonly PodCondition[] = (pod.status?.conditions ?? []).filter(
    ({ type }) => !resizeConditionTypes.has(type) || resizing.some((condition) => condition.type === type),
  );
  for (const condition of drafts) {
    list = withPodCondition(list, {
      ...condition,
      lastTransitionTime: formatTime(nowMs),
      ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    });
  }
  for (const condition of resizing) list = withPodCondition(list, condition);
  return list;
}

function readyToStartContainers({ observed, isTerminal }: PodStatusInput): ConditionDraft {
  const sandbox = isTerminal ? undefined : readySandbox(observed);
  const hasNetwork = sandbox !== undefined && (sandbox.namespaces.network === 'node' || sandbox.ips.length > 0);
  return { type: 'PodReadyToStartContainers', status: hasNetwork ? 'True' : 'False' };
}

const list = (names: readonly string[]) => `[${names.join(' ')}]`;

function initializedCondition(pod: Pod, containers: ContainerStatuses, phase: PodPhase): ConditionDraft {
  const type = 'Initialized';
  const all = pod.spec.initContainers ?? [];
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of all) {
    const status = containers.init.find(({ name }) => name === container.name);
    if (!status) unknown.push(container.name);
    else if (isSidecar(container) ? !status.started : !status.ready) incomplete.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' };
  // Once the others have run, a sidecar that is down does not undo initialisation.
  const hasRun = containers.regular.some((status) => status.state?.running || status.containerID);
  if (hasRun && incomplete.every((name) => all.some((container) => container.name === name && isSidecar(container))))
    return { type, status: 'True' };
  const messages = [
    ...(unknown.length > 0 ? [`containers with unknown status: ${list(unknown)}`] : []),
    ...(incomplete.length > 0 ? [`containers with incomplete status: ${list(incomplete)}`] : []),
  ];
  // What was initialised once stays so, also when all its containers begin anew.
  if (messages.length === 0 || podCondition(pod.status, type)?.status === 'True') return { type, status: 'True' };
  return { type, status: 'False', reason: 'ContainersNotInitialized', message: messages.join(', ') };
}

function containersReadyCondition(pod: Pod, containers: ContainerStatuses, phase: PodPhase): ConditionDraft {
  const type = 'ContainersReady';
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  const unready = [...sidecars, ...pod.spec.containers]
    .map(({ name }) => name)
    .filter(
      (name) => ![...containers.init, ...containers.regular].some((status) => status.name === name && status.ready),
    );
  if (unready.length === 0) return { type, status: 'True' };
  return {
    type,
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: ${list(unready)}`,
  };
}

function readyCondition(input: PodStatusInput, containers: ContainerStatuses, phase: PodPhase): ConditionDraft {
  const { pod } = input;
  const containersReady = containersReadyCondition(pod, containers, phase);
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const messages = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = podCondition(pod.status, conditionType);
    if (!condition) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return condition.status === 'True'
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  if (messages.length === 0) return { type: 'Ready', status: 'True' };
  return { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}

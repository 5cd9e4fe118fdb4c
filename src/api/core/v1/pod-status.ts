/**
 * Questions about a Pod's status that several components ask in the same words: its conditions, whether it is ready, available,
 * finished, and which of its containers restart. Pure: `nowMs` is an argument, and nothing is changed in place.
 */
import type {
  Container,
  ContainerRestartRule,
  ContainerStatus,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '../../gen/core-v1.ts';

export function podCondition(status: PodStatus | undefined, type: string): PodCondition | undefined {
  for (const condition of status?.conditions ?? none) if (condition.type === type) return condition;
  return undefined;
}

const none: readonly PodCondition[] = [];

export function isPodReady(pod: Pod): boolean {
  return podCondition(pod.status, 'Ready')?.status === 'True';
}

/** Ready for at least `minReadySeconds`. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const ready = podCondition(pod.status, 'Ready');
  if (ready?.status !== 'True') return false;
  if (minReadySeconds === 0) return true;
  const since = ready.lastTransitionTime ? Date.parse(ready.lastTransitionTime) : Number.NaN;
  return since + minReadySeconds * 1000 <= nowMs;
}

/** Succeeded or Failed: no container of it ever runs again. */
export function isPodTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isPodTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp != null;
}

/** Counts for its controller: neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodTerminal(pod) && !isPodTerminating(pod);
}

/**
 * The conditions with `next` put in its type's place (or at the end). The old transition time stays while the status does; the
 * very same list comes back when nothing would change, so that callers can skip a write by comparing identity.
 */
export function withPodCondition(
  conditions: readonly PodCondition[] | undefined,
  next: PodCondition,
): readonly PodCondition[] {
  const list = conditions ?? [];
  const index = list.findIndex((condition) => condition.type === next.type);
  if (index < 0) return [...list, next];
  const old = list[index]!;
  const kept = old.status === next.status ? { ...next, lastTransitionTime: old.lastTransitionTime } : next;
  const same =
    old.status === kept.status &&
    (old.reason ?? '') === (kept.reason ?? '') &&
    (old.message ?? '') === (kept.message ?? '') &&
    (old.lastProbeTime ?? '') === (kept.lastProbeTime ?? '') &&
    (old.observedGeneration ?? 0) === (kept.observedGeneration ?? 0);
  return same ? list : list.with(index, kept);
}

/** The status of a container, whichever list it stands in. */
export function containerStatus(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  const named = (candidate: ContainerStatus) => candidate.name === name;
  return (
    status?.containerStatuses?.find(named) ??
    status?.initContainerStatuses?.find(named) ??
    status?.ephemeralContainerStatuses?.find(named)
  );
}

/** An init container that keeps running beside the others. */
export function isSidecar(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

/** Whether a container that ended with `exitCode` starts again: its own rules, then its own policy, then the Pod's. */
export function shouldRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
    return restartsUnder(container.restartPolicy, exitCode);
  }
  return restartsUnder(spec.restartPolicy ?? 'Always', exitCode);
}

/** Whether a container that ended with `exitCode` makes all others of its Pod begin anew with it. */
export function restartsAllContainers(container: Container, exitCode: number): boolean {
  return matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
}

/** Whether there is an exit code after which it starts again. */
export function mayRestart(container: Container, spec: PodSpec): boolean {
  if ((container.restartPolicyRules ?? []).length > 0) return true;
  return (container.restartPolicy ?? spec.restartPolicy) !== 'Never';
}

/** The first restart rule of the container that the exit code satisfies. */
function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    if (exitCodes?.operator === 'In') return listed;
    return exitCodes?.operator === 'NotIn' && !listed;
  });
}

/** The IP family an address belongs to, by its form alone. */
export function ipFamilyOf(ip: string): 'IPv4' | 'IPv6' {
  return ip.includes(':') ? 'IPv6' : 'IPv4';
}

function restartsUnder(policy: string, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/**
 * The action `RestartAllContainers` of a container's restart rules: once a container has ended with such an exit code, all containers of
 * the Pod are removed, and it begins anew in the same sandbox, with its init containers. The one that caused it goes last, so that a
 * kubelet that dies in between finds the cause still there. Pure.
 */
import { podCondition, restartsAllContainers } from '../../api/core/v1/pod-status.ts';
import type { Container, Pod, PodCondition, PodPhase } from '../../api/gen/core-v1.ts';
import { latestContainer, type RuntimeContainer, type RuntimePod } from './runtime-pod.ts';

export const restartingCondition = 'AllContainersRestarting';

/** Reason of a container that was removed so. */
export const restartingReason = 'RestartingAllContainers';

const declared = ({ spec }: Pod): readonly Container[] => [...spec.containers, ...(spec.initContainers ?? [])];

const isCause = (spec: Container, container: RuntimeContainer | undefined) =>
  container?.state === 'exited' && restartsAllContainers(spec, container.exitCode);

/** All that have to go, in this order; empty when nothing asks for it. */
export function containersToReset(pod: Pod, observed: RuntimePod): readonly RuntimeContainer[] {
  const specs = declared(pod);
  if (!specs.some((spec) => isCause(spec, latestContainer(observed, spec.name)))) return [];
  const all = specs.flatMap((spec) =>
    observed.containers.filter(({ name }) => name === spec.name).map((container) => ({ spec, container })),
  );
  const causes = all.filter(({ spec, container }) => isCause(spec, container));
  const others = all.filter((one) => !causes.includes(one));
  return [...others, ...causes].map(({ container }) => container);
}

/** Whether that is under way: by what the runtime shows, or by what the Pod's last status says. */
export function isRestartingAll(pod: Pod, observed: RuntimePod): boolean {
  if (podCondition(pod.status, restartingCondition)?.status === 'True') return true;
  if (containersToReset(pod, observed).length > 0) return true;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const statuses = [...containerStatuses, ...initContainerStatuses];
  return declared(pod).some((spec) => {
    const ended = statuses.find(({ name }) => name === spec.name)?.state?.terminated;
    return ended !== undefined && restartsAllContainers(spec, ended.exitCode);
  });
}

/** Undefined for a Pod without such a rule. */
export function restartCondition(
  pod: Pod,
  observed: RuntimePod,
  phase: PodPhase,
): Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'> | undefined {
  const type = restartingCondition;
  const hasRule = ({ restartPolicyRules = [] }: Container) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers');
  if (!declared(pod).some(hasRule)) return undefined;
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const isCleared = declared(pod).every(({ name }) => !latestContainer(observed, name));
  if (isCleared || !isRestartingAll(pod, observed)) return { type, status: 'False' };
  const message = 'container exited with restart policy rule';
  return { type, status: 'True', reason: 'RestartAllContainersStarted', message };
}

/**
 * Carries out a resize on containers that run. The Pod's own group is widened before them and narrowed after them, so that no container
 * ever has less room than it was promised; and memory is not taken away from processes that are using it.
 */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { CgroupLimits } from '../cgroups/cgroup-limits.ts';
import { containerResources, effectiveLimits, podCgroupLimits } from '../containers/resources.ts';
import type { PodServices } from '../pods/pod-services.ts';
import { resourceSettings } from '../pods/resource-settings.ts';
import { type RuntimeContainer, type RuntimePod, readySandbox, runningContainers } from '../pods/runtime-pod.ts';

export interface ContainerResize {
  readonly spec: Container;
  readonly container: RuntimeContainer;
}

/** With the resources that its containers, and its own group, run with now. */
export function actuatedPod({ allocations }: PodServices, pod: Pod, observed: RuntimePod): Pod {
  const running = runningContainers(observed);
  const as = (spec: Container): Container => {
    const container = running.find(({ name }) => name === spec.name);
    const resources = container && allocations.actuated(pod.metadata.uid ?? '', spec.name, container.id);
    return resources ? { ...spec, resources } : spec;
  };
  const { containers, initContainers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(pod.spec.resources
        ? { resources: allocations.actuatedAsWhole(pod.metadata.uid ?? '') ?? pod.spec.resources }
        : {}),
      containers: containers.map(as),
      ...(initContainers ? { initContainers: initContainers.map(as) } : {}),
    },
  };
}

/** Room for both what the Pod has and what it is to have. */
export function limitsWhileResizing(before: CgroupLimits, after: CgroupLimits): CgroupLimits {
  // No limit is wider than any.
  const wider = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined ? undefined : Math.max(a, b);
  return {
    ...after,
    cpuShares: Math.max(before.cpuShares ?? 0, after.cpuShares ?? 0),
    cpuQuota: wider(before.cpuQuota, after.cpuQuota),
    memoryLimitBytes: wider(before.memoryLimitBytes, after.memoryLimitBytes),
  };
}

/** Throws when memory in use would have to be given back, before anything is changed. */
export async function resizeContainers(
  services: PodServices,
  resizes: readonly ContainerResize[],
  { pod, observed, signal }: { readonly pod: Pod; readonly observed: RuntimePod; readonly signal: AbortSignal },
): Promise<void> {
  const { allocations, runtime } = services;
  const settings = resourceSettings(services);
  await checkMemory(services, resizes, { pod, observed, signal });
  const uid = pod.metadata.uid ?? '';
  const before = actuatedPod(services, pod, observed);
  const gain = ({ spec, container }: ContainerResize) =>
    memoryOf(pod, spec) - memoryOf(before, { ...spec, resources: allocations.actuated(uid, spec.name, container.id) });
  // What some give back others may be waiting for.
  for (const { spec, container } of [...resizes].sort((a, b) => gain(a) - gain(b))) {
    await runtime.updateContainerResources(container.id, containerResources(pod, spec, settings), { signal });
    allocations.actuate(uid, spec, container.id);
  }
}

async function checkMemory(
  services: PodServices,
  resizes: readonly ContainerResize[],
  { pod, observed, signal }: { readonly pod: Pod; readonly observed: RuntimePod; readonly signal: AbortSignal },
): Promise<void> {
  const { allocations, runtime } = services;
  const settings = resourceSettings(services);
  const uid = pod.metadata.uid ?? '';
  const isLess = (after: number, before: number) => after > 0 && (before === 0 || after < before);
  const podLimit = podCgroupLimits(pod, settings).memoryLimitBytes ?? 0;
  const before = actuatedPod(services, pod, observed);
  const podLimitBefore = podCgroupLimits(before, settings).memoryLimitBytes ?? 0;
  const shrinking = resizes.filter(({ spec, container }) => {
    const resources = allocations.actuated(uid, spec.name, container.id);
    return resources !== undefined && isLess(memoryOf(pod, spec), memoryOf(before, { ...spec, resources }));
  });
  const sandbox = readySandbox(observed);
  const problems: string[] = [];
  const check = (what: string, limit: number, used: number | undefined) => {
    if (used === undefined) problems.push(`missing ${what} memory usage`);
    else if (used >= limit)
      problems.push(`attempting to set ${what} memory limit (${limit}) below current usage (${used})`);
  };
  try {
    if (sandbox && isLess(podLimit, podLimitBefore))
      check('pod', podLimit, (await runtime.podSandboxStats(sandbox.id, { signal })).memory?.usageBytes);
    for (const { spec, container } of shrinking) {
      const { memory } = await runtime.containerStats(container.id, { signal });
      check(`container "${spec.name}"`, memoryOf(pod, spec), memory?.usageBytes ?? memory?.workingSetBytes);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`unable to read memory usage: ${messageOf(error)}`, { cause: error });
  }
  if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`);
}

/** 0: no limit. */
function memoryOf(pod: Pod, container: Container): number {
  const limit = effectiveLimits(pod, container).memory;
  return limit === undefined ? 0 : amountOf('memory', limit);
}

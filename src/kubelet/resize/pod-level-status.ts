/**
 * What a Pod's status tells of the Pod as a whole: what it was given (`allocatedResources`), and what its group really has
 * (`resources`). Before a Pod runs it has what it was given.
 *
 *     containers a: 100m and 64Mi, b: 200m with a limit of 500m, running
 *     allocatedResources = { cpu: 300m, memory: 64Mi }
 *     resources = { requests: { cpu: 300m, memory: 64Mi } }, for a limit that not all have is none of the Pod
 */
import { podLimits, podRequests } from '../../api/core/v1/pod-resources.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { parseQuantity, quantityOf, quantityOfMilli } from '../../apimachinery/quantity.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { CgroupLimits } from '../cgroups/cgroup-limits.ts';
import { podCgroupLimits } from '../containers/resources.ts';
import type { PodServices } from '../pods/pod-services.ts';
import { resourceSettings } from '../pods/resource-settings.ts';
import type { RuntimePod } from '../pods/runtime-pod.ts';
import { actuatedPod } from './resize-containers.ts';

export type WholePodStatus = Pick<PodStatus, 'allocatedResources' | 'resources'>;

type Quantities = Readonly<Record<string, string>>;
type Side = 'requests' | 'limits';

/** As little as a group can be given: what was asked for stays what is told. */
const leastRequestMilli = 2;
const leastLimitMilli = 10;

/** Of a Pod with its newest status; undefined where the gate is off. */
export function podAsWhole(services: PodServices, pod: Pod, observed: RuntimePod): WholePodStatus | undefined {
  const { cgroupsPerQos, featureGates } = services.configuration;
  if (!isGateOn(featureGates, 'InPlacePodLevelResourcesVerticalScaling')) return undefined;
  const actuated = actuatedPod(services, pod, observed);
  const limits = cgroupsPerQos ? podCgroupLimits(actuated, resourceSettings(services)) : undefined;
  return podLevelStatus(pod, { actuated, limits });
}

/** `limits` are those of its own group by what it runs with; undefined: it has no group. */
export function podLevelStatus(
  pod: Pod,
  { actuated, limits }: { readonly actuated: Pod; readonly limits: CgroupLimits | undefined },
): WholePodStatus {
  const allocated = totals(pod, 'requests');
  const isRunning = pod.status?.phase === 'Running';
  const requests = isRunning ? requestsOf(actuated, limits) : allocated;
  const ceilings = isRunning ? limitsOf(actuated, limits) : totals(pod, 'limits');
  return {
    ...(hasAny(allocated) ? { allocatedResources: allocated } : {}),
    resources: { ...(hasAny(ceilings) ? { limits: ceilings } : {}), ...(hasAny(requests) ? { requests } : {}) },
  };
}

function requestsOf(pod: Pod, limits: CgroupLimits | undefined): Quantities {
  const spec = pod.spec.resources?.requests ?? {};
  const { memory } = totals(pod, 'requests');
  const milli = limits?.cpuShares === undefined ? 0 : Math.ceil((limits.cpuShares * 1000) / 1024);
  return {
    ...spec,
    ...(Math.max(milli, milliOf(spec.cpu)) > leastRequestMilli && milli > 0 ? { cpu: cpuText(milli) } : {}),
    ...(spec.memory === undefined && memory !== undefined ? { memory } : {}),
  };
}

function limitsOf(pod: Pod, limits: CgroupLimits | undefined): Quantities {
  const spec = pod.spec.resources?.limits ?? {};
  const { cpuPeriod, cpuQuota, memoryLimitBytes } = limits ?? {};
  const milli = cpuQuota && cpuPeriod ? Math.floor((cpuQuota * 1000) / cpuPeriod) : 0;
  return {
    ...spec,
    ...(Math.max(milli, milliOf(spec.cpu)) > leastLimitMilli && milli > 0 ? { cpu: cpuText(milli) } : {}),
    ...(memoryLimitBytes ? { memory: quantityOf(memoryLimitBytes, 'BinarySI').toString() } : {}),
  };
}

const milliOf = (cpu: string | undefined) => (cpu === undefined ? 0 : Number(parseQuantity(cpu).milliValue()));
const cpuText = (milli: number) => quantityOfMilli(milli).toString();
const hasAny = (quantities: Quantities) => Object.keys(quantities).length > 0;

/** Of all its containers together, each amount in the way of writing that is found first. */
function totals(pod: Pod, side: Side): Quantities {
  const amounts = side === 'requests' ? podRequests(pod) : podLimits(pod);
  const { containers, initContainers = [], overhead, resources } = pod.spec;
  const written = [
    resources?.[side],
    ...[...containers, ...initContainers].map((one) => one.resources?.[side]),
    overhead,
  ];
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => {
      const text = written.find((list) => list?.[name] !== undefined)?.[name] ?? '';
      const { format } = parseQuantity(text === '' ? '0' : text);
      return [name, (name === 'cpu' ? quantityOfMilli(amount, format) : quantityOf(amount, format)).toString()];
    }),
  );
}

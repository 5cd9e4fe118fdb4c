/** Whether a Pod's wish for other resources can be had at all; whether there is enough left of them is decided as for new Pods. Pure. */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import { qosClass } from '../../api/core/v1/quality-of-service.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { KubeletConfiguration } from '../configuration.ts';

export type ResizeSettings = Pick<KubeletConfiguration, 'cpuManagerPolicy' | 'memoryManagerPolicy'> & {
  /** Whether this container may use swap, by its Pod's resources. */
  usesSwap(pod: Pod, container: Container): boolean;
};

/** Why it never can, as long as the node is what it is. */
export function infeasibility(pod: Pod, allocated: Pod, settings: ResizeSettings): string | undefined {
  const given = new Map(containersOf(allocated).map((container) => [container.name, container]));
  const changes = (resource: string) =>
    containersOf(pod).filter((container) => {
      const before = given.get(container.name);
      return before && requestOf(before, resource) !== requestOf(container, resource);
    });
  const swapped = changes('memory').filter((container) => restartsFor(container, 'memory') === false);
  if (swapped.some((one) => settings.usesSwap(pod, one) || settings.usesSwap(allocated, given.get(one.name) ?? one)))
    return 'In-place resize of containers with swap is not supported.';
  if (qosClass(pod) !== 'Guaranteed') return undefined;
  const alongside = (title: string, policy: string) =>
    `Resize is infeasible for Guaranteed Pods alongside ${title} Manager policy "${policy}"`;
  if (settings.cpuManagerPolicy === 'static' && changes('cpu').length > 0) return alongside('CPU', 'static');
  if (settings.memoryManagerPolicy === 'Static' && changes('memory').length > 0) return alongside('Memory', 'Static');
  return undefined;
}

/** Whether a container is started anew to get another amount of a resource. */
export function restartsFor({ resizePolicy = [] }: Container, resource: 'cpu' | 'memory'): boolean {
  return resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer';
}

function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function requestOf({ resources }: Container, resource: string): number {
  const text = resources?.requests?.[resource];
  return text === undefined ? 0 : amountOf(resource, text);
}

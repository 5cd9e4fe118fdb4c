/** What an evicted Pod's status and event say, in upstream's words. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { parseQuantity, type Quantity, quantityOf, zeroQuantity } from '../../apimachinery/quantity.ts';
import type { ContainerUse, Observations, PodUse } from './measurement.ts';
import { resourceOf, type StarvedResource } from './pressure.ts';
import { type Threshold, thresholdAmount } from './thresholds.ts';

export interface EvictionText {
  readonly message: string;
  /** Of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

export function evictionText(
  pod: Pod,
  resource: StarvedResource,
  {
    due,
    observations,
    use,
  }: { readonly due: readonly Threshold[]; readonly observations: Observations; readonly use: PodUse | undefined },
): EvictionText {
  let message = `The node was low on resource: ${resource}. ${thresholdText(resource, due, observations)}`;
  if (!use) return { message, annotations: {} };
  const offending: Record<string, string> = {};
  const podRequest = pod.spec.resources?.requests?.[resource];
  if (resource === 'memory' && podRequest !== undefined) {
    const used = quantityOf(use.memoryBytes, 'BinarySI').toString();
    message += `Pod ${pod.metadata.name} was using ${used}, request is ${podRequest}, has larger consumption of memory. `;
    Object.assign(offending, { offending_pod: pod.metadata.name, offending_pod_usage: used });
  }
  const above = use.containers.flatMap((container) => excess(container, declared(pod, container.name), resource));
  for (const { name, used, request } of above)
    message += `Container ${name} was using ${used}, request is ${request}, has larger consumption of ${resource}. `;
  return {
    message,
    annotations: {
      ...offending,
      offending_containers: above.map(({ name }) => name).join(','),
      offending_containers_usage: above.map(({ used }) => used.toString()).join(','),
      starved_resource: resource,
    },
  };
}

function thresholdText(resource: StarvedResource, due: readonly Threshold[], observations: Observations): string {
  const threshold = due.find(({ signal }) => resourceOf(signal) === resource && observations.has(signal));
  if (!threshold) return '';
  const { available, capacity } = observations.get(threshold.signal)!;
  const format = resource === 'memory' || resource === 'ephemeral-storage' ? 'BinarySI' : 'DecimalSI';
  const quantity =
    'amount' in threshold.value
      ? threshold.value.amount
      : quantityOf(thresholdAmount(threshold.value, capacity), format);
  return `Threshold quantity: ${quantity}, available: ${quantityOf(available, format)}. `;
}

/** Ephemeral containers cannot request anything, so they are not blamed. */
function declared(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((container) => container.name === name);
}

function excess(
  { name, memoryBytes, layer, logs }: ContainerUse,
  container: Container | undefined,
  resource: StarvedResource,
) {
  const bytes =
    resource === 'memory'
      ? memoryBytes
      : resource === 'ephemeral-storage' && layer && logs
        ? layer.bytes + logs.bytes
        : undefined;
  if (!container || bytes === undefined) return [];
  const text = container.resources?.requests?.[resource];
  const request: Quantity = text === undefined ? zeroQuantity : parseQuantity(text);
  const used = quantityOf(bytes, 'BinarySI');
  return used.compare(request) > 0 ? [{ name, used, request }] : [];
}

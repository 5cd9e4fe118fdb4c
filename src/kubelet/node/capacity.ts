/** What a node has, and what of it Pods may use: capacity less what is reserved for the system, the kubelet and eviction. Pure. */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import { parseQuantity, type Quantity, quantityOf, quantityOfMilli } from '../../apimachinery/quantity.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import { parseThresholdValue, thresholdAmount } from '../eviction/thresholds.ts';
import type { MachineFacts } from '../host/host.ts';

export type ResourceList = Readonly<Record<string, string>>;

export function capacityOf(facts: MachineFacts, configuration: KubeletConfiguration): ResourceList {
  return {
    cpu: String(facts.cpuCount),
    'ephemeral-storage': quantityOf(facts.ephemeralStorageBytes, 'BinarySI').toString(),
    ...Object.fromEntries(
      Object.entries(facts.hugepages).map(([name, bytes]) => [name, quantityOf(bytes, 'BinarySI').toString()]),
    ),
    memory: quantityOf(facts.memoryBytes, 'BinarySI').toString(),
    pods: String(configuration.maxPods),
  };
}

export function allocatableOf(capacity: ResourceList, configuration: KubeletConfiguration): ResourceList {
  const { kubeReserved, systemReserved, evictionHard } = configuration;
  const allocatable: Record<string, string> = {};
  for (const [name, text] of Object.entries(capacity)) {
    let left: Quantity = parseQuantity(text);
    for (const reserved of [kubeReserved[name], systemReserved[name]])
      if (reserved) left = left.sub(parseQuantity(reserved));
    const signal = evictionSignals[name];
    const threshold = signal && evictionHard[signal];
    if (threshold)
      left = left.sub(quantityOf(thresholdAmount(parseThresholdValue(threshold), amountOf(name, text)), 'BinarySI'));
    allocatable[name] = left.compare(quantityOf(0)) < 0 ? '0' : left.toString();
  }
  // Huge pages are memory that nobody else can use.
  const huge = Object.entries(capacity)
    .filter(([name]) => name.startsWith('hugepages-'))
    .reduce((sum, [, text]) => sum + amountOf('memory', text), 0);
  if (huge > 0 && allocatable.memory)
    allocatable.memory = parseQuantity(allocatable.memory).sub(quantityOf(huge, 'BinarySI')).toString();
  if (allocatable.cpu) allocatable.cpu = quantityOfMilli(amountOf('cpu', allocatable.cpu)).toString();
  return allocatable;
}

/** For the system and the kubelet together: `cpu` in thousandths of a core, all else in whole units. */
export function reservedAmounts({
  kubeReserved,
  systemReserved,
}: KubeletConfiguration): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const list of [kubeReserved, systemReserved])
    for (const [name, text] of Object.entries(list)) sum[name] = (sum[name] ?? 0) + amountOf(name, text);
  return sum;
}

const evictionSignals: Readonly<Record<string, string>> = {
  memory: 'memory.available',
  'ephemeral-storage': 'nodefs.available',
};

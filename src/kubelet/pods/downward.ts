/** Values of a Pod that its own containers may read: `fieldRef` and `resourceFieldRef`. Pure. */
import { amountOf } from '../../api/core/v1/pod-resources.ts';
import type { Container, Pod, ResourceFieldSelector } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { parseQuantity } from '../../apimachinery/quantity.ts';

/** What is known of a running Pod but not in its spec. */
export interface PodSituation {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** The node's allocatable resources: the limit of a container that has none. */
  readonly allocatable: Readonly<Record<string, string>>;
}

export function fieldValue(pod: Pod, fieldPath: string, situation: PodSituation): string {
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(fieldPath);
  if (subscript)
    return (subscript[1] === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[subscript[2]!] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return pod.metadata.name ?? '';
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(pod.metadata.labels);
    case 'metadata.annotations':
      return formatMap(pod.metadata.annotations);
    case 'spec.nodeName':
      return pod.spec.nodeName ?? situation.nodeName;
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return situation.hostIps[0] ?? '';
    case 'status.hostIPs':
      return situation.hostIps.join(',');
    case 'status.podIP':
      return situation.podIps[0] ?? '';
    case 'status.podIPs':
      return situation.podIps.join(',');
    default:
      throw new Error(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** One `key="value"` a line, sorted by key. */
function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${quote(value)}`)
    .join('\n');
}

export function resourceValue(container: Container, selector: ResourceFieldSelector, situation: PodSituation): string {
  const match = /^(limits|requests)\.(.+)$/.exec(selector.resource);
  if (!match) throw new Error(`unsupported container resource: ${selector.resource}`);
  const [, side, resource] = match as unknown as [string, 'limits' | 'requests', string];
  const declared = container.resources?.[side]?.[resource];
  const value = declared ?? (side === 'limits' ? situation.allocatable[resource] : undefined) ?? '0';
  const divisor = parseQuantity(selector.divisor && selector.divisor !== '0' ? selector.divisor : '1');
  if (resource === 'cpu') return String(Math.ceil(amountOf('cpu', value) / Number(divisor.milliValue())));
  return String(Math.ceil(amountOf(resource, value) / Number(divisor.value())));
}

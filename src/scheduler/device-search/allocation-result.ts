/** What is written into a claim's status of the devices that were found for it: the devices, their configuration, and where they can be used. */
import type { Node, NodeSelector, NodeSelectorRequirement } from '../../api/gen/core-v1.ts';
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
} from '../../api/gen/resource-v1.ts';
import type { Random } from '../../base/random.ts';
import type { ClaimSolution, TakenDevice } from './device-search.ts';
import { resultName } from './requests.ts';

export function allocationResult(solution: ClaimSolution, node: Node, random: Random): AllocationResult {
  const config = configurations(solution);
  const nodeSelector = whereUsable(solution.devices, node);
  return {
    devices: {
      results: solution.devices.map((taken) => deviceResult(taken, random)),
      ...(config.length > 0 ? { config } : {}),
    },
    ...(nodeSelector ? { nodeSelector } : {}),
  };
}

function deviceResult(
  { wanted, driver, pool, device, consumed }: TakenDevice,
  random: Random,
): DeviceRequestAllocationResult {
  const { bindingConditions, bindingFailureConditions } = device;
  const amounts = [...(consumed ?? [])].map(([name, amount]) => [name, amount.toString()]);
  return {
    request: resultName(wanted),
    driver,
    pool,
    device: device.name,
    ...(wanted.adminAccess ? { adminAccess: true } : {}),
    ...(wanted.tolerations ? { tolerations: wanted.tolerations } : {}),
    ...(bindingConditions ? { bindingConditions } : {}),
    ...(bindingFailureConditions ? { bindingFailureConditions } : {}),
    ...(consumed ? { shareID: random.uuid() } : {}),
    ...(amounts.length > 0 ? { consumedCapacity: Object.fromEntries(amounts) } : {}),
  };
}

/** Those of each class once, for all requests of that class; then the claim's own, as far as they are for what was chosen. */
function configurations({ claim, chosen }: ClaimSolution): DeviceAllocationConfiguration[] {
  const byClass = Map.groupBy(chosen, ({ deviceClass }) => deviceClass.metadata.name);
  const ofClasses = [...byClass.values()].flatMap((requests) =>
    (requests[0]!.deviceClass.spec.config ?? []).map(
      (config): DeviceAllocationConfiguration => ({
        source: 'FromClass',
        requests: requests.map(resultName),
        ...config,
      }),
    ),
  );
  const ofClaim = (claim.spec.devices?.config ?? []).flatMap((config): DeviceAllocationConfiguration[] => {
    const { requests = [] } = config;
    const means = chosen.filter((wanted) => requests.includes(wanted.request) || requests.includes(resultName(wanted)));
    const times = requests.length === 0 ? 1 : means.length;
    return Array.from({ length: times }, () => ({ source: 'FromClaim', ...config }));
  });
  return [...ofClasses, ...ofClaim];
}

/** Undefined: everywhere. */
function whereUsable(devices: readonly TakenDevice[], node: Node): NodeSelector | undefined {
  const matchFields: NodeSelectorRequirement[] = [];
  const matchExpressions: NodeSelectorRequirement[] = [];
  for (const { device, slice } of devices) {
    const { nodeName, nodeSelector } = slice.spec.perDeviceNodeSelection ? device : slice.spec;
    if (nodeName !== undefined || device.bindsToNode) {
      const here = { key: 'metadata.name', operator: 'In' as const, values: [node.metadata.name ?? ''] };
      return { nodeSelectorTerms: [{ matchFields: [here] }] };
    }
    const [term] = nodeSelector?.nodeSelectorTerms ?? [];
    addMissing(matchFields, term?.matchFields);
    addMissing(matchExpressions, term?.matchExpressions);
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
        ...(matchFields.length > 0 ? { matchFields } : {}),
      },
    ],
  };
}

function addMissing(list: NodeSelectorRequirement[], more: readonly NodeSelectorRequirement[] = []): void {
  for (const one of more) if (!list.some((other) => isSame(one, other))) list.push(one);
}

function isSame(a: NodeSelectorRequirement, b: NodeSelectorRequirement): boolean {
  const difference = new Set(a.values).symmetricDifference(new Set(b.values));
  return a.key === b.key && a.operator === b.operator && difference.size === 0;
}

/** Which existing groups are limited to what is reserved for them: those that `enforceNodeAllocatable` names. Pure. */
import { amountsOf } from '../../api/core/v1/pod-resources.ts';
import { isGateOn } from '../../serving/feature-gates.ts';
import type { KubeletConfiguration } from '../configuration.ts';
import { cpuShares } from '../containers/resources.ts';
import type { CgroupLimits } from './cgroup-limits.ts';

export interface ReservedGroup {
  /** As events name it. */
  readonly title: 'System Reserved' | 'Kube Reserved';
  readonly path: string;
  readonly limits: CgroupLimits;
}

export function reservedGroups(configuration: KubeletConfiguration): readonly ReservedGroup[] {
  const { enforceNodeAllocatable, kubeReserved, kubeReservedCgroup, systemReserved, systemReservedCgroup } =
    configuration;
  const all = [
    { key: 'system-reserved', title: 'System Reserved', path: systemReservedCgroup, reserved: systemReserved },
    { key: 'kube-reserved', title: 'Kube Reserved', path: kubeReservedCgroup, reserved: kubeReserved },
  ] as const;
  return all.flatMap(({ key, title, path, reserved }) => {
    const isWhole = enforceNodeAllocatable.includes(key);
    if (!isWhole && !enforceNodeAllocatable.includes(`${key}-compressible`)) return [];
    return [
      {
        title,
        path,
        limits: limitsOf(reserved, { isWhole, keeps: isGateOn(configuration.featureGates, 'MemoryQoS') }),
      },
    ];
  });
}

/** Processors can be shared out anew at any time; of the rest what is taken is gone, so it is limited only when asked for. */
function limitsOf(
  reserved: Readonly<Record<string, string>>,
  { isWhole, keeps }: { readonly isWhole: boolean; readonly keeps: boolean },
): CgroupLimits {
  const { cpu, memory, pid } = amountsOf(reserved);
  return {
    ...(cpu === undefined ? {} : { cpuShares: cpuShares(cpu) }),
    ...(isWhole && memory !== undefined ? { memoryLimitBytes: memory } : {}),
    ...(isWhole && keeps && memory !== undefined ? { memoryMinBytes: memory } : {}),
    ...(isWhole && pid !== undefined ? { pidsMax: pid } : {}),
  };
}

/**
 * Limits of a cgroup as the files of either version take them, and as properties of a systemd unit. Pure.
 *
 *     { cpuShares: 1024, cpuQuota: 50000, cpuPeriod: 100000 }
 *     v1  cpu/cpu.shares 1024, cpu/cpu.cfs_period_us 100000, cpu/cpu.cfs_quota_us 50000
 *     v2  cpu.weight 100, cpu.max "50000 100000"
 */
import type { DbusValue } from '../host/systemd/dbus-values.ts';

export type CgroupVersion = 'v1' | 'v2';

export interface CgroupLimits {
  readonly cpuShares?: number | undefined;
  readonly cpuQuota?: number | undefined;
  readonly cpuPeriod?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  /** Kept from being reclaimed at all; only v2 knows it. */
  readonly memoryMinBytes?: number | undefined;
  /** Kept as long as others have something to give; only v2 knows it. */
  readonly memoryLowBytes?: number | undefined;
  readonly pidsMax?: number | undefined;
  readonly hugepages?: readonly { readonly pageSize: string; readonly limitBytes: number }[] | undefined;
}

export interface CgroupFile {
  /** In v1 the hierarchy that it is in. */
  readonly controller: string;
  readonly name: string;
  readonly value: string;
}

/** In the order of writing: a quota is valid only against its period. */
export function cgroupFiles(limits: CgroupLimits, version: CgroupVersion): readonly CgroupFile[] {
  return version === 'v1' ? filesV1(limits) : filesV2(limits);
}

function filesV1({
  cpuShares,
  cpuQuota,
  cpuPeriod,
  memoryLimitBytes,
  pidsMax,
  hugepages = [],
}: CgroupLimits): CgroupFile[] {
  return [
    ...file('cpu', 'cpu.shares', cpuShares),
    ...file('cpu', 'cpu.cfs_period_us', cpuPeriod),
    ...file('cpu', 'cpu.cfs_quota_us', cpuQuota),
    ...file('memory', 'memory.limit_in_bytes', memoryLimitBytes),
    ...file('pids', 'pids.max', pidsMax),
    ...hugepages.flatMap(({ pageSize, limitBytes }) =>
      file('hugetlb', `hugetlb.${pageSize}.limit_in_bytes`, limitBytes),
    ),
  ];
}

function filesV2(limits: CgroupLimits): CgroupFile[] {
  const {
    cpuShares,
    cpuQuota,
    cpuPeriod = 100_000,
    memoryLimitBytes,
    memoryMinBytes,
    memoryLowBytes,
    pidsMax,
    hugepages = [],
  } = limits;
  return [
    ...file('cpu', 'cpu.weight', cpuShares === undefined ? undefined : cpuWeight(cpuShares)),
    ...file('cpu', 'cpu.max', cpuQuota === undefined ? undefined : `${cpuQuota > 0 ? cpuQuota : 'max'} ${cpuPeriod}`),
    ...file('memory', 'memory.max', memoryLimitBytes),
    ...file('memory', 'memory.min', memoryMinBytes),
    ...file('memory', 'memory.low', memoryLowBytes),
    ...file('pids', 'pids.max', pidsMax),
    ...hugepages.flatMap(({ pageSize, limitBytes }) => file('hugetlb', `hugetlb.${pageSize}.max`, limitBytes)),
  ];
}

function file(controller: string, name: string, value: number | string | undefined): CgroupFile[] {
  return value === undefined ? [] : [{ controller, name, value: String(value) }];
}

/** What systemd is to know of, so that it leaves it as it is: `[name, { signature, value }]`. It knows no huge pages. */
export function unitProperties(limits: CgroupLimits, version: CgroupVersion): readonly DbusValue[] {
  const {
    cpuShares,
    cpuQuota,
    cpuPeriod = 100_000,
    memoryLimitBytes,
    memoryMinBytes,
    memoryLowBytes,
    pidsMax,
  } = limits;
  const isV2 = version === 'v2';
  const number = (name: string, value: number | undefined): DbusValue[] =>
    value === undefined ? [] : [[name, { signature: 't', value: BigInt(Math.trunc(value)) }]];
  return [
    ...number(isV2 ? 'CPUWeight' : 'CPUShares', isV2 && cpuShares !== undefined ? cpuWeight(cpuShares) : cpuShares),
    // By the second, in steps of ten milliseconds: systemd rounds up to them.
    ...number(
      'CPUQuotaPerSecUSec',
      cpuQuota && cpuQuota > 0 ? Math.ceil((cpuQuota * 1e6) / cpuPeriod / 1e4) * 1e4 : undefined,
    ),
    ...number(isV2 ? 'MemoryMax' : 'MemoryLimit', memoryLimitBytes),
    ...number('MemoryMin', isV2 ? memoryMinBytes : undefined),
    ...number('MemoryLow', isV2 ? memoryLowBytes : undefined),
    ...number('TasksMax', pidsMax),
  ];
}

/** Shares 2, 1024 and 262144 become weights 1, 100 and 10000; runc does the same for containers. */
export function cpuWeight(shares: number): number {
  if (shares <= 2) return 1;
  if (shares >= 262_144) return 10_000;
  const log = Math.log2(shares);
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34));
}

/** Of the groups above Pods. */
export interface NodeCgroupLimits {
  readonly pods: CgroupLimits;
  readonly burstable: CgroupLimits;
  readonly bestEffort: CgroupLimits;
}

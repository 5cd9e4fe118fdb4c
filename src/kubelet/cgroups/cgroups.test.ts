/** Names and limits of cgroups, and the limits of containers that only cgroups know. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../api/gen/core-v1.ts';
import { defaultConfiguration } from '../configuration.ts';
import { containerResources, podCgroupLimits, type ResourceSettings } from '../containers/resources.ts';
import type { MachineFacts } from '../host/host.ts';
import { testPod } from '../kubelet.fixture.ts';
import { cgroupFiles, cpuWeight, unitProperties } from './cgroup-limits.ts';
import { cgroupPath, podGroup, podsGroup } from './cgroup-names.ts';
import { keptMemory, type NodeCgroupInput, nodeCgroupLimits } from './node-cgroups.ts';
import { reservedGroups } from './reserved-groups.ts';

const mebi = 1024 ** 2;
const gibi = 1024 ** 3;
const pod = (resources: object, spec: Partial<PodSpec> = {}) =>
  testPod('p', 'n', { containers: [{ name: 'main', resources }], ...spec }, { uid: '1-2' });

describe('names', () => {
  it('follow the driver and the class', () => {
    const path = (driver: 'cgroupfs' | 'systemd', qos: 'Guaranteed' | 'Burstable') =>
      cgroupPath(podGroup('1-2', qos), driver, '/');
    assert.equal(path('cgroupfs', 'Guaranteed'), '/kubepods/pod1-2');
    assert.equal(path('cgroupfs', 'Burstable'), '/kubepods/burstable/pod1-2');
    assert.equal(path('systemd', 'Guaranteed'), '/kubepods.slice/kubepods-pod1_2.slice');
    assert.equal(
      path('systemd', 'Burstable'),
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice',
    );
    assert.equal(cgroupPath(podsGroup, 'cgroupfs', '/mine'), '/mine/kubepods');
  });
});

describe('limits', () => {
  const limits = {
    cpuShares: 1024,
    cpuQuota: 50_000,
    cpuPeriod: 100_000,
    memoryLimitBytes: gibi,
    memoryMinBytes: mebi,
    pidsMax: 100,
    hugepages: [{ pageSize: '2MB', limitBytes: 0 }],
  };
  const lines = (version: 'v1' | 'v2') =>
    cgroupFiles(limits, version).map(({ controller, name, value }) => `${controller} ${name} ${value}`);

  it('are files of either version', () => {
    assert.deepEqual(lines('v1'), [
      'cpu cpu.shares 1024',
      'cpu cpu.cfs_period_us 100000',
      'cpu cpu.cfs_quota_us 50000',
      `memory memory.limit_in_bytes ${gibi}`,
      'pids pids.max 100',
      'hugetlb hugetlb.2MB.limit_in_bytes 0',
    ]);
    assert.deepEqual(lines('v2'), [
      'cpu cpu.weight 100',
      'cpu cpu.max 50000 100000',
      `memory memory.max ${gibi}`,
      `memory memory.min ${mebi}`,
      'pids pids.max 100',
      'hugetlb hugetlb.2MB.max 0',
    ]);
  });

  it('are told to systemd in its own units', () => {
    const told = Object.fromEntries(
      unitProperties(limits, 'v2').map((property) => {
        const [name, { value }] = property as unknown as [string, { value: bigint }];
        return [name, Number(value)];
      }),
    );
    assert.deepEqual(told, {
      CPUWeight: 100,
      CPUQuotaPerSecUSec: 500_000,
      MemoryMax: gibi,
      MemoryMin: mebi,
      TasksMax: 100,
    });
  });

  it('turn shares into weights as runc does', () => {
    assert.deepEqual([0, 2, 102, 1024, 2048, 262_144].map(cpuWeight), [1, 1, 17, 100, 174, 10_000]);
  });
});

describe('the groups above Pods', () => {
  const facts = {
    cpuCount: 4,
    memoryBytes: 8 * gibi,
    hugepages: { 'hugepages-2Mi': 64 * mebi },
    pidsMax: 32_768,
  } as unknown as MachineFacts;

  it('have what is not reserved, and share processors by what was requested', () => {
    const configuration = {
      ...defaultConfiguration,
      kubeReserved: { cpu: '500m', memory: '1Gi', pid: '768' },
      systemReserved: { cpu: '500m' },
    };
    const pods = [
      pod({ requests: { cpu: '250m' } }),
      pod({ requests: { cpu: '1' } }),
      pod({}),
      pod({ requests: { cpu: '1', memory: '1Mi' }, limits: { cpu: '1', memory: '1Mi' } }),
    ];
    const { pods: all, burstable, bestEffort } = nodeCgroupLimits({ facts, configuration, pods });
    assert.deepEqual([all.cpuShares, all.memoryLimitBytes, all.pidsMax], [3072, 7 * gibi, 32_000]);
    assert.deepEqual([burstable.cpuShares, bestEffort.cpuShares], [1280, 2]);
    const free = nodeCgroupLimits({ facts, configuration: { ...configuration, enforceNodeAllocatable: [] }, pods: [] });
    assert.equal(free.pods.memoryLimitBytes, 8 * gibi, 'not enforced');
  });

  it('limit the system’s and the kubelet’s own where that is asked for', () => {
    const settings = {
      ...defaultConfiguration,
      systemReserved: { cpu: '1', memory: '1Gi' },
      systemReservedCgroup: '/system.slice',
    };
    const of = (...enforceNodeAllocatable: string[]) => reservedGroups({ ...settings, enforceNodeAllocatable });
    assert.deepEqual(of('pods'), []);
    assert.deepEqual(of('system-reserved')[0]?.limits, { cpuShares: 1024, memoryLimitBytes: gibi });
    assert.deepEqual(of('system-reserved-compressible'), [
      { title: 'System Reserved', path: '/system.slice', limits: { cpuShares: 1024 } },
    ]);
    const featureGates = { MemoryQoS: true };
    assert.deepEqual(
      reservedGroups({ ...settings, featureGates, enforceNodeAllocatable: ['system-reserved'] })[0]?.limits,
      { cpuShares: 1024, memoryLimitBytes: gibi, memoryMinBytes: gibi },
    );
  });

  it('keep memory for their Pods where memory has qualities of service and the policy keeps any', () => {
    const unified = { ...facts, cgroupVersion: 'v2' as const };
    const requested = { requests: { memory: '1Gi', cpu: '1' } };
    const pods = [
      pod({ ...requested, limits: requested.requests }),
      pod(requested),
      pod({ requests: { memory: '512Mi' } }),
      pod({}),
    ];
    const keeping = {
      ...defaultConfiguration,
      featureGates: { MemoryQoS: true },
      memoryReservationPolicy: 'TieredReservation' as const,
    };
    const kept = (input: Partial<NodeCgroupInput>) => {
      const all = nodeCgroupLimits({ facts: unified, configuration: keeping, pods, ...input });
      return [all.pods.memoryMinBytes, all.burstable.memoryLowBytes, all.bestEffort.memoryLowBytes];
    };
    assert.deepEqual(kept({}), [2560 * mebi, 1536 * mebi, undefined]);
    assert.deepEqual(keptMemory({ facts: unified, configuration: keeping, pods }), {
      guaranteed: gibi,
      burstable: 1536 * mebi,
    });
    assert.deepEqual(kept({ pods: [] }), [0, 0, undefined]);
    const none = { ...keeping, memoryReservationPolicy: 'None' as const };
    assert.deepEqual(kept({ configuration: none }), [0, 0, undefined], 'what an earlier policy kept is given back');
    const nothing = [undefined, undefined, undefined];
    assert.deepEqual(kept({ configuration: defaultConfiguration }), nothing);
    assert.deepEqual(kept({ facts: { ...facts, cgroupVersion: 'v1' as const } }), nothing);
  });
});

describe('a container', () => {
  const base: ResourceSettings = {
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodMs: 100,
    memoryCapacityBytes: 4 * gibi,
    isUnified: true,
  };
  const burstable = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };
  const swapOf = (
    resources: object,
    behavior: 'NoSwap' | 'LimitedSwap' | 'UnlimitedSwap',
    more: Partial<ResourceSettings> = {},
    spec: Partial<PodSpec> = {},
  ) => {
    const one = pod(resources, spec);
    return containerResources(one, one.spec.containers[0]!, {
      ...base,
      swap: { behavior, capacityBytes: 2 * gibi },
      ...more,
    });
  };

  it('has the share of the swap that its request is of the memory, if it is Burstable and asks for less than its limit', () => {
    const cases = [
      { name: 'burstable', resources: burstable, expected: String(512 * mebi) },
      {
        name: 'guaranteed',
        resources: { requests: { memory: '1Gi', cpu: '1' }, limits: { memory: '1Gi', cpu: '1' } },
        expected: '0',
      },
      { name: 'best effort', resources: {}, expected: '0' },
      { name: 'all it may have', resources: { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }, expected: '0' },
      { name: 'critical', resources: burstable, spec: { priority: 2_000_000_000 }, expected: '0' },
    ];
    for (const { name, resources, spec, expected } of cases)
      assert.equal(swapOf(resources, 'LimitedSwap', {}, spec).unified?.['memory.swap.max'], expected, name);
    assert.equal(swapOf(burstable, 'NoSwap').unified?.['memory.swap.max'], '0');
    assert.equal(swapOf(burstable, 'UnlimitedSwap').unified?.['memory.swap.max'], 'max');
  });

  it('has memory and swap up to its memory limit together with cgroup v1', () => {
    const v1 = { isUnified: false };
    assert.equal(swapOf(burstable, 'LimitedSwap', v1).memorySwapLimitBytes, 2 * gibi);
    assert.equal(swapOf({}, 'LimitedSwap', v1).memorySwapLimitBytes, undefined);
    assert.equal(swapOf(burstable, 'UnlimitedSwap', v1).memorySwapLimitBytes, -1);
  });

  it('is slowed down before its limit where memory has qualities of service', () => {
    const memoryQos = { throttlingFactor: 0.9, allocatableBytes: 3 * gibi, reserves: true };
    const files = (resources: object, settings = memoryQos) => {
      const one = pod(resources);
      return containerResources(one, one.spec.containers[0]!, { ...base, memoryQos: settings }).unified;
    };
    assert.deepEqual(files(burstable), {
      'memory.low': String(gibi),
      'memory.high': String(Math.floor((1.9 * gibi) / 4096) * 4096),
    });
    assert.deepEqual(files({ requests: { memory: '1Gi', cpu: '1' }, limits: { memory: '1Gi', cpu: '1' } }), {
      'memory.min': String(gibi),
    });
    assert.deepEqual(files({ requests: { memory: '1Gi' } }, { ...memoryQos, reserves: false }), {
      'memory.min': '0',
      'memory.low': '0',
      'memory.high': String(Math.floor((2.8 * gibi) / 4096) * 4096),
    });
  });

  it('has only the huge pages that it names, and its Pod the processes that the node allows', () => {
    const one = pod({
      requests: { 'hugepages-2Mi': '4Mi', memory: '1Mi' },
      limits: { 'hugepages-2Mi': '4Mi', memory: '1Mi' },
    });
    const settings = { ...base, hugepages: ['hugepages-2Mi', 'hugepages-1Gi'], podPidsLimit: 50 };
    const pages = [
      { pageSize: '2MB', limitBytes: 4 * mebi },
      { pageSize: '1GB', limitBytes: 0 },
    ];
    assert.deepEqual(containerResources(one, one.spec.containers[0]!, settings).hugepageLimits, pages);
    const { hugepages, pidsMax } = podCgroupLimits(one, settings);
    assert.deepEqual([hugepages, pidsMax], [pages, 50]);
  });
});

/** What a node gives to its Pods, and what it remembers of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { Allocations } from './allocations.ts';
import { infeasibility } from './resize-admission.ts';
import { ResizeConditions } from './resize-conditions.ts';
import { limitsWhileResizing } from './resize-containers.ts';

const pod = (cpu: string, memory = '1Gi', container: Partial<Container> = {}): Pod => {
  const resources = { requests: { cpu, memory }, limits: { cpu, memory } };
  return { metadata: { uid: 'u' }, spec: { containers: [{ name: 'main', resources, ...container }] } };
};
const requested = (of: Pod) => of.spec.containers[0]?.resources?.requests?.cpu;

describe('allocations', () => {
  const memory = () => {
    const files = new Map<string, string>();
    return {
      files,
      read: async (name: string) => files.get(name),
      write: async (name: string, text: string) => void files.set(name, text),
    };
  };

  it('keep a Pod at what it was given until it is given more, also over a restart', async () => {
    const state = memory();
    const allocations = new Allocations({ state, log: silentLog });
    const first = pod('1');
    allocations.allocate(first);
    assert.equal(allocations.allocated(first), first);
    assert.equal(requested(allocations.allocated(pod('2'))), '1');
    allocations.actuate('u', first.spec.containers[0]!, 'id');
    await allocations.saved();
    const next = new Allocations({ state, log: silentLog });
    await next.restore();
    assert.equal(requested(next.allocated(pod('2'))), '1');
    assert.deepEqual(next.actuated('u', 'main', 'id'), first.spec.containers[0]?.resources);
    assert.equal(next.actuated('u', 'main', 'another'), undefined);
    next.allocate(pod('2'));
    assert.equal(requested(next.allocated(pod('3'))), '2');
    next.retain(() => false);
    assert.equal(next.has('u'), false);
  });

  it('know what containers run with also from a file that does not yet tell of Pods as a whole', async () => {
    const state = memory();
    const own = { containerId: 'id', resources: { requests: { cpu: '1' } } };
    state.files.set(
      'actuated_pods_state',
      JSON.stringify({ entries: { u: { main: own, containers: own, pod: own } } }),
    );
    const allocations = new Allocations({ state, log: silentLog });
    await allocations.restore();
    for (const name of ['main', 'containers', 'pod'])
      assert.deepEqual(allocations.actuated('u', name, 'id'), own.resources, name);
    assert.equal(allocations.actuatedAsWhole('u'), undefined);
  });

  it('begin anew when what was remembered cannot be read', async () => {
    const state = memory();
    state.files.set('allocated_pods_state', '{"entries":');
    const allocations = new Allocations({ state, log: silentLog });
    await allocations.restore();
    assert.equal(requested(allocations.allocated(pod('2'))), '2');
  });
});

describe('a resize', () => {
  const settings = { cpuManagerPolicy: 'none', memoryManagerPolicy: 'None', usesSwap: () => false } as const;

  it('of a Pod with processors or memory of its own is infeasible', () => {
    const cpus = { ...settings, cpuManagerPolicy: 'static' } as const;
    assert.equal(
      infeasibility(pod('2'), pod('1'), cpus),
      'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    );
    assert.equal(infeasibility(pod('1', '2Gi'), pod('1'), cpus), undefined);
    assert.equal(
      infeasibility(pod('1', '2Gi'), pod('1'), { ...settings, memoryManagerPolicy: 'Static' }),
      'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    );
  });

  it('of memory of a container that swaps is infeasible, unless it is started anew', () => {
    const swapping = { ...settings, usesSwap: () => true };
    const anew = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    assert.equal(
      infeasibility(pod('1', '2Gi'), pod('1'), swapping),
      'In-place resize of containers with swap is not supported.',
    );
    assert.equal(infeasibility(pod('1', '2Gi', anew), pod('1', '1Gi', anew), swapping), undefined);
    assert.equal(infeasibility(pod('2'), pod('1'), swapping), undefined);
  });

  it('leaves room for both before it and after it', () => {
    assert.deepEqual(
      limitsWhileResizing(
        { cpuShares: 512, cpuQuota: 50_000, memoryLimitBytes: 200 },
        { cpuShares: 1024, cpuPeriod: 100_000, cpuQuota: 20_000, memoryLimitBytes: 100, pidsMax: 7 },
      ),
      { cpuShares: 1024, cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitBytes: 200, pidsMax: 7 },
    );
    assert.equal(limitsWhileResizing({}, { memoryLimitBytes: 1 }).memoryLimitBytes, undefined);
  });

  it('that is under way keeps its generation and why it failed', () => {
    const conditions = new ResizeConditions(pod('1'));
    const type = 'PodResizeInProgress';
    assert.equal(conditions.set(type, { generation: 2 }, 0), true);
    assert.equal(conditions.set(type, { generation: 3 }, 1000), false);
    assert.equal(conditions.set(type, { reason: 'Error', message: 'no' }, 2000), true);
    assert.equal(conditions.set(type, {}, 3000), false);
    const shown = conditions.get(type);
    assert.deepEqual([shown?.observedGeneration, shown?.reason, shown?.message], [2, 'Error', 'no']);
    const restarted = new ResizeConditions({ ...pod('1'), status: { conditions: conditions.list() } });
    assert.deepEqual(restarted.clear(type), shown);
  });
});

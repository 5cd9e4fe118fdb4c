/** Processors and memory for containers alone: sets, assignment, hints, and what a Pod gets or is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import fc from '../../testing/properties.fixture.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../configuration.ts';
import { testPod } from '../kubelet.fixture.ts';
import { CpuAllocator } from './cpu-allocator.ts';
import { takeByTopology } from './cpu-assignment.ts';
import { formatCpuSet, intersection, parseCpuSet, union, without } from './cpu-set.ts';
import type { MachineTopology } from './machine-topology.ts';
import { NodeResources } from './node-resources.ts';
import { cpuPolicyOptions } from './policy-options.ts';
import { allMasks, countOf, mergeHints, type TopologyHint } from './topology-hints.ts';

const gibi = 1024 ** 3;

/** Threads of a core have neighbouring numbers. */
function machine({ nodes = 2, coresPerNode = 2, threads = 2 } = {}): MachineTopology {
  const perNode = coresPerNode * threads;
  return {
    processors: Array.from({ length: nodes * perNode }, (_, id) => {
      const node = Math.floor(id / perNode);
      return { id, core: id - (id % threads), socket: node, node, cache: node };
    }),
    nodes: Array.from({ length: nodes }, (_, id) => ({
      id,
      memoryBytes: 4 * gibi,
      hugepages: {},
      distances: Array.from({ length: nodes }, (_unused, other) => 10 + 10 * Math.abs(id - other)),
    })),
  };
}

function guaranteed(name: string, cpu: string, memory = '1Gi', spec: Partial<PodSpec> = {}): Pod {
  const resources = { requests: { cpu, memory }, limits: { cpu, memory } };
  return testPod(name, 'n', { containers: [{ name: 'main', resources }], ...spec }, { uid: name });
}

describe('sets of processors', () => {
  it('are written as the kernel writes them', () => {
    assert.deepEqual(parseCpuSet('0-2,8,5'), [0, 1, 2, 5, 8]);
    assert.equal(formatCpuSet([0, 1, 2, 5, 8]), '0-2,5,8');
    assert.deepEqual(parseCpuSet(''), []);
    assert.throws(() => parseCpuSet('a-b'));
    const sets = fc.uniqueArray(fc.nat(200)).map((ids) => ids.sort((a, b) => a - b));
    fc.assert(fc.property(sets, (set) => assert.deepEqual(parseCpuSet(formatCpuSet(set)), set)));
  });
});

describe('the assignment of processors', () => {
  const cases = [
    { name: 'a whole node while it needs as many', available: '0-7', count: 4, expected: '0-3' },
    { name: 'whole cores of the fuller node, and then a broken one', available: '1-7', count: 3, expected: '1-3' },
    { name: 'a broken core for a single thread', available: '1-7', count: 1, expected: '1' },
    { name: 'a whole core before two halves', available: '0,2-3,5', count: 2, expected: '2-3' },
    { name: 'a node and a core', available: '0-7', count: 6, expected: '0-5' },
    { name: 'nothing when there are too few', available: '0-2', count: 4, expected: undefined },
  ];
  for (const { name, available, count, expected } of cases)
    it(`takes ${name}`, () => {
      const taken = takeByTopology(machine(), parseCpuSet(available), count);
      assert.equal(taken && formatCpuSet(taken), expected);
    });

  it('takes as many as asked, each once, and only what is free', () => {
    const shapes = fc.record({
      nodes: fc.integer({ min: 1, max: 3 }),
      coresPerNode: fc.integer({ min: 1, max: 4 }),
      threads: fc.constantFrom(1, 2),
    });
    fc.assert(
      fc.property(
        shapes,
        fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
        fc.nat(24),
        (shape, isFree, count) => {
          const topology = machine(shape);
          const available = topology.processors.map(({ id }) => id).filter((id) => isFree[id]);
          const taken = takeByTopology(topology, available, count);
          if (count > available.length) return assert.equal(taken, undefined);
          assert.equal(new Set(taken).size, count);
          assert.deepEqual(without(taken!, available), []);
        },
      ),
    );
  });
});

describe('the policy of processors', () => {
  const policy = (cpuManagerPolicyOptions: Record<string, string>) =>
    cpuPolicyOptions({ ...defaultConfiguration, cpuManagerPolicyOptions });
  const allocator = (more: Partial<ConstructorParameters<typeof CpuAllocator>[0]> = {}) =>
    new CpuAllocator({
      topology: machine(),
      reserved: [0],
      policy: policy({}),
      ...more,
    });
  const give = (cpus: CpuAllocator, pod: Pod) => {
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
      cpus.allocate(pod, container, { nodes: undefined, preferred: true });
    return formatCpuSet(cpus.cpusOf(pod.metadata.uid!, 'main'));
  };

  it('gives whole processors to Guaranteed containers, and leaves the rest to all others', () => {
    const cpus = allocator();
    assert.equal(give(cpus, guaranteed('two', '2')), '2-3');
    assert.equal(give(cpus, guaranteed('half', '500m')), '0-1,4-7');
    assert.equal(
      give(
        cpus,
        testPod(
          'burstable',
          'n',
          { containers: [{ name: 'main', resources: { requests: { cpu: '2' } } }] },
          { uid: 'b' },
        ),
      ),
      '0-1,4-7',
    );
    assert.throws(() => give(cpus, guaranteed('six', '6')), {
      reason: 'UnexpectedAdmissionError',
      message:
        'Allocate failed due to not enough cpus available to satisfy request: requested=6, available=5, which is unexpected',
    });
    cpus.release('two');
    assert.equal(formatCpuSet(cpus.shared), '0-7');
  });

  it('keeps the reserved free of Pods where that is asked for', () => {
    assert.equal(formatCpuSet(allocator({ policy: policy({ 'strict-cpu-reservation': 'true' }) }).shared), '1-7');
  });

  it('gives only whole cores where that is asked for', () => {
    const cpus = allocator({ policy: policy({ 'full-pcpus-only': 'true' }) });
    assert.throws(() => give(cpus, guaranteed('one', '1')), {
      reason: 'SMTAlignmentError',
      message: 'SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2',
    });
    assert.equal(give(cpus, guaranteed('four', '4')), '4-7');
    assert.throws(() => give(cpus, guaranteed('four-more', '4')), {
      message:
        'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2',
    });
  });

  it('lends what init containers had to those after them', () => {
    const resources = { requests: { cpu: '4', memory: '1Gi' }, limits: { cpu: '4', memory: '1Gi' } };
    const pod = guaranteed('chain', '4', '1Gi', {
      initContainers: [
        { name: 'first', resources },
        { name: 'second', resources },
      ],
    });
    assert.equal(give(allocator(), pod), '4-7');
  });

  it('never gives one processor to two, nor one that is reserved', () => {
    const requests = fc.array(fc.record({ cpus: fc.integer({ min: 1, max: 5 }), releases: fc.nat(5) }), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(requests, (steps) => {
        const cpus = allocator({ topology: machine({ nodes: 2, coresPerNode: 4 }), reserved: [0, 1] });
        const held = new Map<string, readonly number[]>();
        for (const [index, { cpus: count, releases }] of steps.entries()) {
          const uid = `pod-${index}`;
          try {
            give(cpus, guaranteed(uid, String(count)));
            held.set(uid, cpus.cpusOf(uid, 'main'));
          } catch {
            cpus.release(uid);
          }
          if (releases < index && held.delete(`pod-${releases}`)) cpus.release(`pod-${releases}`);
          const all = [...held.values()];
          assert.equal(union(...all).length, all.flat().length);
          assert.deepEqual(intersection(union(...all), [0, 1, ...cpus.shared]), []);
          assert.equal(union(...all, cpus.shared).length, 16);
        }
      }),
    );
  });
});

describe('the merging of hints', () => {
  const { nodes } = machine();
  const hint = (mask: number, preferred: boolean): TopologyHint => ({ nodes: mask, preferred });
  const cpu = [hint(0b01, true), hint(0b10, true), hint(0b11, false)];
  const merged = (
    policy: 'best-effort' | 'restricted' | 'single-numa-node',
    ...lists: readonly (readonly TopologyHint[] | undefined)[]
  ) => {
    const { hint: best, admits } = mergeHints(lists, { policy, nodes });
    return [best.nodes, best.preferred, admits];
  };

  it('finds the node that all agree on', () => {
    assert.deepEqual(merged('single-numa-node', cpu, [hint(0b10, true), hint(0b11, false)]), [0b10, true, true]);
    assert.deepEqual(merged('restricted', cpu, undefined), [0b01, true, true]);
  });

  it('refuses or makes do, by the policy, where they do not', () => {
    const left = [hint(0b01, true)];
    const right = [hint(0b10, true), hint(0b11, false)];
    assert.deepEqual(merged('best-effort', left, right), [0b01, false, true]);
    assert.deepEqual(merged('restricted', left, right), [0b01, false, false]);
    assert.deepEqual(merged('single-numa-node', left, right), [undefined, false, false]);
    assert.equal(merged('best-effort', cpu, [])[2], true);
    assert.equal(merged('restricted', cpu, [])[2], false);
  });

  it('admits what needs several nodes unless one is demanded', () => {
    const wide = [hint(0b11, true)];
    assert.deepEqual(merged('restricted', wide), [0b11, true, true]);
    assert.equal(merged('single-numa-node', wide)[2], false);
  });

  it('prefers nodes that are close where that is asked for', () => {
    const four = machine({ nodes: 4 }).nodes;
    const lists = [[hint(0b1001, true), hint(0b0110, true)]];
    assert.equal(mergeHints(lists, { policy: 'best-effort', nodes: four }).hint.nodes, 0b0110);
    const far = [[hint(0b0101, true), hint(0b1100, true)]];
    assert.equal(mergeHints(far, { policy: 'best-effort', nodes: four }).hint.nodes, 0b0101);
    assert.equal(mergeHints(far, { policy: 'best-effort', nodes: four, prefersClosest: true }).hint.nodes, 0b1100);
  });

  it('names only nodes that each resource could use', () => {
    const lists = fc.array(
      fc.array(fc.record({ nodes: fc.constantFrom(...allMasks(3)), preferred: fc.boolean() }), {
        minLength: 1,
        maxLength: 7,
      }),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(lists, (hints) => {
        const { hint: best, admits } = mergeHints(hints, { policy: 'restricted', nodes: machine({ nodes: 3 }).nodes });
        if (!best.preferred) return assert.equal(admits, false);
        for (const list of hints) assert.ok(list.some((one) => one.nodes === best.nodes && one.preferred));
      }),
    );
  });
});

describe('a node', () => {
  async function node(configuration: Partial<KubeletConfiguration>, files = new Map<string, string>()) {
    const resources = new NodeResources({
      configuration: {
        ...defaultConfiguration,
        kubeReserved: { cpu: '500m' },
        cpuManagerPolicy: 'static',
        memoryManagerPolicy: 'Static',
        ...configuration,
      },
      topology: machine(),
      state: { read: async (name) => files.get(name), write: async (name, text) => void files.set(name, text) },
      log: silentLog,
    });
    await resources.restore();
    return { resources, files };
  }
  const reservedMemory = [{ numaNode: 0, limits: { memory: gibi } }];

  it('puts a container on one memory node with its processors and its memory', async () => {
    const { resources } = await node({ topologyManagerPolicy: 'single-numa-node', reservedMemory });
    assert.equal(await resources.admit(guaranteed('a', '3', '2Gi')), undefined);
    assert.deepEqual(resources.placementOf('a', 'main'), { cpusetCpus: '1-3', cpusetMems: '0' });
    assert.equal(
      await resources.admit(guaranteed('b', '1', '2Gi')),
      undefined,
      'the first node has processors left but no memory',
    );
    assert.deepEqual(resources.placementOf('b', 'main'), { cpusetCpus: '4', cpusetMems: '1' });
    assert.deepEqual(await resources.admit(guaranteed('c', '3', '3Gi')), {
      reason: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
    assert.deepEqual(resources.placementOf('c', 'main'), { cpusetCpus: '0,5-7' }, 'it holds nothing');
    assert.equal(resources.hasOwnCpus('a', 'main'), true);
  });

  it('keeps all containers of a Pod together by the scope of Pods', async () => {
    const resources = { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } };
    const pair = testPod(
      'pair',
      'n',
      {
        containers: [
          { name: 'main', resources },
          { name: 'side', resources },
        ],
      },
      { uid: 'pair' },
    );
    const settings = {
      topologyManagerPolicy: 'single-numa-node',
      topologyManagerScope: 'pod',
      reservedMemory,
    } as const;
    const { resources: together } = await node(settings);
    assert.equal(await together.admit(pair), undefined);
    assert.deepEqual(
      [together.placementOf('pair', 'main').cpusetMems, together.placementOf('pair', 'side').cpusetMems],
      ['1', '1'],
    );
  });

  it('gives memory of several nodes together where one has not enough, and then none of them alone', async () => {
    const { resources } = await node({ topologyManagerPolicy: 'restricted', reservedMemory });
    assert.equal(await resources.admit(guaranteed('wide', '6', '6Gi')), undefined);
    assert.equal(resources.placementOf('wide', 'main').cpusetMems, '0-1');
    assert.equal((await resources.admit(guaranteed('narrow', '500m', '512Mi')))?.reason, 'TopologyAffinityError');
    resources.release('wide');
    assert.equal(await resources.admit(guaranteed('narrow', '500m', '512Mi')), undefined);
  });

  it('finds what it has given when it starts anew, and takes back what nobody has any more', async () => {
    const before = await node({ reservedMemory });
    await before.resources.admit(guaranteed('a', '2', '1Gi'));
    await before.resources.admit(guaranteed('b', '2', '1Gi'));
    await before.resources.saved;
    const state = JSON.parse(before.files.get('cpu_manager_state')!);
    assert.deepEqual(state, {
      policyName: 'static',
      defaultCpuSet: '0-1,6-7',
      entries: { a: { main: '2-3' }, b: { main: '4-5' } },
      checksum: state.checksum,
    });
    const memory = JSON.parse(before.files.get('memory_manager_state')!);
    assert.deepEqual(memory.machineState[0], {
      numberOfAssignments: 2,
      memoryMap: {
        memory: { total: 4 * gibi, systemReserved: gibi, allocatable: 3 * gibi, reserved: 2 * gibi, free: gibi },
      },
      cells: [0],
    });
    const { resources: after } = await node({ reservedMemory }, before.files);
    assert.deepEqual(after.placementOf('b', 'main'), before.resources.placementOf('b', 'main'));
    after.retain((uid) => uid === 'b');
    assert.equal(after.placementOf('a', 'main').cpusetCpus, '0-3,6-7');
  });

  it('does not start on the checkpoint of another policy, nor without anything reserved', async () => {
    const { files } = await node({});
    await assert.rejects(node({ cpuManagerPolicy: 'none' }, files), {
      message:
        'could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file "cpu_manager_state" before restarting Kubelet',
    });
    await assert.rejects(
      node({ kubeReserved: {} }),
      /requires systemreserved.cpu \+ kubereserved.cpu to be greater than zero/,
    );
  });

  it('counts each set of nodes once', () => {
    assert.deepEqual(allMasks(3).map(countOf), [1, 1, 2, 1, 2, 2, 3]);
  });
});

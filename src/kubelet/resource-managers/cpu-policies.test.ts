/** Which processors are chosen by each option of the static policy, on machines of several shapes; the cases are upstream's. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../base/log.ts';
import fc from '../../testing/properties.fixture.ts';
import { defaultConfiguration, type KubeletConfiguration } from '../configuration.ts';
import { testPod } from '../kubelet.fixture.ts';
import { CpuAllocator } from './cpu-allocator.ts';
import { takeByTopology } from './cpu-assignment.ts';
import { takeDistributed } from './cpu-distribution.ts';
import { formatCpuSet, parseCpuSet, without } from './cpu-set.ts';
import type { MachineTopology } from './machine-topology.ts';
import { NodeResources } from './node-resources.ts';
import { cpuPolicyOptions, topologyPolicyOptions } from './policy-options.ts';

interface Shape {
  readonly cores: number;
  readonly threads?: number;
  readonly socket?: (core: number) => number;
  readonly node?: (core: number) => number;
  readonly cache?: (core: number) => number;
}

/** Siblings are numbered apart: thread `t` of core `c` is processor `c + t * cores`. */
function machine({ cores, threads = 2, socket = () => 0, node = socket, cache = socket }: Shape): MachineTopology {
  const processors = Array.from({ length: cores * threads }, (_, id) => {
    const core = id % cores;
    return { id, core, socket: socket(core), node: node(core), cache: cache(core) };
  });
  const ids = [...new Set(processors.map((one) => one.node))].sort((a, b) => a - b);
  return { processors, nodes: ids.map((id) => ({ id, memoryBytes: 1024 ** 3, hugepages: {}, distances: [] })) };
}
const by = (size: number) => (core: number) => Math.floor(core / size);

const singleSocket = machine({ cores: 4 });
const dualSocket = machine({ cores: 6, socket: (core) => core % 2 });
const fourNodes = machine({ cores: 40, socket: by(20), node: by(10) });
const eightNodes = machine({ cores: 128, socket: by(64), node: by(16) });
const splitCaches = machine({ cores: 16, threads: 1, cache: by(4) });
const splitCachesOfSockets = machine({ cores: 16, threads: 1, socket: by(8), node: () => 0, cache: by(4) });
const splitCachesOfNodes = machine({ cores: 16, threads: 1, node: by(8), cache: by(4) });
const splitCachesWithSiblings = machine({ cores: 8, cache: by(4) });

describe('distribute-cpus-across-numa', () => {
  const cases = [
    { name: 'one of the fuller node', on: dualSocket, available: '1-5,7-11', count: 1, groupSize: 1, expected: '1' },
    {
      name: 'a count that makes no groups, packed',
      on: dualSocket,
      available: '1-5,7-11',
      count: 1,
      groupSize: 2,
      expected: '2',
    },
    { name: 'halves of two nodes', on: dualSocket, available: '0-11', count: 8, groupSize: 1, expected: '0-3,6-9' },
    {
      name: 'a quarter of each of four nodes',
      on: fourNodes,
      available: '0-79',
      count: 64,
      groupSize: 1,
      expected: '0-7,10-17,20-27,30-37,40-47,50-57,60-67,70-77',
    },
    {
      name: 'thirds of as few nodes as will do',
      on: fourNodes,
      available: '0-79',
      count: 48,
      groupSize: 1,
      expected: '0-7,10-17,20-27,40-47,50-57,60-67',
    },
    {
      name: 'thirds of those that leave most balance',
      on: fourNodes,
      available: '2-29,31-39,42-69,71-79',
      count: 48,
      groupSize: 1,
      expected: '10-17,20-27,31-38,50-57,60-67,71-78',
    },
    {
      name: 'thirteen cores of two nodes, one of them broken',
      on: fourNodes,
      available: '0-79',
      count: 26,
      groupSize: 1,
      expected: '0-6,10-16,40-45,50-55',
    },
    {
      name: 'thirteen whole cores of two nodes',
      on: fourNodes,
      available: '0-79',
      count: 26,
      groupSize: 2,
      expected: '0-6,10-15,40-46,50-55',
    },
    {
      name: 'a rest of the first nodes',
      on: fourNodes,
      available: '0-79',
      count: 62,
      groupSize: 1,
      expected: '0-7,10-17,20-27,30-37,40-47,50-57,60-66,70-76',
    },
    {
      name: 'a rest of whole cores',
      on: fourNodes,
      available: '0-79',
      count: 62,
      groupSize: 2,
      expected: '0-7,10-17,20-27,30-36,40-47,50-57,60-67,70-76',
    },
    {
      name: 'a rest where it keeps the balance',
      on: fourNodes,
      available: '0-8,10-18,20-39,40-48,50-58,60-79',
      count: 62,
      groupSize: 1,
      expected: '0-7,10-17,20-27,30-37,40-46,50-56,60-67,70-77',
    },
    {
      name: 'a rest of whole cores where it keeps the balance',
      on: fourNodes,
      available: '0-8,10-18,20-39,40-48,50-58,60-79',
      count: 62,
      groupSize: 2,
      expected: '0-7,10-16,20-27,30-37,40-47,50-56,60-67,70-77',
    },
    {
      name: 'a rest only of nodes that have it',
      on: fourNodes,
      available: '0-3,10-13,20-23,30-36,40-43,50-53,60-63,70-76',
      count: 34,
      groupSize: 1,
      expected: '0-3,10-13,20-23,30-34,40-43,50-53,60-63,70-74',
    },
    {
      name: 'what is left of a busy machine',
      on: eightNodes,
      available:
        '0,128,30,31,158,159,43-47,171-175,62,63,190,191,75-79,203-207,94,96,222,223,101-111,229-239,126,127,254,255',
      count: 28,
      groupSize: 1,
      expected: '43-47,75-79,96,101-105,171-174,203-206,229-232',
    },
    {
      name: 'nothing when there are too few',
      on: dualSocket,
      available: '0-3',
      count: 5,
      groupSize: 1,
      expected: undefined,
    },
  ];
  for (const { name, on, available, count, groupSize, expected } of cases)
    it(`takes ${name}`, () => {
      const taken = takeDistributed(on, parseCpuSet(available), count, { groupSize });
      assert.equal(taken && formatCpuSet(taken), expected);
    });
});

describe('prefer-align-cpus-by-uncorecache', () => {
  const cases = [
    { name: 'whole caches, and the rest of one', on: splitCaches, available: '1-15', count: 10, expected: '1-2,4-11' },
    {
      name: 'a whole cache of the first socket',
      on: splitCachesOfSockets,
      available: '0-15',
      count: 4,
      expected: '0-3',
    },
    {
      name: 'all that the first socket has left',
      on: splitCachesOfSockets,
      available: '2-15',
      count: 6,
      expected: '2-7',
    },
    { name: 'a cache of the second socket', on: splitCachesOfSockets, available: '8-15', count: 4, expected: '8-11' },
    {
      name: 'two of one cache before two of two',
      on: splitCachesOfNodes,
      available: '3,4-8,12',
      count: 2,
      expected: '4-5',
    },
    {
      name: 'all of the cache that has as many cores',
      on: splitCachesWithSiblings,
      available: '2-3,10-11,4-7,12-15',
      count: 6,
      expected: '4-6,12-14',
    },
    {
      name: 'a whole cache and a core',
      on: splitCachesWithSiblings,
      available: '1-7,9-15',
      count: 10,
      expected: '1,4-7,9,12-15',
    },
    { name: 'an odd count of one cache', on: splitCachesWithSiblings, available: '0-15', count: 3, expected: '0-1,8' },
  ];
  for (const { name, on, available, count, expected } of cases)
    it(`takes ${name}`, () => {
      assert.equal(formatCpuSet(takeByTopology(on, parseCpuSet(available), count, { alignsByCache: true })!), expected);
    });
});

describe('distribute-cpus-across-cores', () => {
  const cases = [
    { name: 'one thread of each core', on: singleSocket, available: '0-7', count: 3, expected: '0-2' },
    { name: 'cores of one socket', on: dualSocket, available: '0-11', count: 3, expected: '0,2,4' },
    { name: 'a whole socket first', on: dualSocket, available: '0-11', count: 8, expected: '0-4,6,8,10' },
    { name: 'cores of several nodes of one socket', on: fourNodes, available: '0-79', count: 8, expected: '0-7' },
  ];
  for (const { name, on, available, count, expected } of cases)
    it(`takes ${name}`, () => {
      const taken = takeByTopology(on, parseCpuSet(available), count, { spreadsOverCores: true });
      assert.equal(formatCpuSet(taken!), expected);
    });
});

it('every option takes as many as asked, each once, and only what is free', () => {
  const machines = fc.constantFrom(singleSocket, dualSocket, splitCaches, splitCachesOfNodes, splitCachesWithSiblings);
  const options = fc.record({
    groupSize: fc.constantFrom(0, 1, 2),
    spreadsOverCores: fc.boolean(),
    alignsByCache: fc.boolean(),
  });
  const free = fc.array(fc.boolean(), { minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(machines, free, fc.nat(16), options, (on, isFree, count, { groupSize, ...others }) => {
      const available = on.processors.map(({ id }) => id).filter((id) => isFree[id]);
      const taken =
        groupSize === 0
          ? takeByTopology(on, available, count, others)
          : takeDistributed(on, available, count, { groupSize, ...others });
      if (count > available.length) return assert.equal(taken, undefined);
      assert.equal(new Set(taken).size, count);
      assert.deepEqual(without(taken!, available), []);
    }),
  );
});

const gates = { CPUManagerPolicyAlphaOptions: true };
const cpuOptions = (given: Record<string, string>, featureGates: Record<string, boolean> = gates) =>
  cpuPolicyOptions({ ...defaultConfiguration, cpuManagerPolicyOptions: given, featureGates });

describe('align-by-socket', () => {
  const guaranteed = (cpu: string) => {
    const resources = { requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } };
    return testPod('p', 'n', { containers: [{ name: 'main', resources }] }, { uid: 'p' });
  };
  const allocator = (options: Record<string, string>, reserved = '0,10,20') =>
    new CpuAllocator({ topology: fourNodes, reserved: parseCpuSet(reserved), policy: cpuOptions(options) });

  it('prefers all sets of nodes of one socket where one node would do', () => {
    const [pod, preferred] = [
      guaranteed('4'),
      (cpus: CpuAllocator) => {
        const hints = cpus.hints(pod, pod.spec.containers[0]!) ?? [];
        return hints.filter((hint) => hint.preferred).map(({ nodes }) => nodes);
      },
    ];
    assert.deepEqual(preferred(allocator({})), [0b0001, 0b0010, 0b0100, 0b1000]);
    assert.deepEqual(
      preferred(allocator({ 'align-by-socket': 'true' })),
      [0b0001, 0b0010, 0b0011, 0b0100, 0b1000, 0b1100],
    );
  });

  it('takes what is near in the socket before it goes to another', () => {
    const give = (options: Record<string, string>) => {
      const cpus = allocator(options, '0,10,20-39,60-75');
      const pod = guaranteed('20');
      cpus.allocate(pod, pod.spec.containers[0]!, { nodes: 0b0001, preferred: true });
      return formatCpuSet(cpus.cpusOf('p', 'main'));
    };
    assert.equal(give({}), '1-9,40-49,76', 'all of the first node, and one of the fuller socket');
    assert.equal(
      give({ 'align-by-socket': 'true' }),
      '1-9,11,41-49,51',
      'whole cores of the first node, and one of its socket',
    );
  });
});

describe('options of the managers', () => {
  const topologyOptions = (given: Record<string, string>) =>
    topologyPolicyOptions({ ...defaultConfiguration, topologyManagerPolicyOptions: given });

  it('are read as Go reads booleans and integers', () => {
    assert.equal(cpuOptions({ 'full-pcpus-only': 'T' }).fullCoresOnly, true);
    assert.equal(cpuOptions({ 'full-pcpus-only': '0' }).fullCoresOnly, false);
    assert.deepEqual(topologyOptions({}), { prefersClosest: false, maxNodes: 8 });
    assert.deepEqual(topologyOptions({ 'prefer-closest-numa-nodes': 'true', 'max-allowable-numa-nodes': '12' }), {
      prefersClosest: true,
      maxNodes: 12,
    });
  });

  const refused = [
    { given: { turbo: 'true' }, message: 'unknown CPU Manager Policy option: "turbo"' },
    {
      given: { 'full-pcpus-only': 'yes' },
      message: 'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    },
    {
      given: { 'align-by-socket': 'true' },
      gates: {},
      message: 'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    },
    {
      given: { 'distribute-cpus-across-numa': 'true' },
      gates: { CPUManagerPolicyBetaOptions: false },
      message: 'CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided',
    },
    {
      given: { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' },
      message:
        'static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time',
    },
    {
      given: { 'prefer-align-cpus-by-uncorecache': 'true', 'distribute-cpus-across-numa': 'true' },
      message:
        'static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time',
    },
  ];
  for (const { given, gates: on, message } of refused)
    it(`are refused: ${message}`, () => assert.throws(() => cpuOptions(given, on), { message }));

  it('of the topology manager are refused in upstream´s words', () => {
    assert.throws(() => topologyOptions({ x: '1' }), { message: 'unknown Topology Manager Policy option: "x"' });
    assert.throws(() => topologyOptions({ 'max-allowable-numa-nodes': '4' }), {
      message: 'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    });
    assert.throws(() => topologyOptions({ 'max-allowable-numa-nodes': 'many' }), {
      message:
        'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "many": invalid syntax',
    });
  });

  const node = (topology: MachineTopology, configuration: Partial<KubeletConfiguration>) =>
    new NodeResources({
      configuration: { ...defaultConfiguration, kubeReserved: { cpu: '1' }, featureGates: gates, ...configuration },
      topology,
      state: { read: async () => undefined, write: async () => undefined },
      log: silentLog,
    });

  it('must suit each other and the machine', () => {
    const bySocket = { cpuManagerPolicy: 'static', cpuManagerPolicyOptions: { 'align-by-socket': 'true' } } as const;
    assert.throws(() => node(fourNodes, { ...bySocket, topologyManagerPolicy: 'single-numa-node' }), {
      message: 'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
    });
    assert.throws(() => node(splitCachesOfSockets, bySocket), {
      message: 'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    });
    const wide = machine({ cores: 9, node: by(1) });
    const alwaysOneNode = { topologyManagerPolicy: 'single-numa-node' } as const;
    assert.throws(() => node(wide, alwaysOneNode), { message: 'unsupported on machines with more than 8 NUMA Nodes' });
    node(wide, { ...alwaysOneNode, topologyManagerPolicyOptions: { 'max-allowable-numa-nodes': '9' } });
  });
});

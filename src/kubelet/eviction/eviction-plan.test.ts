/** Thresholds, pressure over time, ranking, messages, and limits of local storage. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../api/gen/core-v1.ts';
import { defaultConfiguration } from '../configuration.ts';
import { testPod } from '../kubelet.fixture.ts';
import { evictionText } from './eviction-message.ts';
import { localStorageViolation } from './local-storage.ts';
import type { Observations, PodUse } from './measurement.ts';
import { nextPressure, noPressure, type PressureState } from './pressure.ts';
import { rankForEviction } from './ranking.ts';
import {
  parseThresholds,
  type Signal,
  type ThresholdSettings,
  thresholdAmount,
  withContainerFilesystem,
} from './thresholds.ts';

const mebi = 1024 ** 2;
const parse = (settings: Partial<ThresholdSettings>) =>
  parseThresholds({
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforcesAllocatable: false,
    ...settings,
  });

describe('thresholds', () => {
  it('are amounts or shares of the whole, in single precision as upstream’s messages show them', () => {
    const [memory, disk] = parse({ evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } });
    assert.equal(thresholdAmount(memory!.value, 1), 100 * mebi);
    assert.equal(thresholdAmount(disk!.value, 100 * 1024 ** 3), 10737418400);
    assert.equal(memory!.gracePeriodMs, 0);
  });

  it('of none or all of it are no thresholds', () => {
    assert.deepEqual(parse({ evictionHard: { 'memory.available': '0%', 'nodefs.available': '100%' } }), []);
  });

  it('of the machine’s memory count for the Pods’ share of it too, where that is bounded', () => {
    const parsed = parse({ evictionHard: defaultConfiguration.evictionHard, enforcesAllocatable: true });
    assert.deepEqual(parsed.at(-1)?.signal, 'allocatableMemory.available');
    assert.equal(parsed.length, 6);
  });

  it('of the disk under containers are those of images where these have their own, else of the node', () => {
    const parsed = parse({
      evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'containerfs.available': '1%' },
    });
    const share = (dedicated: boolean) => {
      const found = withContainerFilesystem(parsed, dedicated).filter(
        ({ signal }) => signal === 'containerfs.available',
      );
      assert.equal(found.length, 1);
      return thresholdAmount(found[0]!.value, 100);
    };
    assert.deepEqual([share(true), share(false)], [15, 10]);
  });

  const refusals: { readonly settings: Partial<ThresholdSettings>; readonly words: string }[] = [
    { settings: { evictionHard: { 'cpu.available': '1' } }, words: 'unsupported eviction signal cpu.available' },
    {
      settings: { evictionHard: { 'memory.available': '-5%' } },
      words: 'eviction percentage threshold memory.available must be >= 0%: -5%',
    },
    {
      settings: { evictionHard: { 'memory.available': '101%' } },
      words: 'eviction percentage threshold memory.available must be <= 100%: 101%',
    },
    {
      settings: { evictionHard: { 'memory.available': '0' } },
      words: 'eviction threshold memory.available must be positive: 0',
    },
    {
      settings: { evictionSoft: { 'memory.available': '1Gi' } },
      words: 'grace period must be specified for the soft eviction threshold memory.available',
    },
    {
      settings: { evictionSoftGracePeriod: { 'memory.available': '-1s' } },
      words: 'invalid eviction grace period specified: -1s, must be a positive value',
    },
    {
      settings: { evictionMinimumReclaim: { 'memory.available': '-1' } },
      words: 'negative eviction minimum reclaim specified for memory.available',
    },
    {
      settings: { evictionMinimumReclaim: { 'nodefs.available': '0%' } },
      words: 'eviction percentage minimum reclaim nodefs.available must be positive: 0%',
    },
  ];
  for (const { settings, words } of refusals)
    it(`refuse ${JSON.stringify(settings)}`, () => assert.throws(() => parse(settings), { message: words }));
});

describe('pressure', () => {
  const left = (signal: Signal, available: number, capacity = 1000): Observations =>
    new Map([[signal, { available, capacity }]]);
  const timeline = (
    settings: Partial<ThresholdSettings>,
    steps: readonly (readonly [atMs: number, observations: Observations])[],
  ) => {
    const pressure = { thresholds: parse(settings), transitionMs: 300_000 };
    let state: PressureState = noPressure;
    return steps.map(([atMs, observations]) => {
      state = nextPressure(state, observations, atMs, pressure);
      return [state.due.map(({ signal }) => signal), [...state.conditionSeenMs.keys()]];
    });
  };

  it('is acted on at once above a hard threshold, and shown for the transition period after it was last seen', () => {
    const settings = { evictionHard: { 'memory.available': '100' } };
    assert.deepEqual(
      timeline(settings, [
        [0, left('memory.available', 100)],
        [10, left('memory.available', 99)],
        [20, left('memory.available', 100)],
        [300_009, left('memory.available', 500)],
        [300_010, left('memory.available', 500)],
      ]),
      [
        [[], []],
        [['memory.available'], ['MemoryPressure']],
        [[], ['MemoryPressure']],
        [[], ['MemoryPressure']],
        [[], []],
      ],
    );
  });

  it('waits for the grace period of a soft threshold, from the beginning when it was over meanwhile', () => {
    const settings = { evictionSoft: { 'pid.available': '10%' }, evictionSoftGracePeriod: { 'pid.available': '30s' } };
    const low = left('pid.available', 50);
    const due = timeline(settings, [
      [0, low],
      [29_999, low],
      [29_999, left('pid.available', 100)],
      [30_000, low],
      [60_000, low],
    ]).map(([names]) => names!.length);
    assert.deepEqual(due, [0, 0, 0, 0, 1]);
  });

  it('is over only when the minimum reclaim is free as well', () => {
    const settings = {
      evictionHard: { 'nodefs.available': '100' },
      evictionMinimumReclaim: { 'nodefs.available': '5%' },
    };
    const due = timeline(settings, [
      [0, left('nodefs.available', 120)],
      [1, left('nodefs.available', 90)],
      [2, left('nodefs.available', 149)],
      [3, left('nodefs.available', 150)],
    ]);
    assert.deepEqual(
      due.map(([names]) => names!.length),
      [0, 1, 1, 0],
    );
  });

  it('of memory comes before all other', () => {
    const settings = { evictionHard: { 'nodefs.available': '1', 'pid.available': '1', 'memory.available': '1' } };
    const none: Observations = new Map([
      ...left('nodefs.available', 0),
      ...left('pid.available', 0),
      ...left('memory.available', 0),
    ]);
    assert.deepEqual(timeline(settings, [[0, none]])[0]![0]![0], 'memory.available');
  });

  it('is not told of what nobody can measure', () => {
    assert.deepEqual(timeline({ evictionHard: { 'imagefs.inodesFree': '5%' } }, [[0, new Map()]]), [[[], []]]);
  });
});

const pod = (name: string, spec: Partial<PodSpec> = {}, requests: Record<string, string> = {}) =>
  testPod(name, 'n', { containers: [{ name: 'main', resources: { requests } }], ...spec }, { uid: name });
const use = (extra: Partial<PodUse> = {}): PodUse => ({
  memoryBytes: 0,
  processes: 0,
  containers: [],
  volumes: new Map(),
  ...extra,
});

describe('the order of eviction', () => {
  const order = (
    signal: Signal,
    pods: readonly (readonly [ReturnType<typeof pod>, PodUse | undefined])[],
    dedicatedImageFs = false,
  ) => {
    const uses = new Map(pods.map(([one, its]) => [one.metadata.name, its]));
    return rankForEviction(
      signal,
      pods.map(([one]) => one),
      { useOf: ({ metadata }) => uses.get(metadata.name), dedicatedImageFs },
    ).map(({ metadata }) => metadata.name);
  };

  it('for memory: above the request, then the lower priority, then how far above', () => {
    assert.deepEqual(
      order('memory.available', [
        [pod('within', {}, { memory: '1Gi' }), use({ memoryBytes: 900 * mebi })],
        [pod('important', { priority: 1000 }), use({ memoryBytes: 900 * mebi })],
        [pod('little', {}), use({ memoryBytes: 5 * mebi })],
        [pod('much', {}, { memory: '100Mi' }), use({ memoryBytes: 200 * mebi })],
        [pod('unknown', { priority: 5 }), undefined],
      ]),
      ['unknown', 'much', 'little', 'important', 'within'],
    );
  });

  it('for process ids: the lower priority, then how many', () => {
    assert.deepEqual(
      order('pid.available', [
        [pod('many', { priority: 10 }), use({ processes: 1000 })],
        [pod('few'), use({ processes: 1 })],
        [pod('some'), use({ processes: 20 })],
      ]),
      ['some', 'few', 'many'],
    );
  });

  it('for disks: layers count on the disk of images, logs and volumes on the node’s, all of it where they are one', () => {
    const disk = (bytes: number) => ({ bytes, inodes: bytes });
    const layers = use({ containers: [{ name: 'main', layer: disk(900), logs: disk(1) }] });
    const files = use({
      containers: [{ name: 'main', layer: disk(1), logs: disk(100) }],
      volumes: new Map([['scratch', disk(200)]]),
    });
    const pods = [
      [pod('layers'), layers],
      [pod('files', { volumes: [{ name: 'scratch', emptyDir: {} }] }), files],
    ] as const;
    assert.deepEqual(order('nodefs.available', pods), ['layers', 'files']);
    assert.deepEqual(order('nodefs.available', pods, true), ['files', 'layers']);
    assert.deepEqual(order('imagefs.inodesFree', pods, true), ['layers', 'files']);
  });
});

it('an evicted Pod is told what ran short and which of its containers took more than they asked for', () => {
  const due = parse({ evictionHard: { 'memory.available': '100Mi' } });
  const observations: Observations = new Map([['memory.available', { available: 64 * mebi, capacity: 1024 * mebi }]]);
  const greedy = pod('greedy', {}, { memory: '10Mi' });
  const its = use({
    containers: [
      { name: 'main', memoryBytes: 20 * mebi },
      { name: 'debugger', memoryBytes: 99 * mebi },
    ],
  });
  const { message, annotations } = evictionText(greedy, 'memory', { due, observations, use: its });
  assert.equal(
    message,
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi. Container main was using 20Mi, request is 10Mi, has larger consumption of memory. ',
  );
  assert.deepEqual(annotations, {
    offending_containers: 'main',
    offending_containers_usage: '20Mi',
    starved_resource: 'memory',
  });
});

describe('limits of local storage', () => {
  const disk = (bytes: number) => ({ bytes, inodes: 1 });
  const cases = [
    {
      name: 'an emptyDir beyond its size',
      pod: pod('p', { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }] }),
      use: use({ volumes: new Map([['scratch', disk(mebi + 1)]]) }),
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
    },
    {
      name: 'a Pod beyond the sum of its containers',
      pod: pod('p', {
        containers: [{ name: 'main', resources: { limits: { 'ephemeral-storage': '2Mi' } } }],
        volumes: [{ name: 'scratch', emptyDir: {} }],
      }),
      use: use({ containers: [{ name: 'main', layer: disk(mebi) }], volumes: new Map([['scratch', disk(mebi + 1)]]) }),
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
    },
    {
      name: 'a container beyond its own limit',
      pod: pod('p', {
        containers: [
          { name: 'main', resources: { limits: { 'ephemeral-storage': '1Mi' } } },
          { name: 'other', resources: { limits: { 'ephemeral-storage': '5Mi' } } },
        ],
      }),
      use: use({ containers: [{ name: 'main', layer: disk(mebi), logs: disk(1) }] }),
      message: 'Container main exceeded its local ephemeral storage limit "1Mi". ',
    },
    {
      name: 'one that keeps to its limits',
      pod: pod('p', { containers: [{ name: 'main', resources: { limits: { 'ephemeral-storage': '1Mi' } } }] }),
      use: use({ containers: [{ name: 'main', layer: disk(mebi) }] }),
      message: undefined,
    },
  ];
  for (const { name, pod: one, use: its, message } of cases)
    it(`judge ${name}`, () => assert.equal(localStorageViolation(one, its, false)?.message, message));
});

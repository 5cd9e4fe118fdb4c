/** Which devices a claim gets on a node: case by case, and laws of the search over any pools and claims. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import type {
  Device,
  DeviceClaim,
  DeviceClass,
  DeviceRequest,
  ResourceClaim,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../api/gen/resource-v1.ts';
import { type DeviceMatcher, deviceMatcher } from '../../api/resource/selector-expression.ts';
import { seededRandom } from '../../base/random.ts';
import fc from '../../testing/properties.fixture.ts';
import { allocationResult } from './allocation-result.ts';
import { attemptBudget, type DevicesInUse, type SearchBudget, SearchTooLong, searchDevices } from './device-search.ts';
import { SliceIndex } from './pools.ts';

const node: Node = { metadata: { name: 'n1', labels: { region: 'west' } }, spec: {} };
const driver = 'gpu.example.com';

function slice(
  name: string,
  spec: Partial<ResourceSliceSpec> & { readonly devices?: readonly Device[] },
): ResourceSlice {
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1, ...spec.pool };
  const place = spec.allNodes || spec.nodeSelector || spec.perDeviceNodeSelection ? {} : { nodeName: 'n1' };
  return { metadata: { name }, spec: { driver, ...place, ...spec, pool } };
}

const devices = (...names: string[]): Device[] => names.map((name) => ({ name }));

function claim(claimSpec: DeviceClaim, name = 'c'): ResourceClaim {
  return { metadata: { name, namespace: 'default', uid: name }, spec: { devices: claimSpec } };
}

const exactly = (name: string, more: Partial<DeviceRequest['exactly']> = {}): DeviceRequest => ({
  name,
  exactly: { deviceClassName: 'any', ...more },
});

const expression = (text: string) => [{ cel: { expression: text } }];

const classes: Readonly<Record<string, DeviceClass>> = {
  any: { metadata: { name: 'any' }, spec: {} },
  big: {
    metadata: { name: 'big' },
    spec: { selectors: expression('device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0') },
  },
};

interface Situation {
  readonly slices: readonly ResourceSlice[];
  readonly claims: readonly ResourceClaim[];
  /** Of the pool `p`. */
  readonly taken?: readonly string[];
  readonly consumed?: DevicesInUse['consumed'];
  readonly on?: Node;
  readonly budget?: SearchBudget;
}

const matchers = new Map<string, DeviceMatcher>();
function matcherOf(text: string): DeviceMatcher {
  const matcher = matchers.get(text) ?? deviceMatcher(text);
  matchers.set(text, matcher);
  return matcher;
}

function found({
  slices,
  claims,
  taken = [],
  consumed = () => undefined,
  on = node,
  budget = attemptBudget(),
}: Situation) {
  return searchDevices(claims, {
    node: on,
    pools: new SliceIndex(slices).poolsFor(on),
    inUse: { has: (key) => taken.includes(key.slice(`${driver}/p/`.length)), consumed },
    budget,
    classOf: (name) => classes[name],
    matcherOf,
  });
}

/** `request=device ...` of each claim, or why there is none. */
function answer(situation: Situation): string {
  try {
    const outcome = found(situation);
    if (!outcome.solutions) return outcome.reason;
    const results = outcome.solutions.map(
      (solution) => allocationResult(solution, node, seededRandom(1)).devices?.results,
    );
    return results
      .map((list) => (list ?? []).map(({ request, device }) => `${request}=${device}`).join(' '))
      .join('; ');
  } catch (error) {
    return `throws: ${(error as Error).message}`;
  }
}

const odd = { capacity: { constructor: { value: '1' } } };
const oddlyNamed = slice('s', { devices: [{ name: 'a', allowMultipleAllocations: true, ...odd }] });
const two = slice('s', { devices: devices('a', 'b') });
const memory = (value: string) => ({ capacity: { memory: { value } } });
const attribute = (name: string, string: string): Device => ({ name, attributes: { [`${driver}/link`]: { string } } });
const cards = slice('s', {
  devices: [
    { name: 'small', ...memory('16Gi') },
    { name: 'large', ...memory('80Gi') },
  ],
});
const parts: ResourceSlice[] = [
  slice('counters', {
    pool: { name: 'p', generation: 1, resourceSliceCount: 2 },
    sharedCounters: [{ name: 'card', counters: { memory: { value: '40Gi' } } }],
  }),
  slice('devices', {
    pool: { name: 'p', generation: 1, resourceSliceCount: 2 },
    devices: ['10Gi', '30Gi', '40Gi'].map((value, index) => ({
      name: `part-${index}`,
      consumesCounters: [{ counterSet: 'card', counters: { memory: { value } } }],
    })),
  }),
];
const shared = slice('s', {
  devices: [{ name: 'nic', allowMultipleAllocations: true, capacity: { bandwidth: { value: '10G' } } }],
});
const bandwidth = (asked: string) => exactly('r', { capacity: { requests: { bandwidth: asked } } });
const tainted = slice('s', { devices: [{ name: 'ill', taints: [{ key: 'broken', effect: 'NoSchedule' }] }] });

const cases: readonly (readonly [behaviour: string, situation: Situation, expected: string])[] = [
  ['takes the first by name', { slices: [two], claims: [claim({ requests: [exactly('r')] })] }, 'r=a'],
  [
    'takes no device that somebody has',
    { slices: [two], claims: [claim({ requests: [exactly('r')] })], taken: ['a'] },
    'r=b',
  ],
  [
    'takes none where there are too few',
    { slices: [two], claims: [claim({ requests: [exactly('r', { count: 3 })] })] },
    'cannot allocate all claims',
  ],
  [
    'gives several claims different devices',
    { slices: [two], claims: [claim({ requests: [exactly('r')] }), claim({ requests: [exactly('r')] }, 'd')] },
    'r=a; r=b',
  ],
  [
    'goes back where the first choice leaves nothing for the second request',
    {
      slices: [
        slice('s', {
          devices: [
            { name: 'a', ...memory('80Gi') },
            { name: 'b', ...memory('1Gi') },
          ],
        }),
      ],
      claims: [claim({ requests: [exactly('x'), exactly('y', { deviceClassName: 'big' })] })],
    },
    'x=b y=a',
  ],
  [
    'takes what class and request select',
    { slices: [cards], claims: [claim({ requests: [exactly('r', { deviceClassName: 'big' })] })] },
    'r=large',
  ],
  [
    'asks an expression for what the device does not have',
    {
      slices: [cards],
      claims: [claim({ requests: [exactly('r', { selectors: expression('device.attributes["x.y"].z == 1') })] })],
    },
    'throws: claim default/c: selector #0: CEL runtime error: no such key: z',
  ],
  [
    'gives all that are meant, and those must be free',
    { slices: [two], claims: [claim({ requests: [exactly('r', { allocationMode: 'All' })] })] },
    'r=a r=b',
  ],
  [
    'gives all or none',
    { slices: [two], claims: [claim({ requests: [exactly('r', { allocationMode: 'All' })] })], taken: ['b'] },
    'cannot allocate all claims',
  ],
  [
    'gives an administrator what others have',
    { slices: [two], claims: [claim({ requests: [exactly('r', { adminAccess: true })] })], taken: ['a', 'b'] },
    'r=a',
  ],
  [
    'takes the first alternative that can be had',
    {
      slices: [two],
      claims: [
        claim({
          requests: [
            {
              name: 'r',
              firstAvailable: [
                { name: 'many', deviceClassName: 'any', count: 3 },
                { name: 'few', deviceClassName: 'any', count: 2 },
              ],
            },
          ],
        }),
      ],
    },
    'r/few=a r/few=b',
  ],
  [
    'keeps to one value of an attribute',
    {
      slices: [slice('s', { devices: [attribute('a', 'x'), attribute('b', 'y'), attribute('c', 'y')] })],
      claims: [claim({ requests: [exactly('r', { count: 2 })], constraints: [{ matchAttribute: `${driver}/link` }] })],
    },
    'r=b r=c',
  ],
  [
    'keeps to different values of an attribute',
    {
      slices: [slice('s', { devices: [attribute('a', 'x'), attribute('b', 'x'), attribute('c', 'y')] })],
      claims: [
        claim({ requests: [exactly('r', { count: 2 })], constraints: [{ distinctAttribute: `${driver}/link` }] }),
      ],
    },
    'r=a r=c',
  ],
  [
    'takes parts of a card as far as its counters go',
    { slices: parts, claims: [claim({ requests: [exactly('r', { count: 2 })] })] },
    'r=part-0 r=part-1',
  ],
  [
    'counts what parts in use take',
    { slices: parts, claims: [claim({ requests: [exactly('r')] })], taken: ['part-1'] },
    'r=part-0',
  ],
  [
    'leaves nothing of a card that is taken whole',
    { slices: parts, claims: [claim({ requests: [exactly('r')] })], taken: ['part-2'] },
    'cannot allocate all claims',
  ],
  [
    'shares a device while it has capacity',
    {
      slices: [shared],
      claims: [claim({ requests: [bandwidth('6G')] }), claim({ requests: [bandwidth('4G')] }, 'd')],
    },
    'r=nic; r=nic',
  ],
  [
    'gives one claim no more of a device than there is',
    {
      slices: [shared],
      claims: [claim({ requests: [bandwidth('6G'), exactly('all', { allocationMode: 'All' })] })],
    },
    'cannot allocate all claims',
  ],
  [
    'takes no counters for devices that are tainted',
    {
      slices: parts.map((one) => ({
        ...one,
        spec: {
          ...one.spec,
          devices: one.spec.devices?.map((part) =>
            part.name !== 'part-2' ? { ...part, taints: [{ key: 'broken', effect: 'NoSchedule' as const }] } : part,
          ),
        },
      })),
      claims: [claim({ requests: [exactly('r')] })],
    },
    'r=part-2',
  ],
  [
    'tells of the first mistake, request by request',
    {
      slices: [slice('s', { devices: devices('a', 'a') })],
      claims: [
        claim({
          requests: [exactly('x', { allocationMode: 'All' }), exactly('y', { deviceClassName: 'none' })],
        }),
      ],
    },
    'throws: claim default/c, request x: asks for all devices, but resource pool gpu.example.com/p is currently invalid',
  ],
  [
    'shares no more than there is',
    {
      slices: [shared],
      claims: [claim({ requests: [bandwidth('6G')] }), claim({ requests: [bandwidth('5G')] }, 'd')],
    },
    'cannot allocate all claims',
  ],
  [
    'takes no tainted device',
    { slices: [tainted], claims: [claim({ requests: [exactly('r')] })] },
    'cannot allocate all claims',
  ],
  [
    'takes one whose taint is tolerated',
    {
      slices: [tainted],
      claims: [claim({ requests: [exactly('r', { tolerations: [{ key: 'broken', operator: 'Exists' }] })] })],
    },
    'r=ill',
  ],
  [
    'waits for the rest of a pool',
    {
      slices: [slice('s', { pool: { name: 'p', generation: 1, resourceSliceCount: 2 }, devices: devices('a') })],
      claims: [claim({ requests: [exactly('r')] })],
    },
    'cannot allocate all claims',
  ],
  [
    'says which pool is not complete to who wants all of it',
    {
      slices: [slice('s', { pool: { name: 'p', generation: 1, resourceSliceCount: 2 }, devices: devices('a') })],
      claims: [claim({ requests: [exactly('r', { allocationMode: 'All' })] })],
    },
    'throws: claim default/c, request r: asks for all devices, but resource pool gpu.example.com/p is currently being updated',
  ],
  [
    'takes nothing from a pool that contradicts itself',
    { slices: [slice('s', { devices: devices('a', 'a') })], claims: [claim({ requests: [exactly('r')] })] },
    'invalid resource pools were encountered',
  ],
  [
    'takes the newest generation alone',
    {
      slices: [
        slice('old', { devices: devices('a') }),
        slice('new', { pool: { name: 'p', generation: 2, resourceSliceCount: 1 }, devices: devices('b') }),
      ],
      claims: [claim({ requests: [exactly('r')] })],
    },
    'r=b',
  ],
  [
    'takes nothing of other nodes',
    { slices: [two], claims: [claim({ requests: [exactly('r')] })], on: { metadata: { name: 'n2' }, spec: {} } },
    'cannot allocate all claims',
  ],
  [
    'asks each device for its nodes where the slice leaves it to them',
    {
      slices: [
        slice('s', {
          perDeviceNodeSelection: true,
          devices: [
            { name: 'a', nodeName: 'n2' },
            { name: 'b', allNodes: true },
          ],
        }),
      ],
      claims: [claim({ requests: [exactly('r')] })],
    },
    'r=b',
  ],
  [
    'gives a claim no more than its status holds',
    {
      slices: [slice('s', { devices: devices(...Array.from({ length: 40 }, (_, index) => `d${index}`)) })],
      claims: [claim({ requests: [exactly('r', { count: 33 })] })],
    },
    'throws: claim default/c: number of requested devices 33 exceeds the claim limit of 32',
  ],
  [
    'says which class is missing',
    { slices: [two], claims: [claim({ requests: [exactly('r', { deviceClassName: 'none' })] })] },
    'throws: claim default/c, request r: could not retrieve device class none: deviceclass.resource.k8s.io "none" not found',
  ],
  [
    'knows no amount of a capacity that nobody asked for, by whatever name',
    { slices: [oddlyNamed], claims: [claim({ requests: [exactly('r', { capacity: { requests: {} } })] })] },
    'r=a',
  ],
];

describe('the search for devices', () => {
  for (const [behaviour, situation, expected] of cases) it(behaviour, () => assert.equal(answer(situation), expected));

  it('is given up where it looks at too much', () => {
    const all = Array.from({ length: 40 }, (_, index) => attribute(`d${index}`, `${index % 20}`));
    const asked = claim({
      requests: [exactly('r', { count: 30 })],
      constraints: [{ distinctAttribute: `${driver}/link` }],
    });
    assert.throws(() => found({ slices: [slice('s', { devices: all })], claims: [asked] }), SearchTooLong);
  });

  it('is given up where alternatives for all of some devices lead to too many steps', () => {
    const names = Array.from({ length: 12 }, (_, index) => `d${index}`);
    const all = { deviceClassName: 'any', allocationMode: 'All' as const };
    const requests = [...names, 'none'].map((name) => {
      const selectors = expression(`device.attributes["${driver}"].link == "${name}"`);
      return {
        name,
        firstAvailable: Array.from({ length: 8 }, (_, index) => ({ name: `a${index}`, ...all, selectors })),
      };
    });
    const slices = [slice('s', { devices: names.map((name) => attribute(name, name)) })];
    assert.throws(() => found({ slices, claims: [claim({ requests })] }), SearchTooLong);
  });

  it('is given up where the searches on other nodes have used up what there was', () => {
    const budget = { ...attemptBudget(), looks: 15 };
    const situation = { slices: [two], claims: [claim({ requests: [exactly('r')] })], budget };
    for (let nodes = 0; nodes < 2; nodes++) assert.ok(found(situation).solutions);
    assert.throws(() => found(situation), SearchTooLong);
  });

  it('is given up where its expressions cost too much', () => {
    const many = Array.from({ length: 100 }, (_, index) => `d${index}`);
    const dear = Array.from(
      { length: 300 },
      () => '[1, 2, 3, 4, 5, 6, 7, 8].all(x, [1, 2, 3].all(y, x + y < 99))',
    ).join(' && ');
    const asked = claim({ requests: [exactly('r', { selectors: expression(`${dear} && false`) })] });
    assert.throws(() => found({ slices: [slice('s', { devices: devices(...many) })], claims: [asked] }), SearchTooLong);
  });

  it('finds something exactly where there are enough, and never gives a device twice', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 }), counts, (size, asked) => {
        const slices = [slice('s', { devices: devices(...Array.from({ length: size }, (_, index) => `d${index}`)) })];
        const claims = asked.map((count, index) => claim({ requests: [exactly('r', { count })] }, `c${index}`));
        const outcome = found({ slices, claims });
        const wanted = asked.reduce((sum, count) => sum + count, 0);
        assert.equal(outcome.solutions !== undefined, wanted <= size);
        const given = (outcome.solutions ?? []).flatMap((solution) =>
          solution.devices.map(({ device }) => device.name),
        );
        assert.equal(new Set(given).size, given.length);
        if (outcome.solutions) assert.equal(given.length, wanted);
      }),
    );
  });
});

describe('what is written of an allocation', () => {
  it('names the node where a device is of one node alone', () => {
    const outcome = found({ slices: [two], claims: [claim({ requests: [exactly('r')] })] });
    const { nodeSelector } = allocationResult(outcome.solutions![0]!, node, seededRandom(1));
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }];
    assert.deepEqual(nodeSelector, { nodeSelectorTerms: [{ matchFields }] });
  });

  it('selects the nodes of all devices once, and none where they are everywhere', () => {
    const region = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'region', operator: 'In' as const, values: ['west'] }] }],
    };
    const asked = [claim({ requests: [exactly('r', { count: 2 })] })];
    const selected = found({
      slices: [slice('s', { nodeSelector: region, devices: devices('a', 'b') })],
      claims: asked,
    });
    assert.deepEqual(allocationResult(selected.solutions![0]!, node, seededRandom(1)).nodeSelector, region);
    const anywhere = found({ slices: [slice('s', { allNodes: true, devices: devices('a', 'b') })], claims: asked });
    assert.equal(allocationResult(anywhere.solutions![0]!, node, seededRandom(1)).nodeSelector, undefined);
  });

  it('holds the configuration of the class and of what was chosen, and the part of a device that is shared', () => {
    const opaque = (value: string) => ({ opaque: { driver, parameters: { value } } });
    const configured: DeviceClass = { metadata: { name: 'configured' }, spec: { config: [opaque('class')] } };
    const asked = claim({
      requests: [
        { name: 'r', firstAvailable: [{ name: 'x', deviceClassName: 'configured' }] },
        exactly('s', { deviceClassName: 'configured', capacity: { requests: { bandwidth: '1G' } } }),
      ],
      config: [{ ...opaque('all') }, { requests: ['r/x'], ...opaque('x') }, { requests: ['r/y'], ...opaque('y') }],
    });
    const outcome = searchDevices([asked], {
      node,
      pools: new SliceIndex([slice('s', { devices: [{ name: 'a' }, ...(shared.spec.devices ?? [])] })]).poolsFor(node),
      inUse: { has: () => false, consumed: () => undefined },
      budget: attemptBudget(),
      classOf: () => configured,
      matcherOf: deviceMatcher,
    });
    const result = allocationResult(outcome.solutions![0]!, node, seededRandom(1));
    assert.deepEqual(result.devices?.config, [
      { source: 'FromClass', requests: ['r/x', 's'], ...opaque('class') },
      { source: 'FromClaim', ...opaque('all') },
      { source: 'FromClaim', requests: ['r/x'], ...opaque('x') },
    ]);
    const [, part] = result.devices?.results ?? [];
    assert.deepEqual(part?.consumedCapacity, { bandwidth: '1G' });
    assert.match(part?.shareID ?? '', /^[0-9a-f-]{36}$/);
  });
});

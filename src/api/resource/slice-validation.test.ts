import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, updateErrorsOf } from '../given.fixture.ts';
import { resourceSliceBehaviour } from './v1/resource-slice.ts';

const spec = { driver: 'gpu.example', pool: { name: 'a', resourceSliceCount: 1 }, nodeName: 'n1' };
const slice = (more: object = {}) => ({ spec: { ...spec, ...more } });
const holding = (...devices: object[]) => slice({ devices: devices.map((device) => ({ name: 'd', ...device })) });
const policy = (requestPolicy: object) =>
  holding({ allowMultipleAllocations: true, capacity: { memory: { value: '10Gi', requestPolicy } } });
const at = 'spec.devices[0]';
const policyAt = `${at}.capacity[memory].requestPolicy`;
const oneOfNodes = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
const oneOfNodesEach =
  'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

interface Case {
  readonly what: string;
  readonly slice: object;
  readonly errors: readonly string[];
}

function judge(cases: readonly Case[]): void {
  for (const { what, slice: written, errors } of cases) {
    it(what, () => assert.deepEqual(errorsOf(resourceSliceBehaviour, written), errors));
  }
}

describe('a ResourceSlice', () => {
  judge([
    { what: 'may be as upstream would have it', slice: slice(), errors: [] },
    {
      what: 'has a driver, a pool and nodes',
      slice: { spec: { pool: { generation: -1 } } },
      errors: [
        'spec.driver: Required value',
        'spec.pool.name: Required value',
        'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
        'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
        `spec: Required value: ${oneOfNodes}`,
      ],
    },
    {
      what: 'has nodes in one way only',
      slice: slice({ allNodes: true, perDeviceNodeSelection: true }),
      errors: [
        `spec: Invalid value: "{\`nodeName\`, \`allNodes\`, \`perDeviceNodeSelection\`}": ${oneOfNodes}, but multiple fields are set`,
      ],
    },
    {
      what: 'does not say that it is nowhere',
      slice: slice({ nodeName: '', allNodes: false, perDeviceNodeSelection: false }),
      errors: [
        'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
        'spec.allNodes: Invalid value: false: must be either unset or set to true',
        'spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true',
        `spec: Required value: ${oneOfNodes}`,
      ],
    },
    {
      what: 'selects nodes by one term',
      slice: {
        spec: {
          ...spec,
          nodeName: undefined,
          nodeSelector: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
            ],
          },
        },
      },
      errors: [
        'spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null},{"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name","Operator":"In","Values":["n"]}]}]: must have exactly one node selector term',
      ],
    },
    {
      what: 'has so many devices',
      slice: holding(...Array.from({ length: 129 }, () => ({}))),
      errors: ['spec.devices: Too many: 129: must have at most 128 items'],
    },
    {
      what: 'has fewer devices where one has taints',
      slice: holding(...Array.from({ length: 65 }, () => ({ taints: [{ key: 'a', effect: 'None' }] }))),
      errors: ['spec.devices: Too many: 65: must have at most 64 items'],
    },
    {
      what: 'names no device twice',
      slice: holding({}, {}),
      errors: ['spec.devices[1]: Duplicate value: "d"'],
    },
    {
      what: 'has counters or devices',
      slice: slice({ devices: [{ name: 'd' }], sharedCounters: [{ name: 'c' }, { counters: { A: { value: '1' } } }] }),
      errors: [
        'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
        'spec.sharedCounters[0].counters: Required value',
        'spec.sharedCounters[1].name: Required value',
        `spec.sharedCounters[1].counters: Invalid value: "A": ${label}`,
      ],
    },
  ]);

  it('keeps its driver, its pool and its node', () => {
    const next = { driver: 'b.example', pool: { name: 'b', resourceSliceCount: 1 }, nodeName: 'n2' };
    assert.deepEqual(updateErrorsOf(resourceSliceBehaviour, slice(), slice(next)), [
      'spec.pool.name: Invalid value: "b": field is immutable',
      'spec.driver: Invalid value: "b.example": field is immutable',
      'spec.nodeName: Invalid value: "n2": field is immutable',
    ]);
  });

  it('may keep taints that would be refused today', () => {
    const tainted = holding({ taints: [{ key: 'a', effect: 'Later', timeAdded: '2026-01-01T00:00:00Z' }] });
    assert.equal(errorsOf(resourceSliceBehaviour, tainted).length, 1);
    assert.deepEqual(updateErrorsOf(resourceSliceBehaviour, tainted, tainted), []);
  });
});

describe('a device', () => {
  const versionMessage = 'must be a string compatible with semver.org spec 2.0.0';
  judge([
    {
      what: 'has attributes of one value each',
      slice: holding({
        attributes: { a: { string: 'x' }, 'b.example/b': { ints: [1] }, c: { int: 0 }, d: { bool: false } },
      }),
      errors: [],
    },
    {
      what: 'has no attribute of none or of several values',
      slice: holding({ attributes: { a: {}, b: { int: 1, bool: true }, c: { bools: [] } } }),
      errors: [
        `${at}.attributes[a]: Invalid value: "": exactly one value must be specified`,
        `${at}.attributes[b]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified`,
        `${at}.attributes[c]: Invalid value: "": exactly one value must be specified`,
      ],
    },
    {
      what: 'has short texts and versions that are some',
      slice: holding({
        attributes: { a: { string: 'x'.repeat(65) }, b: { version: '1.0' }, c: { versions: ['1.0.0', 'v1'] } },
      }),
      errors: [
        `${at}.attributes[a].string: Too long: may not be more than 64 bytes`,
        `${at}.attributes[b].version: Invalid value: "1.0": ${versionMessage}`,
        `${at}.attributes[c].versions[1]: Invalid value: "v1": ${versionMessage}`,
      ],
    },
    {
      what: 'has names with a domain or without',
      slice: holding({ attributes: { '/a': { int: 1 }, 'b.example/': { int: 1 } } }),
      errors: [
        `${at}.attributes: Invalid value: "": the domain must not be empty`,
        `${at}.attributes: Invalid value: "": the name must not be empty`,
      ],
    },
    {
      what: 'shows the ends of a name that is too long',
      slice: holding({ attributes: { [`a${'b'.repeat(98)}c`]: {} } }),
      errors: [
        `${at}.attributes: Too long: may not be more than 32 bytes`,
        `${at}.attributes[a${'b'.repeat(46)}...${'b'.repeat(45)}c]: Invalid value: "": exactly one value must be specified`,
      ],
    },
    {
      what: 'has so many names and values',
      slice: holding({
        attributes: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, { ints: [1, 2] }])),
      }),
      errors: [
        `${at}: Invalid value: 33: the total number of attributes and capacities must not exceed 32`,
        `${at}: Invalid value: 66: the total number of attribute values must not exceed 48`,
      ],
    },
    {
      what: 'has taints with an effect',
      slice: holding({ taints: [{ key: '' }, { key: 'a', value: '-', effect: 'Never' }] }),
      errors: [
        `${at}.taints[0].key: Invalid value: "": name part must be non-empty`,
        `${at}.taints[0].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
        `${at}.taints[0].effect: Required value`,
        `${at}.taints[1].value: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
        `${at}.taints[1].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"`,
      ],
    },
    {
      what: 'consumes counters of sets',
      slice: holding({ consumesCounters: [{}, { counterSet: 'a', counters: { c: { value: '1' } } }] }),
      errors: [
        `${at}.consumesCounters[0].counterSet: Required value`,
        `${at}.consumesCounters[0].counters: Required value`,
      ],
    },
    {
      what: 'is where the slice is',
      slice: holding({ allNodes: true }),
      errors: [
        `${at}: Invalid value: null: \`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if \`perDeviceNodeSelection\` is set to true in the ResourceSlice spec`,
      ],
    },
    {
      what: 'is where it says, if all say so',
      slice: {
        spec: {
          ...spec,
          nodeName: undefined,
          perDeviceNodeSelection: true,
          devices: [{ name: 'a' }, { name: 'b', nodeName: 'n', allNodes: true }, { name: 'c', nodeName: '' }],
        },
      },
      errors: [
        `${at}: Required value: ${oneOfNodesEach}`,
        `spec.devices[1]: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${oneOfNodesEach}`,
        'spec.devices[2].nodeName: Invalid value: "": must not be empty',
        `spec.devices[2]: Required value: ${oneOfNodesEach}`,
      ],
    },
    {
      what: 'waits for conditions and gives up on others',
      slice: holding(
        { bindingConditions: ['a', 'a'] },
        { name: 'e', bindingConditions: ['b'], bindingFailureConditions: ['b'] },
      ),
      errors: [
        `${at}.bindingConditions[1]: Duplicate value: "a"`,
        `${at}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
        'spec.devices[1].bindingFailureConditions[0]: Invalid value: "b": bindingFailureConditions must not overlap with bindingConditions',
      ],
    },
    {
      what: 'stands for resources of its node',
      slice: holding({
        nodeAllocatableResourceMappings: { 'x.example/y': {}, cpu: { capacityKey: 'c', allocationMultiplier: '0' } },
      }),
      errors: [
        `${at}.nodeAllocatableResourceMappings[cpu].allocationMultiplier: Invalid value: "0": must be positive`,
        `${at}.nodeAllocatableResourceMappings[cpu].capacityKey: Not found: "c"`,
        `${at}.nodeAllocatableResourceMappings[x.example/y]: Invalid value: "x.example/y": must be a node allocatable resource name`,
      ],
    },
  ]);
});

describe('a capacity that claims share', () => {
  judge([
    {
      what: 'is of a device that many may use',
      slice: holding({ capacity: { memory: { value: '1Gi', requestPolicy: {} } } }),
      errors: [`${policyAt}: Forbidden: allowMultipleAllocations must be true`],
    },
    {
      what: 'is given in amounts or in a range',
      slice: policy({ default: '1Gi', validValues: ['1Gi'], validRange: { min: '1Gi' } }),
      errors: [
        `${policyAt}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`,
      ],
    },
    {
      what: 'has a default among its amounts',
      slice: policy({ default: '3Gi', validValues: ['2Gi', '1Gi', '1Gi', '11Gi'] }),
      errors: [
        `${policyAt}.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order`,
        `${policyAt}.validValues[3]: Invalid value: "11Gi": option is larger than capacity value: 10Gi`,
        `${policyAt}.validValues[2]: Duplicate value: "1073741824"`,
        `${policyAt}.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy`,
      ],
    },
    {
      what: 'has a default',
      slice: policy({ validRange: { min: '1Gi' } }),
      errors: [`${policyAt}.default: Required value: required when validRange is defined`],
    },
    {
      what: 'has a range that is one',
      slice: policy({ default: '1Gi', validRange: { min: '3Gi', max: '2Gi', step: '8Gi' } }),
      errors: [
        `${policyAt}.validRange.min: Invalid value: "1Gi": default is less than min: 3Gi`,
        `${policyAt}.validRange.max: Invalid value: "3Gi": min is larger than max: 2Gi`,
        `${policyAt}.validRange.step: Invalid value: "8Gi": one step 11Gi is larger than capacity value: 10Gi`,
        `${policyAt}.validRange.step: Invalid value: "1Gi": value is not a multiple of a given step (8Gi) from (3Gi)`,
        `${policyAt}.validRange.step: Invalid value: "2Gi": value is not a multiple of a given step (8Gi) from (3Gi)`,
      ],
    },
    {
      what: 'is not walked in steps of nothing',
      slice: policy({ default: '2Gi', validRange: { min: '1Gi', step: '0' } }),
      errors: [
        `${policyAt}.validRange.step: Invalid value: "2Gi": value is not a multiple of a given step (0) from (1Gi)`,
      ],
    },
  ]);
});

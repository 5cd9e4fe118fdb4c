import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, updateErrorsOf } from '../given.fixture.ts';
import { deviceClassBehaviour } from './v1/device-class.ts';
import { resourceClaimBehaviour } from './v1/resource-claim.ts';
import { resourceClaimTemplateBehaviour } from './v1/resource-claim-template.ts';

const request = (more: object = {}) => ({ name: 'gpu', exactly: { deviceClassName: 'gpu.example', ...more } });
const claim = (...requests: object[]) => ({ spec: { devices: { requests } } });
const at = 'spec.devices.requests[0]';

describe('what a claim asks', () => {
  const cases: readonly { what: string; claim: object; errors: readonly string[] }[] = [
    { what: 'one device', claim: claim(request()), errors: [] },
    {
      what: 'a request of neither form',
      claim: claim({ name: 'gpu' }),
      errors: [`${at}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`],
    },
    {
      what: 'a request of both forms',
      claim: claim({ ...request(), firstAvailable: [{ name: 'a', deviceClassName: 'c' }] }),
      errors: [
        `${at}: Invalid value: null: exactly one of \`exactly\` or \`firstAvailable\` is required, but multiple fields are set`,
      ],
    },
    {
      what: 'a name twice',
      claim: claim(request(), request()),
      errors: ['spec.devices.requests[1]: Duplicate value: "gpu"'],
    },
    {
      what: 'a number of all devices',
      claim: claim(request({ allocationMode: 'All', count: 2 })),
      errors: [`${at}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`],
    },
    {
      what: 'less than none, in a mode of its own',
      claim: claim(request({ count: -1 }), { ...request({ allocationMode: 'Some' }), name: 'nic' }),
      errors: [
        `${at}.exactly.count: Invalid value: -1: must be greater than zero`,
        'spec.devices.requests[1].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
      ],
    },
    {
      what: 'selectors without or with too long an expression',
      claim: claim(request({ selectors: [{}, { cel: { expression: 'x'.repeat(10_241) } }] })),
      errors: [
        `${at}.exactly.selectors[0].cel: Required value`,
        `${at}.exactly.selectors[1].cel.expression: Too long: may not be more than 10240 bytes`,
      ],
    },
    {
      what: 'tolerations that contradict themselves',
      claim: claim(request({ tolerations: [{ operator: 'Exists', value: 'a', effect: 'Never' }] })),
      errors: [
        `${at}.exactly.tolerations[0].value: Invalid value: "a": must be empty for operator \`Exists\``,
        `${at}.exactly.tolerations[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"`,
      ],
    },
    {
      what: 'more requests than may be',
      claim: claim(...Array.from({ length: 33 }, (_, index) => ({ ...request(), name: `r${index}` }))),
      errors: ['spec.devices.requests: Too many: 33: must have at most 32 items'],
    },
    {
      what: 'constraints and parameters of requests that are not there',
      claim: {
        spec: {
          devices: {
            requests: [request()],
            constraints: [{ requests: ['nic'], matchAttribute: 'numa' }, {}],
            config: [{ opaque: { driver: 'gpu.example', parameters: [1] } }, {}],
          },
        },
      },
      errors: [
        `spec.devices.constraints[0].requests[0]: Invalid value: "nic": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
        'spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a name separated by a slash',
        'spec.devices.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
        'spec.devices.config[1].opaque: Required value',
      ],
    },
  ];
  for (const { what, claim: written, errors } of cases) {
    it(what, () => assert.deepEqual(errorsOf(resourceClaimBehaviour, written), errors));
  }

  it('is judged alike in a template', () => {
    const spec = { ...claim(request({ count: -1 })), metadata: { name: 'a', labels: { a: 'b' } } };
    assert.deepEqual(errorsOf(resourceClaimTemplateBehaviour, { spec }), [
      'spec.metadata.name: Forbidden: cannot be set',
      'spec.spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero',
    ]);
  });

  it('never changes', () => {
    const errors = updateErrorsOf(resourceClaimBehaviour, claim(request()), claim(request({ count: -2 })));
    assert.equal(errors.length, 1);
    assert.match(errors[0]!, /^spec: Invalid value: .*: field is immutable$/s);
  });
});

describe('a class of devices', () => {
  it('selects and configures as claims do, and may stand for an extended resource', () => {
    const spec = { selectors: [{}], config: [{}], extendedResourceName: 'cpu' };
    assert.deepEqual(errorsOf(deviceClassBehaviour, { spec }), [
      'spec.selectors[0].cel: Required value',
      'spec.config[0].opaque: Required value',
      'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ]);
  });
});

describe('the status of a claim', () => {
  const asked = claim(request());
  const consumer = (uid: string) => ({ resource: 'pods', name: 'web', uid });
  const allocation = (device: string) => ({
    devices: { results: [{ request: 'gpu', driver: 'd.example', pool: 'p', device }] },
  });
  const errors = (previous: object, status: object, metadata = {}) =>
    updateErrorsOf(resourceClaimBehaviour, { ...asked, status: previous }, { ...asked, metadata, status }, 'status');

  it('reserves only what was given', () => {
    assert.deepEqual(errors({}, { reservedFor: [consumer('1')] }), [
      'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
    ]);
    assert.deepEqual(errors({}, { reservedFor: [consumer('1'), consumer('1')], allocation: allocation('a') }), [
      'status.reservedFor[1]: Duplicate value: "1"',
    ]);
  });

  it('takes no new consumer once it is being deleted', () => {
    const given = { allocation: allocation('a') };
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const after = { ...given, reservedFor: [consumer('1')] };
    assert.deepEqual(errors(given, after, { deletionTimestamp }), [
      'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    ]);
    assert.deepEqual(errors(after, after, { deletionTimestamp }), []);
  });

  it('does not exchange what was given', () => {
    const [error = ''] = errors({ allocation: allocation('a') }, { allocation: allocation('b') });
    assert.match(error, /^status\.allocation: Invalid value: .*: field is immutable$/s);
    assert.deepEqual(errors({ allocation: allocation('a') }, {}), []);
  });

  it('is given only what it asked for, named as drivers name things', () => {
    const result = {
      request: 'nic',
      driver: 'd.example',
      pool: 'p//q',
      device: 'A',
      shareID: 'X',
      bindingConditions: ['a'],
    };
    const config = [
      { source: 'FromNowhere', requests: ['gpu', 'gpu'], opaque: { driver: 'd.example', parameters: {} } },
    ];
    const here = 'status.allocation.devices';
    const found = errors({}, { allocation: { devices: { results: [result], config } } });
    assert.deepEqual(
      found.map((error) => error.replace(/ \(e\.g\..*|: a lowercase RFC.*/, '')),
      [
        `${here}.results[0].request: Invalid value: "nic": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
        `${here}.results[0].pool: Invalid value: ""`,
        `${here}.results[0].device: Invalid value: "A"`,
        `${here}.results[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions`,
        `${here}.results[0].shareID: Invalid value: "X": error validating uid: invalid UUID length: 1`,
        `${here}.config[0].source: Unsupported value: "FromNowhere": supported values: "FromClaim", "FromClass"`,
        `${here}.config[0].requests[1]: Duplicate value: "gpu"`,
      ],
    );
    const share = (shareID: string) => ({
      ...result,
      request: 'gpu',
      driver: 'd.example',
      pool: 'p',
      device: 'a',
      shareID,
    });
    const uid = '01234567-89AB-cdef-0123-456789abcdef';
    const shared = { results: [{ ...share(uid), bindingConditions: [] }] };
    assert.deepEqual(errors({}, { allocation: { devices: shared } }), [
      `${here}.results[0].shareID: Invalid value: "${uid}": uid must be in RFC 4122 normalized form, \`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\` with lowercase hexadecimal characters`,
    ]);
  });

  it('tells of the devices that the claim has', () => {
    const device = { driver: 'd.example', pool: 'p', device: 'a' };
    const networkData = {
      interfaceName: 'x'.repeat(257),
      ips: ['10.1.2.3/24', '10.1.2.3/24', '10.1.2.3', 'fd00:0::1/64'],
    };
    const told = [
      { ...device, data: [], networkData },
      { ...device, device: 'b' },
    ];
    assert.deepEqual(errors({}, { allocation: allocation('a'), devices: told }), [
      'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object',
      'status.devices[0].networkData.interfaceName: Too long: may not be more than 256 bytes',
      'status.devices[0].networkData.ips[2]: Invalid value: "10.1.2.3": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
      'status.devices[0].networkData.ips[3]: Invalid value: "fd00:0::1/64": must be in canonical form ("fd00::1/64")',
      'status.devices[0].networkData.ips[1]: Duplicate value: "10.1.2.3/24"',
      'status.devices[1]: Invalid value: "d.example/p/b": must be an allocated device in the claim',
    ]);
  });
});

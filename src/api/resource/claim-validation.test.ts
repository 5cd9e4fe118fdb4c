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
    assert.deepEqual(errorsOf(resourceClaimTemplateBehaviour, { spec: claim(request({ count: -1 })) }), [
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
  const consumer = (uid: string) => ({ resource: 'pods', name: 'web', uid });
  const allocation = (device: string) => ({
    devices: { results: [{ request: 'gpu', driver: 'd.example', pool: 'p', device }] },
  });
  const errors = (previous: object, status: object, metadata = {}) =>
    updateErrorsOf(resourceClaimBehaviour, { status: previous }, { metadata, status }, 'status');

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
});

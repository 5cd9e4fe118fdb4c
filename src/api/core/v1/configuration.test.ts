import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, given, merged, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { configMapBehaviour } from './config-map.ts';
import { eventBehaviour } from './event.ts';
import { limitRangeBehaviour } from './limit-range.ts';
import { namespaceBehaviour } from './namespace.ts';
import { resourceQuotaBehaviour } from './resource-quota.ts';
import { secretBehaviour } from './secret.ts';
import { serviceAccountBehaviour } from './service-account.ts';

const born = { name: 'a', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' };

describe('a ConfigMap', () => {
  const data = { 'app.conf': 'x', key: 'y' };

  it('counts its entries in its row', () => {
    const row = rowOf(configMapBehaviour, { metadata: born, data, binaryData: { blob: 'YQ==' } });
    assert.deepEqual(row, { Name: 'a', Data: 3, Age: '60s' });
  });

  it('has each key once, and keys that can be file names', () => {
    assert.deepEqual(errorsOf(configMapBehaviour, { data: { a: 'x', '..': 'y' }, binaryData: { a: 'YQ==' } }), [
      'data[..]: Invalid value: "..": must not be \'..\'',
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ]);
  });

  it('is no larger than a mebibyte', () => {
    const [error = ''] = errorsOf(configMapBehaviour, { data: { a: 'x'.repeat(1024 * 1024 + 1) } });
    assert.equal(error, '[]: Too long: may not be more than 1048576 bytes');
  });

  it('never changes once it is immutable', () => {
    const stored = { data, immutable: true };
    assert.deepEqual(updateErrorsOf(configMapBehaviour, stored, { data: { b: 'c' } }), [
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
    assert.deepEqual(updateErrorsOf(configMapBehaviour, { data }, { data: { b: 'c' } }), []);
  });
});

describe('a Secret', () => {
  it('takes what is written in plain text, and hides the text', () => {
    const secret = given(secretBehaviour, { data: { a: 'YQ==' }, stringData: { b: 'x' } });
    assert.deepEqual(secret.data, { a: 'YQ==', b: 'eA==' });
    assert.equal(secret.stringData, undefined);
    assert.equal(secret.type, 'Opaque');
  });

  const types: readonly (readonly [title: string, secret: object, errors: readonly string[]])[] = [
    [
      'a TLS key pair has both halves',
      { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } },
      ['data[tls.key]: Required value'],
    ],
    [
      'a token names its account',
      { type: 'kubernetes.io/service-account-token' },
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [
      'basic credentials have a part',
      { type: 'kubernetes.io/basic-auth' },
      ['data[username]: Required value', 'data[password]: Required value'],
    ],
    ['an SSH key is there', { type: 'kubernetes.io/ssh-auth' }, ['data[ssh-privatekey]: Required value']],
    [
      'a key can be a file name',
      { data: { 'a/b': '' } },
      [
        `data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
      ],
    ],
  ];
  for (const [title, secret, errors] of types) {
    it(title, () => assert.deepEqual(errorsOf(secretBehaviour, secret), errors));
  }

  it('keeps its type', () => {
    assert.deepEqual(updateErrorsOf(secretBehaviour, {}, { type: 'example.com/x' }), [
      'type: Invalid value: "example.com/x": field is immutable',
    ]);
  });

  it('shows its type and size', () => {
    assert.deepEqual(rowOf(secretBehaviour, { metadata: born, data: { a: 'YQ==' } }), {
      Name: 'a',
      Type: 'Opaque',
      Data: 1,
      Age: '60s',
    });
  });
});

describe('a ServiceAccount', () => {
  it('shows its name and age', () => {
    const row = rowOf(serviceAccountBehaviour, { metadata: born, secrets: [{ name: 'x' }] });
    assert.deepEqual(row, { Name: 'a', Age: '60s' });
  });
});

describe('a Namespace', () => {
  it('is labelled with its name', () => {
    const namespace = given(namespaceBehaviour, { metadata: { name: 'blue' } });
    assert.deepEqual(namespace.metadata.labels, { 'kubernetes.io/metadata.name': 'blue' });
  });

  it('shows its phase', () => {
    assert.equal(rowOf(namespaceBehaviour, { metadata: born, status: { phase: 'Active' } }).Status, 'Active');
  });

  it('has a name that is a label', () => {
    assert.ok(namespaceBehaviour.validateName!('a.b', false).length > 0);
    assert.deepEqual(namespaceBehaviour.validateName!('a-b', false), []);
  });
});

describe('a ResourceQuota', () => {
  const quota = { metadata: born, spec: { hard: { pods: '4', 'requests.cpu': '2' } } };

  it('shows what is used of what there is', () => {
    const status = { hard: { pods: '4', 'requests.cpu': '2' }, used: { pods: '1', 'requests.cpu': '500m' } };
    const row = rowOf(resourceQuotaBehaviour, { ...quota, status });
    assert.equal(row.Request, 'pods: 1/4, requests.cpu: 500m/2');
    assert.equal(row.Limit, '');
  });

  it('bounds what exists, by amounts that are not negative', () => {
    assert.deepEqual(
      errorsOf(resourceQuotaBehaviour, merged(quota, { spec: { hard: { pods: '-1', bananas: '2' } } })),
      [
        'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified',
        'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota',
        'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    );
  });

  it('keeps its scopes', () => {
    const next = merged(quota, { spec: { scopes: ['Terminating'] } });
    assert.deepEqual(updateErrorsOf(resourceQuotaBehaviour, quota, next), [
      'spec.scopes: Invalid value: ["Terminating"]: field is immutable',
    ]);
  });
});

describe('a LimitRange', () => {
  it('gives containers the maximum when it says no default', () => {
    const range = given(limitRangeBehaviour, { spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } });
    assert.deepEqual(range.spec?.limits[0], {
      type: 'Container',
      max: { cpu: '2' },
      default: { cpu: '2' },
      defaultRequest: { cpu: '2' },
    });
  });

  it('has a minimum below its maximum', () => {
    const limits = [{ type: 'Container', min: { cpu: '3' }, max: { cpu: '2' } }];
    const [error = ''] = errorsOf(limitRangeBehaviour, { spec: { limits } });
    assert.equal(error, 'spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2');
  });
});

describe('an Event', () => {
  const event = {
    metadata: { ...born, name: 'a.1' },
    involvedObject: { kind: 'Pod', name: 'web', namespace: 'default' },
    type: 'Normal',
    reason: 'Started',
    message: 'Started container\n',
    source: { component: 'kubelet', host: 'n1' },
    firstTimestamp: '2025-12-31T23:50:00Z',
    lastTimestamp: '2025-12-31T23:58:00Z',
    count: 3,
  };

  it('is kept for an hour', () => assert.equal(eventBehaviour.ttlSeconds, 3600));

  it('shows what happened to what', () => {
    assert.deepEqual(rowOf(eventBehaviour, event), {
      'Last Seen': '2m',
      Type: 'Normal',
      Reason: 'Started',
      Object: 'pod/web',
      Subobject: '',
      Source: 'kubelet, n1',
      Message: 'Started container',
      'First Seen': '10m',
      Count: 3,
      Name: 'a.1',
    });
  });

  it('lies in the namespace of what it is about', () => {
    const other = merged(event, { metadata: { namespace: 'blue' } });
    assert.deepEqual(errorsOf(eventBehaviour, other), [
      'involvedObject.namespace: Invalid value: "default": does not match event.namespace',
    ]);
    assert.deepEqual(errorsOf(eventBehaviour, event), []);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointSliceBehaviour } from '../../discovery/v1/endpoint-slice.ts';
import { assertErrors, type BadInput, errorsOf, given, merged, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { ingressBehaviour } from './ingress.ts';
import { ingressClassBehaviour } from './ingress-class.ts';
import { ipAddressBehaviour } from './ip-address.ts';
import { networkPolicyBehaviour } from './network-policy.ts';
import { serviceCidrBehaviour } from './service-cidr.ts';

const born = { name: 'a', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' };

describe('an Ingress', () => {
  const path = { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } };
  const ingress = { metadata: born, spec: { rules: [{ host: 'a.example.com', http: { paths: [path] } }] } };
  const withPath = (changes: object) => ({
    spec: { rules: [{ host: 'a.example.com', http: { paths: [merged(path, changes)] } }] },
  });
  const cases: readonly BadInput[] = [
    {
      title: 'leads nowhere',
      changes: { spec: { rules: [] } },
      errors: ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
    },
    {
      title: 'has a path that is relative and of no type',
      changes: withPath({ path: 'x', pathType: '' }),
      errors: ['spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified'],
    },
    {
      title: 'has a path that climbs',
      changes: withPath({ path: '/a/../b' }),
      errors: ['spec.rules[0].http.paths[0].path: Invalid value: "/a/../b": must not contain \'/../\''],
    },
    {
      title: 'leads to a port by number and name',
      changes: withPath({ backend: { service: { port: { name: 'http' } } } }),
      errors: ['spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number'],
    },
    {
      title: 'has an address for a host',
      changes: { spec: { rules: [{ host: '10.0.0.1' }] } },
      errors: ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(ingressBehaviour, ingress), []));
  for (const bad of cases) it(bad.title, () => assertErrors(ingressBehaviour, ingress, bad));

  it('shows its hosts, its address, and whether it speaks TLS', () => {
    const changes = {
      spec: { ingressClassName: 'nginx', tls: [{ hosts: ['a.example.com'] }] },
      status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
    };
    assert.deepEqual(rowOf(ingressBehaviour, merged(ingress, changes)), {
      Name: 'a',
      Class: 'nginx',
      Hosts: 'a.example.com',
      Address: '1.2.3.4',
      Ports: '80, 443',
      Age: '60s',
    });
    assert.equal(rowOf(ingressBehaviour, { metadata: born }).Hosts, '*');
  });
});

describe('an IngressClass', () => {
  it('keeps its controller', () => {
    const stored = { spec: { controller: 'example.com/a' } };
    assert.deepEqual(updateErrorsOf(ingressClassBehaviour, stored, { spec: { controller: 'example.com/b' } }), [
      'spec.controller: Invalid value: "example.com/b": field is immutable',
    ]);
  });
});

describe('a NetworkPolicy', () => {
  it('restricts what comes in, and what goes out when it has rules for it', () => {
    assert.deepEqual(given(networkPolicyBehaviour, { spec: { podSelector: {} } }).spec?.policyTypes, ['Ingress']);
    const both = given(networkPolicyBehaviour, { spec: { podSelector: {}, egress: [{}] } });
    assert.deepEqual(both.spec?.policyTypes, ['Ingress', 'Egress']);
  });

  it('speaks TCP unless it says otherwise', () => {
    const policy = given(networkPolicyBehaviour, { spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] } });
    assert.deepEqual(policy.spec?.ingress?.[0]?.ports, [{ protocol: 'TCP', port: 80 }]);
  });

  it('names blocks within blocks, and ranges that grow', () => {
    const rule = {
      from: [{ ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.1.0/24'] } }],
      ports: [{ port: 90, endPort: 80 }],
    };
    assert.deepEqual(errorsOf(networkPolicyBehaviour, { spec: { podSelector: {}, ingress: [rule] } }), [
      'spec.ingress[0].ports[0].endPort: Invalid value: 90: must be greater than or equal to `port`',
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.1.0/24": must be a strict subset of `cidr`',
    ]);
  });
});

describe('addresses of Services', () => {
  it('are named as they are written', () => {
    assert.deepEqual(ipAddressBehaviour.validateName!('10.0.0.1', false), []);
    assert.ok(ipAddressBehaviour.validateName!('10.0.0.01', false).length > 0);
  });

  it('come from one range a family', () => {
    assert.deepEqual(errorsOf(serviceCidrBehaviour, { spec: { cidrs: ['10.0.0.0/16', 'fd00::/108'] } }), []);
    const [error = ''] = errorsOf(serviceCidrBehaviour, { spec: { cidrs: ['10.0.0.0/16', '10.1.0.0/16'] } });
    assert.match(error, /^spec.cidrs/);
  });
});

describe('an EndpointSlice', () => {
  const slice = {
    metadata: born,
    addressType: 'IPv4',
    ports: [{ port: 80 }],
    endpoints: [{ addresses: ['10.1.0.1'] }],
  };

  it('has a port that is TCP and has no name', () => {
    assert.deepEqual(given(endpointSliceBehaviour, slice).ports, [{ name: '', protocol: 'TCP', port: 80 }]);
  });

  it('has addresses of its type', () => {
    assert.deepEqual(errorsOf(endpointSliceBehaviour, slice), []);
    const [error = ''] = errorsOf(endpointSliceBehaviour, { ...slice, endpoints: [{ addresses: ['fd00::1'] }] });
    assert.match(error, /^endpoints\[0\].addresses: Invalid value: "fd00::1": must be an IPv4 address/);
  });

  it('keeps its type', () => {
    const next = { ...slice, addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] };
    assert.deepEqual(updateErrorsOf(endpointSliceBehaviour, slice, next), [
      'addressType: Invalid value: "IPv6": field is immutable',
    ]);
  });

  it('shows its ports and endpoints', () => {
    assert.deepEqual(rowOf(endpointSliceBehaviour, slice), {
      Name: 'a',
      AddressType: 'IPv4',
      Ports: '80',
      Endpoints: '10.1.0.1',
      Age: '60s',
    });
  });
});

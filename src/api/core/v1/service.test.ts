import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertErrors, type BadInput, errorsOf, given, merged, rowOf, updateErrorsOf } from '../../given.fixture.ts';
import { endpointsBehaviour } from './endpoints.ts';
import { serviceBehaviour } from './service.ts';

const web = {
  metadata: { name: 'web', namespace: 'default', creationTimestamp: '2025-12-31T23:59:00Z' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }], clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] },
};

describe('defaults of a Service', () => {
  it('send traffic to the port of the same number, from within the cluster', () => {
    assert.deepEqual(given(serviceBehaviour, web).spec, {
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
      clusterIP: '10.0.0.7',
      clusterIPs: ['10.0.0.7'],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
    });
  });

  it('of one for the outside let all nodes take part', () => {
    const { spec } = given(serviceBehaviour, merged(web, { spec: { type: 'LoadBalancer' } }));
    assert.equal(spec?.externalTrafficPolicy, 'Cluster');
    assert.equal(spec?.allocateLoadBalancerNodePorts, true);
  });

  it('of one with affinity remember a client for three hours', () => {
    const { spec } = given(serviceBehaviour, merged(web, { spec: { sessionAffinity: 'ClientIP' } }));
    assert.deepEqual(spec?.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10800 } });
  });
});

describe('a bad Service', () => {
  const cases: readonly BadInput[] = [
    {
      title: 'has no ports',
      changes: { spec: { ports: [] } },
      errors: ['spec.ports: Required value'],
    },
    {
      title: 'has two ports without names',
      changes: { spec: { ports: [{ port: 80 }, { port: 81 }] } },
      errors: ['spec.ports[0].name: Required value', 'spec.ports[1].name: Required value'],
    },
    {
      title: 'has a port twice',
      changes: {
        spec: {
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 80 },
          ],
        },
      },
      errors: [
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
      ],
    },
    {
      title: 'is of no type',
      changes: { spec: { type: 'Magic' } },
      errors: [
        'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    },
    {
      title: 'is external without a name',
      changes: { spec: { type: 'ExternalName', clusterIP: '', clusterIPs: [], ports: [] } },
      errors: ['spec.externalName: Required value'],
    },
    {
      title: 'sends to a port that is none',
      changes: { spec: { ports: [{ port: 0, targetPort: 'UPPER' }] } },
      errors: [
        'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'spec.ports[0].targetPort: Invalid value: "UPPER": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.ports[0].targetPort: Invalid value: "UPPER": must contain at least one letter (a-z)',
      ],
    },
    {
      title: 'remembers clients in no way there is',
      changes: { spec: { sessionAffinity: 'Cookie' } },
      errors: ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
    },
    {
      title: 'has a node port that nodes do not open',
      changes: { spec: { ports: [{ port: 80, nodePort: 30080 }] } },
      errors: ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(serviceBehaviour, web), []));
  for (const bad of cases) it(bad.title, () => assertErrors(serviceBehaviour, web, bad));

  it('may be headless without ports', () => {
    const headless = { spec: { clusterIP: 'None', clusterIPs: ['None'], ports: [] } };
    assert.deepEqual(errorsOf(serviceBehaviour, merged(web, headless)), []);
  });

  it('may not change its address', () => {
    const next = merged(web, { spec: { clusterIP: '10.0.0.8', clusterIPs: ['10.0.0.8'] } });
    assert.deepEqual(updateErrorsOf(serviceBehaviour, web, next), [
      'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set',
    ]);
  });
});

describe('the row of a Service', () => {
  const cases: readonly (readonly [title: string, changes: object, address: string, ports: string])[] = [
    ['within the cluster', {}, '<none>', '80/TCP'],
    ['on every node', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] } }, '<none>', '80:30080/TCP'],
    ['that waits for a load balancer', { spec: { type: 'LoadBalancer' } }, '<pending>', '80/TCP'],
    [
      'that has a load balancer',
      { spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
      '1.2.3.4',
      '80/TCP',
    ],
    ['with an address of its own', { spec: { externalIPs: ['9.9.9.9'] } }, '9.9.9.9', '80/TCP'],
    [
      'that is elsewhere',
      { spec: { type: 'ExternalName', externalName: 'db.example.com' } },
      'db.example.com',
      '80/TCP',
    ],
  ];
  for (const [title, changes, address, ports] of cases) {
    it(title, () => {
      const row = rowOf(serviceBehaviour, merged(web, changes));
      assert.equal(row['External-IP'], address);
      assert.equal(row['Port(s)'], ports);
      assert.equal(row.Selector, 'app=web');
      assert.equal(row.Age, '60s');
    });
  }
});

describe('Endpoints', () => {
  const endpoints = (count: number) => ({
    metadata: { name: 'web', namespace: 'default' },
    subsets: [
      { addresses: Array.from({ length: count }, (_, i) => ({ ip: `10.0.0.${i + 1}` })), ports: [{ port: 80 }] },
    ],
  });

  it('show at most three addresses', () => {
    assert.equal(rowOf(endpointsBehaviour, endpoints(2)).Endpoints, '10.0.0.1:80,10.0.0.2:80');
    assert.equal(rowOf(endpointsBehaviour, endpoints(5)).Endpoints, '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...');
    assert.equal(rowOf(endpointsBehaviour, { metadata: { name: 'a' } }).Endpoints, '<none>');
  });

  it('have addresses that others can reach', () => {
    const subsets = [{ addresses: [{ ip: '127.0.0.1' }, { ip: 'x' }], ports: [{ port: 80 }] }];
    const errors = errorsOf(endpointsBehaviour, { subsets });
    assert.deepEqual(errors, [
      'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'subsets[0].addresses[1].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'subsets[0].addresses[1].ip: Invalid value: "x": must be a valid IP address',
    ]);
  });
});

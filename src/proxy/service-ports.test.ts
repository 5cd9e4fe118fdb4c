import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../api/gen/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/gen/discovery-v1.ts';
import { servicePorts } from './service-ports.ts';

const here = { name: 'n1', zone: 'z1' };

function service(spec: Partial<NonNullable<Service['spec']>> = {}): Service {
  return {
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: '10.96.0.5', clusterIPs: ['10.96.0.5'], ports: [{ name: 'http', port: 80 }], ...spec },
  };
}

function slice(endpoints: readonly Endpoint[], addressType: 'IPv4' | 'IPv6' = 'IPv4'): EndpointSlice {
  return {
    metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType,
    endpoints,
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

const at = (ip: string, extra: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [ip],
  nodeName: 'n1',
  conditions: { ready: true },
  ...extra,
});

const cases: readonly {
  name: string;
  endpoints: readonly Endpoint[];
  cluster: readonly string[];
  local: readonly string[];
}[] = [
  {
    name: 'ready endpoints of all nodes, and those of this node',
    endpoints: [at('10.0.0.2', { nodeName: 'n2' }), at('10.0.0.1')],
    cluster: ['10.0.0.1', '10.0.0.2'],
    local: ['10.0.0.1'],
  },
  {
    name: 'one that is not ready gets nothing',
    endpoints: [at('10.0.0.1', { conditions: { ready: false } })],
    cluster: [],
    local: [],
  },
  {
    name: 'terminating ones serve when nobody else does',
    endpoints: [at('10.0.0.1', { conditions: { ready: false, serving: true, terminating: true } })],
    cluster: ['10.0.0.1'],
    local: ['10.0.0.1'],
  },
  {
    name: 'terminating ones do not serve beside ready ones',
    endpoints: [at('10.0.0.1', { conditions: { ready: false, serving: true, terminating: true } }), at('10.0.0.2')],
    cluster: ['10.0.0.2'],
    local: ['10.0.0.2'],
  },
  {
    name: 'hints for zones are followed when all have them',
    endpoints: [
      at('10.0.0.1', { hints: { forZones: [{ name: 'z1' }] } }),
      at('10.0.0.2', { hints: { forZones: [{ name: 'z2' }] } }),
    ],
    cluster: ['10.0.0.1'],
    local: ['10.0.0.1', '10.0.0.2'],
  },
  {
    name: 'hints are ignored when one endpoint lacks them',
    endpoints: [at('10.0.0.1', { hints: { forZones: [{ name: 'z2' }] } }), at('10.0.0.2')],
    cluster: ['10.0.0.1', '10.0.0.2'],
    local: ['10.0.0.1', '10.0.0.2'],
  },
];

for (const { name, endpoints, cluster, local } of cases) {
  test(`endpoints: ${name}`, () => {
    const [port] = servicePorts([service()], [slice(endpoints)], here, 'ip');
    assert.deepEqual(
      port?.clusterEndpoints.map((endpoint) => endpoint.ip),
      cluster,
    );
    assert.deepEqual(
      port?.localEndpoints.map((endpoint) => endpoint.ip),
      local,
    );
  });
}

test('headless, external-name and foreign-proxy Services are left alone', () => {
  const labelled = service();
  const foreign = {
    ...labelled,
    metadata: { ...labelled.metadata, labels: { 'service.kubernetes.io/service-proxy-name': 'x' } },
  };
  assert.deepEqual(
    servicePorts(
      [service({ clusterIP: 'None', clusterIPs: ['None'] }), service({ type: 'ExternalName' }), foreign],
      [],
      here,
      'ip',
    ),
    [],
  );
});

test('each address family sees its own addresses and slices only', () => {
  const dual = service({ clusterIPs: ['10.96.0.5', 'fd00::5'] });
  const slices = [slice([at('10.0.0.1')]), slice([at('fd00::1')], 'IPv6')];
  assert.deepEqual(servicePorts([dual], slices, here, 'ip6')[0]?.clusterIps, ['fd00::5']);
  assert.deepEqual(servicePorts([dual], slices, here, 'ip6')[0]?.clusterEndpoints, [{ ip: 'fd00::1', port: 8080 }]);
});

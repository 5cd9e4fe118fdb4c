import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, Server } from 'node:net';
import { describe, it } from 'node:test';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { silentLog } from '../base/log.ts';
import { healthChecks, ServiceHealth } from './service-health.ts';

const node = { name: 'n1', zone: undefined };

const service = (name: string, port: number, spec: Partial<NonNullable<Service['spec']>> = {}): Service => ({
  metadata: { name, namespace: 'shop' },
  spec: {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    clusterIP: '10.96.0.5',
    clusterIPs: ['10.96.0.5'],
    healthCheckNodePort: port,
    ...spec,
  },
});

const slice = (name: string, endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
  metadata: { name: `${name}-1`, namespace: 'shop', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  endpoints: endpoints ?? [],
});

const checked = (services: readonly Service[], slices: readonly EndpointSlice[], family: 'ip' | 'ip6' = 'ip') =>
  [...healthChecks({ services, slices }, { node, family })].map(([key, { port, localEndpoints }]) => [
    key,
    port,
    localEndpoints,
  ]);

describe('health checks of Services', () => {
  it('count the ready endpoints of this node, each address once', () => {
    const here = { nodeName: 'n1', conditions: { ready: true } };
    const endpoints = [
      { addresses: ['10.1.0.1'], ...here },
      { addresses: ['10.1.0.1'], ...here },
      { addresses: ['10.1.0.2'], nodeName: 'n1' },
      { addresses: ['10.1.0.3'], nodeName: 'n2', conditions: { ready: true } },
      { addresses: ['10.1.0.4'], nodeName: 'n1', conditions: { ready: false, serving: true, terminating: true } },
    ];
    assert.deepEqual(checked([service('web', 30001)], [slice('web', endpoints), slice('other', endpoints)]), [
      ['shop/web', 30001, 2],
    ]);
  });

  it('are only for balancers whose traffic stays where it arrives, in a family that the Service has', () => {
    const services = [
      service('spread', 30002, { externalTrafficPolicy: 'Cluster' }),
      service('plain', 30003, { type: 'NodePort' }),
      service('none', 0),
      service('both', 30004, { clusterIPs: ['10.96.0.6', 'fd00::6'] }),
    ];
    assert.deepEqual(checked(services, []), [['shop/both', 30004, 0]]);
    assert.deepEqual(checked(services, [], 'ip6'), [['shop/both', 30004, 0]]);
  });

  it('answer on their port while the Service is there: 200 with endpoints, 503 without', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port: takenPort } = taken.address() as AddressInfo;
    const failures: string[] = [];
    let isProxyHealthy = true;
    const health = new ServiceHealth({
      nodeName: 'n1',
      addresses: ['127.0.0.1'],
      family: 'ip',
      log: silentLog,
      isProxyHealthy: () => isProxyHealthy,
      onFailure: (_, message) => failures.push(message),
    });
    t.after(() => {
      health.close();
      taken.close();
    });
    const sync = (port: number, localEndpoints: number) =>
      health.sync(new Map([['shop/web', { service: service('web', port), port, localEndpoints }]]));
    await sync(takenPort, 1);
    assert.deepEqual(failures, [
      `node n1 failed to start healthcheck "shop/web" on port ${takenPort}: listen EADDRINUSE: address already in use 127.0.0.1:${takenPort}`,
    ]);

    taken.close();
    await once(taken, 'close');
    await sync(takenPort, 2);
    const url = `http://127.0.0.1:${takenPort}/healthz`;
    const well = await fetch(url);
    assert.deepEqual(
      [well.status, well.headers.get('content-type'), well.headers.get('x-load-balancing-endpoint-weight')],
      [200, 'application/json', '2'],
    );
    assert.deepEqual(await well.json(), {
      service: { namespace: 'shop', name: 'web' },
      localEndpoints: 2,
      serviceProxyHealthy: true,
    });
    isProxyHealthy = false;
    const late = await fetch(url);
    assert.deepEqual(
      [late.status, await late.json()],
      [503, { service: { namespace: 'shop', name: 'web' }, localEndpoints: 2, serviceProxyHealthy: false }],
    );
    isProxyHealthy = true;
    await sync(takenPort, 0);
    assert.equal((await fetch(url)).status, 503);

    await health.sync(new Map());
    await assert.rejects(fetch(url));
    assert.equal(failures.length, 1);
  });

  it('go on when a connection cannot be accepted', async (t) => {
    const listen = t.mock.method(Server.prototype, 'listen');
    const warnings: unknown[] = [];
    const health = new ServiceHealth({
      nodeName: 'n1',
      addresses: ['127.0.0.1'],
      family: 'ip',
      log: { ...silentLog, warn: (_, fields) => void warnings.push(fields) },
      isProxyHealthy: () => true,
      onFailure: (_, message) => assert.fail(message),
    });
    t.after(() => health.close());
    await health.sync(new Map([['shop/web', { service: service('web', 0), port: 0, localEndpoints: 1 }]]));
    const server = listen.mock.calls[0]!.this as Server;
    for (const _ of [1, 2]) server.emit('error', new Error('accept EMFILE'));
    assert.deepEqual(warnings, Array(2).fill({ service: 'shop/web', error: 'accept EMFILE' }));
    const { port } = server.address() as AddressInfo;
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { seededRandom } from '../../base/random.ts';
import { endpointAddress } from './service-location.ts';
import { userHeaders } from './user-headers.ts';

const service: Service = {
  metadata: { name: 'web' },
  spec: { ports: [{ name: 'https', port: 443 }], ipFamilies: ['IPv6', 'IPv4'] },
};

const slice = (
  addressType: EndpointSlice['addressType'],
  addresses: readonly string[],
  ready?: boolean,
): EndpointSlice => ({
  metadata: { name: 'web-1' },
  addressType,
  endpoints: addresses.map((address) => ({
    addresses: [address],
    ...(ready === undefined ? {} : { conditions: { ready } }),
  })),
  ports: [{ name: 'https', port: 8443 }],
});

const addressOf = (slices: readonly EndpointSlice[], port = 443) =>
  endpointAddress(service, slices, { port, random: seededRandom(1) });

describe('an endpoint behind a Service', () => {
  it('is of the first family where there is one', () => {
    assert.deepEqual(addressOf([slice('IPv4', ['10.0.0.1']), slice('IPv6', ['fd00::1'])]), {
      host: 'fd00::1',
      port: 8443,
    });
    assert.deepEqual(addressOf([slice('IPv4', ['10.0.0.1']), slice('IPv6', ['fd00::1'], false)]), {
      host: '10.0.0.1',
      port: 8443,
    });
  });

  it('may be any of them', () => {
    const random = seededRandom(7);
    const slices = [slice('IPv4', ['10.0.0.1', '10.0.0.2', '10.0.0.3'])];
    const hosts = Array.from({ length: 50 }, () => endpointAddress(service, slices, { port: 443, random }).host);
    assert.equal(new Set(hosts).size, 3);
  });

  it('is missed in upstream words', () => {
    assert.throws(() => addressOf([slice('IPv4', ['10.0.0.1'], false)]), /no endpoints available for service "web"/);
    assert.throws(() => addressOf([], 444), /no service port 444 found for service "web"/);
    const elsewhere: Service = { ...service, spec: { ...service.spec, type: 'ExternalName' } };
    const options = { port: 443, random: seededRandom(1) };
    assert.throws(() => endpointAddress(elsewhere, [], options), /unsupported service type "ExternalName"/);
  });
});

describe('the headers that tell who asks', () => {
  it('carry any name, and keys that are no header names', () => {
    const headers = userHeaders({ name: 'é', uid: '1', groups: ['a', 'b'], extra: { 'x/y%': ['1', '2'], none: [] } });
    assert.deepEqual(headers, {
      'x-remote-user': 'Ã©',
      'x-remote-uid': '1',
      'x-remote-group': ['a', 'b'],
      'x-remote-extra-x%2Fy%25': ['1', '2'],
    });
  });
});

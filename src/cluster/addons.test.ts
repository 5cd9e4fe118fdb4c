import assert from 'node:assert/strict';
import { test } from 'node:test';
import { services } from '../api/gen/core-v1.ts';
import { clusterRoleBindings } from '../api/gen/rbac-v1.ts';
import { MemoryApi } from '../testing/memory-api.ts';
import { ensureAddons, nameServerAddress, nameServerUser } from './addons.ts';

for (const { range, address } of [
  { range: '10.96.0.0/16', address: '10.96.0.10' },
  { range: '10.0.0.250/24', address: '10.0.0.10' },
  { range: 'fd00:1::/108', address: 'fd00:1::a' },
])
  test(`the name server of ${range} is ${address}`, () => assert.equal(nameServerAddress(range), address));

test('the name server has its Service and its rights, made once and left as they are then', async () => {
  const api = new MemoryApi();
  await ensureAddons(api.client, { serviceCidr: '10.96.0.0/16' });
  const service = await api.client.get(services, { namespace: 'kube-system', name: 'kube-dns' });
  assert.equal(service.spec?.clusterIP, '10.96.0.10');
  assert.deepEqual(
    service.spec?.ports?.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`),
    ['dns UDP 53', 'dns-tcp TCP 53'],
  );
  const binding = await api.client.get(clusterRoleBindings, { name: 'coracle:name-server' });
  assert.equal(binding.subjects?.[0]?.name, nameServerUser);
  const before = api.writes.length;
  await ensureAddons(api.client, { serviceCidr: '10.96.0.0/16' });
  assert.equal(api.writes.length, before);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Endpoints, endpoints, namespaces } from '../../api/gen/core-v1.ts';
import { endpointSlices } from '../../api/gen/discovery-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { openServer } from '../api-server.fixture.ts';
import { KeptRecords } from '../kept-records.ts';
import type { BytesStore } from '../server.ts';
import { ServiceAllocator } from '../services/service-allocator.ts';
import { serviceHooks } from '../services/service-hooks.ts';
import { ensureKubernetesService, leaveKubernetesService } from './kubernetes-service.ts';
import { ServerLeases } from './server-leases.ts';

async function cluster() {
  const clock = new FakeClock();
  const store: BytesStore = { kind: 'bytes', store: memoryStore<Uint8Array>({ clock, log: silentLog }), shared: true };
  const opened = await openServer({
    clock,
    store,
    hooks(client) {
      const settings = { client, random: seededRandom(1), log: silentLog, serviceCidrs: ['10.96.0.0/16'] };
      const allocator = new ServiceAllocator(settings);
      return new Map([['services', serviceHooks(async () => allocator)]]);
    },
  });
  await opened.client.create(namespaces, { metadata: { name: 'default' }, spec: {} });
  const { client } = opened;
  const server = (address: string) => {
    const servers = new ServerLeases({ records: new KeptRecords<Endpoints>(store, 'v1', 'Endpoints'), address });
    const options = { clusterIP: '10.96.0.1', securePort: 6443, advertiseAddress: address, servers };
    return {
      servers,
      renew: () => ensureKubernetesService(client, options),
      leave: () => leaveKubernetesService(client, options),
    };
  };
  const named = async () => {
    const ref = { namespace: 'default', name: 'kubernetes' };
    const { subsets } = await client.get(endpoints, ref);
    const slice = await client.get(endpointSlices, ref);
    const addresses = subsets?.[0]?.addresses?.map(({ ip }) => ip) ?? [];
    assert.deepEqual(slice.endpoints?.flatMap((endpoint) => endpoint.addresses) ?? [], addresses);
    return addresses;
  };
  return { clock, server, named, [Symbol.asyncDispose]: () => opened.close() };
}

test('the Service names all servers that renew, and no other', async () => {
  await using all = await cluster();
  const [one, two] = [all.server('10.0.0.1'), all.server('10.0.0.2')];
  await two.renew();
  await one.renew();
  assert.deepEqual(await all.named(), ['10.0.0.1', '10.0.0.2']);
  for (let i = 0; i < 3; i++) {
    await all.clock.advance(10_000);
    await one.renew();
  }
  assert.deepEqual(await all.named(), ['10.0.0.1']);
});

test('a server that leaves is taken out at once and never comes back by itself', async () => {
  await using all = await cluster();
  const [one, two] = [all.server('10.0.0.1'), all.server('10.0.0.2')];
  await one.renew();
  await two.renew();
  await one.leave();
  assert.deepEqual(await all.named(), ['10.0.0.2']);
  await one.renew();
  assert.deepEqual(await two.servers.addresses(), ['10.0.0.2']);
  await two.leave();
  assert.deepEqual(await all.named(), []);
});

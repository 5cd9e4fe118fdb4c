import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events, type Service, services } from '../../api/gen/core-v1.ts';
import { type IPAddress, ipAddresses, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { componentContext } from '../../reconcile/component.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { openServerWithDefault } from '../api-server.fixture.ts';
import { addressObject } from './address-object.ts';
import { runAddressRepair } from './address-repair.ts';

const namespace = 'default';
const ip = '10.0.0.9';

function service(name: string, clusterIP = ip): Service {
  return { metadata: { name, namespace }, spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80 }] } };
}

/** A server without an allocator, so that Services keep what the test gives them, and the repair on its clock. */
async function open() {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const opened = await openServerWithDefault({ clock, random });
  const { client } = opened;
  await client.create(serviceCIDRs, { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.0.0.0/24'] } });
  const ending = new AbortController();
  const running = runAddressRepair(componentContext({ client, clock, random, log: silentLog, signal: ending.signal }));
  return {
    client,
    clock,
    settle: () => clock.advance(100),
    find: async (name: string): Promise<IPAddress | undefined> =>
      (await client.list(ipAddresses)).items.find(({ metadata }) => metadata.name === name),
    told: async () => (await client.list(events)).items.map(({ reason, message }) => `${reason}: ${message}`),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all([running.catch(() => undefined), clock.advance(60_000)]);
      await opened.close();
    },
  };
}

test('a Service whose address is no object gets one, also when somebody deletes it', async () => {
  await using opened = await open();
  await opened.client.create(services, service('s'));
  await opened.settle();
  assert.equal((await opened.find(ip))?.spec.parentRef?.name, 's');
  await opened.client.delete(ipAddresses, { name: ip });
  await opened.settle();
  assert.equal((await opened.find(ip))?.spec.parentRef?.name, 's');
  assert.deepEqual(await opened.told(), [
    'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.0.0.9 is not allocated; repairing',
  ]);
});

test('an address whose Service never came is given back after a minute', async () => {
  await using opened = await open();
  await opened.client.create(ipAddresses, addressObject(ip, service('never')));
  await opened.clock.advance(59_000);
  assert.ok(await opened.find(ip));
  await opened.clock.advance(2_000);
  assert.equal(await opened.find(ip), undefined);
  assert.deepEqual(await opened.told(), [
    'IPAddressNotAllocated: IPAddress: 10.0.0.9 for Service default/never appears to have leaked: cleaning up',
  ]);
});

test('an address that its Service does not have is given back, those of others are left alone', async () => {
  await using opened = await open();
  await opened.client.create(services, service('s'));
  await opened.client.create(ipAddresses, addressObject('10.0.0.10', service('s')));
  const foreign = addressObject('10.0.0.11', service('nobody'));
  await opened.client.create(ipAddresses, { ...foreign, metadata: { name: '10.0.0.11' } });
  await opened.clock.advance(70_000);
  assert.equal(await opened.find('10.0.0.10'), undefined);
  assert.ok(await opened.find('10.0.0.11'));
  assert.ok((await opened.told()).some((text) => text.startsWith('IPAddressWrongReference: ')));
});

test('an address that names another Service is made anew, unless both have it', async () => {
  await using opened = await open();
  await opened.client.create(ipAddresses, addressObject(ip, service('gone')));
  await opened.client.create(services, service('s'));
  await opened.settle();
  assert.equal((await opened.find(ip))?.spec.parentRef?.name, 's');
  await opened.client.create(services, service('double'));
  await opened.settle();
  assert.equal((await opened.find(ip))?.spec.parentRef?.name, 's');
  const told = await opened.told();
  const complaint = 'Cluster IP [IPv4]:10.0.0.9 was assigned to multiple services; please recreate service';
  assert.ok(told.includes(`ClusterIPAlreadyAllocated: ${complaint}`), told.join('\n'));
});

test('an address outside of every range is only told of', async () => {
  await using opened = await open();
  await opened.client.create(services, service('s', '10.9.9.9'));
  await opened.settle();
  assert.equal(await opened.find('10.9.9.9'), undefined);
  const complaint = 'is not within any configured Service CIDR; please recreate service';
  assert.deepEqual(await opened.told(), [`ClusterIPOutOfRange: Cluster IP [IPv4]: 10.9.9.9 ${complaint}`]);
});

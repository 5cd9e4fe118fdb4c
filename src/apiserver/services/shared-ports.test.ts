import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RangeAllocation, type Service, services } from '../../api/gen/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { componentContext } from '../../reconcile/component.ts';
import { memoryStore } from '../../storage/memory/memory-store.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import fc from '../../testing/properties.fixture.ts';
import { openServer, openServerWithDefault } from '../api-server.fixture.ts';
import { KeptRecords } from '../kept-records.ts';
import type { BytesStore } from '../server.ts';
import { nodePortNumbers } from './node-ports.ts';
import { PortRepair } from './port-repair.ts';
import { ServiceAllocator } from './service-allocator.ts';
import { serviceHooks } from './service-hooks.ts';
import { bitsOf, portsIn, rangeText, SharedPorts } from './shared-ports.ts';

const range = { first: 30000, last: 30009 };
const key = '/registry/ranges/servicenodeports';

/** Several servers over one store, each with an allocator of its own. */
async function servers(count: number) {
  const clock = new FakeClock();
  const store: BytesStore = {
    kind: 'bytes',
    store: memoryStore<Uint8Array>({ clock, log: silentLog }),
    shared: true,
    mediaType: 'application/vnd.kubernetes.protobuf',
  };
  const records = new KeptRecords<RangeAllocation>(store, 'v1', 'RangeAllocation');
  const open = (random: number, opener: typeof openServer) =>
    opener({
      clock,
      store,
      hooks(client) {
        const settings = { client, random: seededRandom(random), log: silentLog, serviceCidrs: ['10.96.0.0/16'] };
        const allocator = new ServiceAllocator({ ...settings, nodePortRange: range, portRecords: records });
        return new Map([['services', serviceHooks(async () => allocator)]]);
      },
    });
  const opened = [await open(1, openServerWithDefault)];
  for (let i = 1; i < count; i++) opened.push(await open(1, openServer));
  const clients = opened.map(({ client }) => client);
  return {
    clock,
    clients,
    first: clients[0]!,
    records,
    taken: async () => portsIn((await records.get(key))?.object.data ?? '', range),
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close();
    },
  };
}

const nodePort = (name: string, port?: number): Service => ({
  metadata: { name, namespace: 'default' },
  spec: { type: 'NodePort', ports: [{ port: 80, ...(port ? { nodePort: port } : {}) }] },
});
const portOf = ({ spec }: Service) => spec.ports?.[0]?.nodePort;

test('the bits are those of a big-endian number that begins at the range’s first port', () => {
  assert.equal(bitsOf([30000, 30002], range), 'BQ==');
  assert.equal(bitsOf([30009], range), 'AgA=');
  assert.equal(bitsOf([], range), '');
  assert.deepEqual(portsIn('BQ==', range), [30000, 30002]);
});

test('what is written is read again, whatever the range', () => {
  const anyRange = fc.tuple(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 0, max: 5000 }));
  fc.assert(
    fc.property(anyRange, fc.array(fc.nat(5000)), ([first, size], offsets) => {
      const any = { first, last: first + size };
      const ports = [...new Set(offsets.filter((offset) => offset <= size).map((offset) => first + offset))];
      assert.deepEqual(
        portsIn(bitsOf(ports, any), any),
        ports.sort((a, b) => a - b),
      );
    }),
  );
});

test('servers that draw the same numbers give no port twice, and none is lost', async () => {
  await using cluster = await servers(3);
  const wanted = Array.from({ length: 9 }, (_, i) => i);
  const made = await Promise.all(wanted.map((i) => cluster.clients[i % 3]!.create(services, nodePort(`s${i}`))));
  const ports = made.map((service) => portOf(service)!).sort();
  assert.equal(new Set(ports).size, 9);
  assert.deepEqual(await cluster.taken(), ports);
});

test('a port that another server has given is refused in upstream’s words, and free again once that gave it back', async () => {
  await using cluster = await servers(2);
  const [one, two] = cluster.clients as [(typeof cluster.clients)[0], (typeof cluster.clients)[0]];
  await one.create(services, nodePort('a', 30003));
  await assert.rejects(two.create(services, nodePort('b', 30003)), /provided port is already allocated/);
  assert.deepEqual(await cluster.taken(), [30003]);
  await two.delete(services, { namespace: 'default', name: 'a' });
  assert.equal(portOf(await one.create(services, nodePort('b', 30003))), 30003);
  const { metadata } = await two.get(services, { namespace: 'default', name: 'b' });
  await two.update(services, { metadata, spec: { ...nodePort('b', 30004).spec, clusterIP: '' } } as Service);
  assert.deepEqual(await cluster.taken(), [30004]);
});

test('a dry run takes nothing', async () => {
  await using cluster = await servers(1);
  const service = await cluster.first.create(services, nodePort('a'), { dryRun: true });
  assert.ok(portOf(service));
  assert.deepEqual(await cluster.taken(), []);
});

test('a step that throws leaves nothing taken, and the next one goes on', async () => {
  await using cluster = await servers(1);
  const numbers = nodePortNumbers(range, seededRandom(1));
  const ports = new SharedPorts({ records: cluster.records, range, numbers, rebuild: async () => [] });
  let undone = 0;
  const failing = () => {
    numbers.take(30001n);
    throw new Error('no');
  };
  await assert.rejects(
    ports.change(failing, () => undone++),
    /no/,
  );
  assert.equal(undone, 1);
  await ports.change(
    () => numbers.take(30002n),
    () => {},
  );
  assert.deepEqual(await cluster.taken(), [30002]);
});

test('the repair takes what Services have, and gives back on the third look what none has', async () => {
  await using cluster = await servers(1);
  await cluster.first.create(services, nodePort('a', 30001));
  const data = bitsOf([30007], range);
  const { revision } = (await cluster.records.get(key))!;
  await cluster.records.put(key, { metadata: {}, range: rangeText(range), data }, { expected: revision });
  const { clock } = cluster;
  const { signal } = new AbortController();
  const random = seededRandom(1);
  const context = componentContext({ client: cluster.first, clock, random, log: silentLog, signal });
  const repair = new PortRepair(context, { range, records: cluster.records });
  for (const expected of [[30001, 30007], [30001, 30007], [30001]]) {
    await repair.look();
    assert.deepEqual(await cluster.taken(), expected);
  }
});

test('another range is built anew from what Services have', async () => {
  await using cluster = await servers(1);
  await cluster.first.create(services, nodePort('a', 30001));
  const { revision } = (await cluster.records.get(key))!;
  await cluster.records.put(key, { metadata: {}, range: '1-2', data: 'Aw==' }, { expected: revision });
  await cluster.first.create(services, nodePort('b', 30002));
  assert.deepEqual(await cluster.taken(), [30001, 30002]);
});

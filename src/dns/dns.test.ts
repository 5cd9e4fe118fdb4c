import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { decode, encode, type Packet, type RecordType } from 'dns-packet';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { type ClusterLookups, resolve } from './cluster-zone.ts';
import { type DnsServer, startDnsServer } from './dns-server.ts';

const domain = 'cluster.local';

function alias(name: string, externalName: string): Service {
  return { metadata: { namespace: 'shop', name }, spec: { type: 'ExternalName', externalName } };
}

const serviceList: readonly Service[] = [
  {
    metadata: { namespace: 'shop', name: 'web' },
    spec: {
      clusterIP: '10.96.0.5',
      clusterIPs: ['10.96.0.5', 'fd00::5'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    },
  },
  {
    metadata: { namespace: 'shop', name: 'db' },
    spec: { clusterIP: 'None', clusterIPs: ['None'], ports: [{ name: 'pg', port: 5432 }] },
  },
  { metadata: { namespace: 'shop', name: 'empty' }, spec: { clusterIP: 'None', clusterIPs: ['None'] } },
  { metadata: { namespace: 'shop', name: 'out' }, spec: { type: 'ExternalName', externalName: 'example.org' } },
  alias('inside', 'web.shop.svc.cluster.local'),
  alias('twice', 'inside.shop.svc.cluster.local'),
  alias('circle', 'circle.shop.svc.cluster.local'),
];
const dbSlice: EndpointSlice = {
  metadata: { namespace: 'shop', name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
  addressType: 'IPv4',
  endpoints: [
    { addresses: ['10.1.0.1'], hostname: 'db-0', conditions: { ready: true } },
    { addresses: ['10.1.0.2'], conditions: { ready: true } },
    { addresses: ['10.1.0.3'], conditions: { ready: false } },
  ],
  ports: [{ name: 'pg', port: 5432, protocol: 'TCP' }],
};
const cluster: ClusterLookups = {
  service: (namespace, name) =>
    serviceList.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  namespaceExists: (name) => name === 'shop',
  slices: (_, service) => (service === 'db' ? [dbSlice] : []),
  serviceByIp: (ip) => serviceList.find(({ spec }) => spec?.clusterIPs?.includes(ip)),
  endpointsByIp: (ip) =>
    (dbSlice.endpoints ?? []).filter((e) => e.addresses.includes(ip)).map((endpoint) => ({ endpoint, slice: dbSlice })),
};

function ask(name: string, type: RecordType): unknown {
  const reply = resolve({ name, type }, domain, cluster);
  return reply.kind === 'answer'
    ? reply.answers.map((answer) => ('data' in answer ? answer.data : undefined))
    : reply.kind;
}

const pgAt = (target: string) => ({ priority: 0, weight: 100, port: 5432, target });
const cases: readonly { name: string; type: RecordType; expected: unknown }[] = [
  { name: 'web.shop.svc.cluster.local', type: 'A', expected: ['10.96.0.5'] },
  { name: 'WEB.shop.svc.cluster.local', type: 'AAAA', expected: ['fd00::5'] },
  { name: 'web.shop.svc.cluster.local', type: 'MX', expected: [] },
  {
    name: '_http._tcp.web.shop.svc.cluster.local',
    type: 'SRV',
    expected: [{ priority: 0, weight: 100, port: 80, target: 'web.shop.svc.cluster.local' }],
  },
  { name: '_http._udp.web.shop.svc.cluster.local', type: 'SRV', expected: 'no-such-name' },
  { name: 'db.shop.svc.cluster.local', type: 'A', expected: ['10.1.0.1', '10.1.0.2'] },
  { name: 'db-0.db.shop.svc.cluster.local', type: 'A', expected: ['10.1.0.1'] },
  { name: '10-1-0-2.db.shop.svc.cluster.local', type: 'A', expected: ['10.1.0.2'] },
  {
    name: '_pg._tcp.db.shop.svc.cluster.local',
    type: 'SRV',
    expected: [pgAt('db-0.db.shop.svc.cluster.local'), pgAt('10-1-0-2.db.shop.svc.cluster.local')],
  },
  { name: 'empty.shop.svc.cluster.local', type: 'A', expected: 'no-such-name' },
  { name: 'out.shop.svc.cluster.local', type: 'CNAME', expected: ['example.org'] },
  { name: 'nobody.shop.svc.cluster.local', type: 'A', expected: 'no-such-name' },
  { name: 'web.nowhere.svc.cluster.local', type: 'A', expected: 'no-such-name' },
  { name: '10-1-2-3.shop.pod.cluster.local', type: 'A', expected: ['10.1.2.3'] },
  { name: '10-1-2.shop.pod.cluster.local', type: 'A', expected: 'no-such-name' },
  { name: 'dns-version.cluster.local', type: 'TXT', expected: ['1.1.0'] },
  { name: '5.0.96.10.in-addr.arpa', type: 'PTR', expected: ['web.shop.svc.cluster.local'] },
  { name: '1.0.1.10.in-addr.arpa', type: 'PTR', expected: ['db-0.db.shop.svc.cluster.local'] },
  { name: '8.8.8.8.in-addr.arpa', type: 'PTR', expected: 'foreign' },
  { name: 'example.org', type: 'A', expected: 'foreign' },
  { name: 'notcluster.local', type: 'A', expected: 'foreign' },
];
for (const { name, type, expected } of cases) {
  test(`${type} of ${name}`, () => assert.deepEqual(ask(name, type), expected));
}

let upstream: DnsServer;
let server: DnsServer;
const listen = { clock: systemClock, log: silentLog, domain, addresses: ['127.0.0.1'], port: 0 };

before(async () => {
  const many = Array.from({ length: 60 }, (_, i) => ({
    type: 'A' as const,
    name: 'many.example.org',
    ttl: 1,
    data: `192.0.2.${i}`,
  }));
  upstream = await startDnsServer({
    ...listen,
    domain: 'example.org',
    upstreams: [],
    resolve: ({ name }) =>
      name === 'many.example.org'
        ? { kind: 'answer', answers: many }
        : { kind: 'answer', answers: [{ type: 'A', name, ttl: 1, data: '192.0.2.7' }] },
  });
  server = await startDnsServer({
    ...listen,
    upstreams: [`127.0.0.1:${upstream.port}`],
    resolve: (question) => resolve(question, domain, cluster),
  });
});
after(async () => {
  await server.close();
  await upstream.close();
});

function overUdp(message: Buffer): Promise<Packet & { rcode?: string; flag_tc?: boolean }> {
  return new Promise((done) => {
    const socket = createSocket('udp4');
    socket.on('message', (reply) => {
      socket.close();
      done(decode(reply));
    });
    socket.send(message, server.port, '127.0.0.1');
  });
}

const query = (name: string, type: RecordType = 'A') =>
  encode({ type: 'query', id: 7, flags: 0x100, questions: [{ name, type }] });

test('over UDP: a name of the cluster is answered with authority, an unknown one with NXDOMAIN and the zone´s SOA', async () => {
  const found = await overUdp(query('web.shop.svc.cluster.local'));
  assert.deepEqual(
    found.answers?.map((answer) => 'data' in answer && answer.data),
    ['10.96.0.5'],
  );
  const missing = await overUdp(query('nobody.shop.svc.cluster.local'));
  assert.equal(missing.rcode, 'NXDOMAIN');
  assert.equal(missing.authorities?.[0]?.type, 'SOA');
});

test('a name outside the cluster is asked upstream, and an ExternalName brings its target along', async () => {
  assert.deepEqual(
    (await overUdp(query('www.example.org'))).answers?.map((answer) => 'data' in answer && answer.data),
    ['192.0.2.7'],
  );
  const alias = await overUdp(query('out.shop.svc.cluster.local'));
  assert.deepEqual(
    alias.answers?.map((answer) => 'data' in answer && answer.data),
    ['example.org', '192.0.2.7'],
  );
});

test('an ExternalName within the cluster is followed there, through further ones, and a circle ends', async () => {
  const data = async (name: string) =>
    (await overUdp(query(name))).answers?.map((answer) => 'data' in answer && answer.data);
  const web = 'web.shop.svc.cluster.local';
  assert.deepEqual(await data('inside.shop.svc.cluster.local'), [web, '10.96.0.5']);
  assert.deepEqual(await data('twice.shop.svc.cluster.local'), ['inside.shop.svc.cluster.local', web, '10.96.0.5']);
  assert.deepEqual(await data('circle.shop.svc.cluster.local'), ['circle.shop.svc.cluster.local']);
});

test('what cannot be read gets FORMERR, and the server goes on', async () => {
  assert.equal((await overUdp(Buffer.from([0, 9, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 250]))).rcode, 'FORMERR');
  assert.equal((await overUdp(query('web.shop.svc.cluster.local'))).rcode, 'NOERROR');
});

test('an answer too large for UDP is cut there and whole over TCP', async () => {
  assert.equal((await overUdp(query('many.example.org'))).flag_tc, true);
  const reply = await new Promise<Packet>((done) => {
    const connection = connect(server.port, '127.0.0.1');
    const message = query('db.shop.svc.cluster.local');
    connection.write(Buffer.concat([Buffer.from([0, message.length]), message]));
    connection.on('data', (chunk) => {
      connection.destroy();
      done(decode(chunk.subarray(2)));
    });
  });
  assert.equal(reply.answers?.length, 2);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Service, services } from '../../api/gen/core-v1.ts';
import { ipAddresses, type ServiceCIDR, serviceCIDRs } from '../../api/gen/networking-v1.ts';
import { type Draft, draft } from '../../apimachinery/meta.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { addressObject } from './address-object.ts';
import { AddressRange } from './address-range.ts';
import { lowerBandOf, NumberRange } from './number-range.ts';
import { ServiceAllocator } from './service-allocator.ts';

function allocatorOf(
  cidrs: readonly string[] = ['10.0.0.0/24'],
  stored: readonly Service[] = [],
  api = new MemoryApi(),
) {
  api.put(services, ...stored);
  api.put(serviceCIDRs, readyRange('kubernetes', cidrs));
  return new ServiceAllocator({ client: api.client, random: seededRandom(1), log: silentLog, serviceCidrs: cidrs });
}

function readyRange(name: string, cidrs: readonly string[]): ServiceCIDR {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const ready = { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime };
  return { metadata: { name }, spec: { cidrs }, status: { conditions: [ready] } };
}

const service = (spec: Service['spec'] = {}, name = 's'): Service => ({
  metadata: { name, namespace: 'a' },
  spec: { type: 'ClusterIP', selector: { app: 'x' }, ports: [{ port: 80 }], ...spec },
});

/** What is stored after a successful write. */
async function created(allocator: ServiceAllocator, object: Service): Promise<Service> {
  const next = draft(object) as Draft<Service>;
  await (await allocator.allocate(next, undefined, { dryRun: false }))(true);
  return next as Service;
}

async function updated(allocator: ServiceAllocator, object: Service, previous: Service): Promise<Service> {
  const next = draft(object) as Draft<Service>;
  await (await allocator.allocate(next, previous, { dryRun: false }))(true);
  return next as Service;
}

async function messageOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => assert.fail('should have been refused'),
    (error: Error) => error.message,
  );
}

const ipPath = 'Service "s" is invalid: spec.clusterIPs: Invalid value:';

describe('Cluster IPs', () => {
  it('come from the upper band of the range', async () => {
    const { spec } = await created(allocatorOf(), service());
    const last = Number(spec.clusterIP!.split('.')[3]);
    assert.ok(spec.clusterIP!.startsWith('10.0.0.') && last >= 17 && last <= 254, spec.clusterIP);
    assert.deepEqual(
      [spec.clusterIPs, spec.ipFamilies, spec.ipFamilyPolicy],
      [[spec.clusterIP], ['IPv4'], 'SingleStack'],
    );
  });

  it('are each given once, lower band last, and then no more', async () => {
    const allocator = allocatorOf(['10.0.0.0/27']);
    const all = new Set<string>();
    for (let i = 0; i < 30; i++) all.add((await created(allocator, service())).spec.clusterIP!);
    assert.equal(all.size, 30);
    assert.ok(!all.has('10.0.0.0') && !all.has('10.0.0.31'));
    assert.equal(
      await messageOf(created(allocator, service())),
      'Internal error occurred: failed to allocate a serviceIP for Service "s": range is full',
    );
  });

  it('can be asked for', async () => {
    const { spec } = await created(allocatorOf(), service({ clusterIP: '10.0.0.10' }));
    assert.deepEqual(spec.clusterIPs, ['10.0.0.10']);
  });

  const refusals: readonly (readonly [string, string, string])[] = [
    [
      'that somebody has',
      '10.0.0.10',
      `${ipPath} ["10.0.0.10"]: failed to allocate IP 10.0.0.10: provided IP is already allocated`,
    ],
    [
      'of another network',
      '10.1.0.10',
      `${ipPath} ["10.1.0.10"]: failed to allocate IP 10.1.0.10: the provided network does not match the current range`,
    ],
    [
      'that is the broadcast address',
      '10.0.0.255',
      `${ipPath} ["10.0.0.255"]: failed to allocate IP 10.0.0.255: the provided IP (10.0.0.255) is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
    ],
    [
      'of a family the cluster does not have',
      'fd00::1',
      'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      'that is none',
      'x',
      'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ];
  for (const [name, clusterIP, message] of refusals) {
    it(`one ${name} is refused`, async () => {
      const allocator = allocatorOf();
      await created(allocator, service({ clusterIP: '10.0.0.10' }, 'first'));
      assert.equal(await messageOf(created(allocator, service({ clusterIP }))), message);
    });
  }

  it('are given back when the write fails, and when the service goes', async () => {
    const allocator = allocatorOf();
    const wanted = service({ clusterIP: '10.0.0.10' });
    await (await allocator.allocate(draft(wanted) as Draft<Service>, undefined, { dryRun: false }))(false);
    const stored = await created(allocator, wanted);
    await allocator.release(stored);
    assert.equal((await created(allocator, wanted)).spec.clusterIP, '10.0.0.10');
  });

  it("are not taken by a dry run, which shows the network's own where any would do", async () => {
    const allocator = allocatorOf();
    const tried = draft(service()) as Draft<Service>;
    await (await allocator.allocate(tried, undefined, { dryRun: true }))(true);
    assert.equal(tried.spec.clusterIP, '10.0.0.0');
    const wanted = service({ clusterIP: '10.0.0.10' });
    await (await allocator.allocate(draft(wanted) as Draft<Service>, undefined, { dryRun: true }))(true);
    assert.equal((await created(allocator, wanted)).spec.clusterIP, '10.0.0.10');
  });

  it('are objects that name their Service', async () => {
    const api = new MemoryApi();
    const allocator = allocatorOf(['10.0.0.0/24'], [], api);
    const stored = await created(allocator, service({ clusterIP: '10.0.0.10' }));
    const labels = {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    };
    const address = api.find(ipAddresses, '10.0.0.10');
    assert.deepEqual(address?.metadata.labels, labels);
    assert.deepEqual(address?.spec.parentRef, { group: '', resource: 'services', namespace: 'a', name: 's' });
    await allocator.release(stored);
    assert.equal(api.find(ipAddresses, '10.0.0.10'), undefined);
  });

  it('are taken from any range that is ready, and from none that is going', async () => {
    const api = new MemoryApi();
    const allocator = allocatorOf(['10.0.0.0/30'], [], api);
    await created(allocator, service());
    await created(allocator, service());
    const going = readyRange('going', ['10.2.0.0/24']);
    api.put(serviceCIDRs, readyRange('more', ['10.1.0.0/24']), {
      ...going,
      metadata: { name: 'going', deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    assert.match((await created(allocator, service())).spec.clusterIP!, /^10\.1\.0\./);
    assert.match(
      await messageOf(created(allocator, service({ clusterIP: '10.2.0.9' }))),
      /the provided network does not match the current range$/,
    );
  });

  it('that another server gave away or gave back meanwhile are noticed', async () => {
    const api = new MemoryApi();
    const [here, there] = [0, 1].map(() => allocatorOf(['10.0.0.0/29'], [], api));
    const stored: Service[] = [];
    for (let i = 0; i < 3; i++)
      for (const allocator of [here!, there!]) stored.push(await created(allocator, service()));
    assert.equal(new Set(stored.map(({ spec }) => spec.clusterIP)).size, 6);
    await there!.release(stored[0]!);
    assert.equal((await created(here!, service())).spec.clusterIP, stored[0]!.spec.clusterIP);
  });

  it('of stored services are known after a restart', async () => {
    const stored = service(
      { clusterIP: '10.0.0.10', clusterIPs: ['10.0.0.10'], type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] },
      'old',
    );
    const api = new MemoryApi();
    api.put(ipAddresses, addressObject('10.0.0.10', stored));
    const allocator = allocatorOf(['10.0.0.0/24'], [stored], api);
    assert.match(
      await messageOf(created(allocator, service({ clusterIP: '10.0.0.10' }))),
      /provided IP is already allocated$/,
    );
    const port = service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] });
    assert.equal(
      await messageOf(created(allocator, port)),
      'Service "s" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    );
  });

  it('are not given to headless services and names of outside', async () => {
    const allocator = allocatorOf();
    const { spec } = await created(allocator, service({ clusterIP: 'None' }));
    assert.deepEqual([spec.clusterIP, spec.clusterIPs, spec.ipFamilies], ['None', ['None'], ['IPv4']]);
    const outside = await created(allocator, service({ type: 'ExternalName', externalName: 'x.example' }));
    assert.deepEqual([outside.spec.clusterIP, outside.spec.ipFamilies], [undefined, undefined]);
  });

  it('stay when a client sends its own manifest again', async () => {
    const allocator = allocatorOf();
    const stored = await created(allocator, service({ type: 'NodePort' }));
    const again = await updated(allocator, service({ type: 'NodePort' }), stored);
    assert.deepEqual(again.spec, stored.spec);
  });

  it('go when a service becomes a name of outside, and come when it is one no more', async () => {
    const allocator = allocatorOf();
    const stored = await created(allocator, service({ clusterIP: '10.0.0.10' }));
    const outside = await updated(allocator, { ...stored, spec: { type: 'ExternalName', externalName: 'x' } }, stored);
    assert.equal((await created(allocator, service({ clusterIP: '10.0.0.10' }))).spec.clusterIP, '10.0.0.10');
    assert.match((await updated(allocator, service(), outside)).spec.clusterIP!, /^10\.0\.0\./);
  });
});

describe('Dual stack', () => {
  const dual = ['10.0.0.0/24', 'fd00::/112'];
  it('a service has one family unless it asks for two', async () => {
    const allocator = allocatorOf(dual);
    assert.deepEqual((await created(allocator, service())).spec.ipFamilies, ['IPv4']);
    const { spec } = await created(allocator, service({ ipFamilyPolicy: 'PreferDualStack' }));
    assert.deepEqual(spec.ipFamilies, ['IPv4', 'IPv6']);
    assert.equal(spec.clusterIPs?.length, 2);
    assert.match(spec.clusterIPs![1]!, /^fd00::/);
    assert.deepEqual(
      (await created(allocator, service({ ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] }))).spec.ipFamilies,
      ['IPv6', 'IPv4'],
    );
  });

  it('preferring two is content with one, requiring two is not', async () => {
    const allocator = allocatorOf();
    assert.deepEqual((await created(allocator, service({ ipFamilyPolicy: 'PreferDualStack' }))).spec.ipFamilies, [
      'IPv4',
    ]);
    assert.equal(
      await messageOf(created(allocator, service({ ipFamilyPolicy: 'RequireDualStack' }))),
      'Service "s" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    );
    assert.equal(
      await messageOf(created(allocator, service({ ipFamilies: ['IPv6'] }))),
      'Service "s" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    );
  });

  it('can be taken on and given up later', async () => {
    const allocator = allocatorOf(dual);
    const single = await created(allocator, service());
    const both = await updated(
      allocator,
      { ...single, spec: { ...single.spec, ipFamilyPolicy: 'PreferDualStack' } },
      single,
    );
    assert.equal(both.spec.clusterIPs?.length, 2);
    assert.equal(both.spec.clusterIPs?.[0], single.spec.clusterIP);
    const again = await updated(allocator, { ...both, spec: { ...both.spec, ipFamilyPolicy: 'SingleStack' } }, both);
    assert.deepEqual(again.spec.clusterIPs, [single.spec.clusterIP]);
    const reused = await created(allocator, service({ ipFamilies: ['IPv6'], clusterIP: both.spec.clusterIPs![1]! }));
    assert.equal(reused.spec.clusterIP, both.spec.clusterIPs![1]);
  });

  it('dropping the second address needs the policy to say so', async () => {
    const allocator = allocatorOf(dual);
    const both = await created(allocator, service({ ipFamilyPolicy: 'PreferDualStack' }));
    const dropped = { ...both, spec: { ...both.spec, clusterIPs: [both.spec.clusterIP!] } };
    assert.match(
      await messageOf(updated(allocator, dropped, both)),
      /spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary cluster IP$/,
    );
  });

  it('a headless service without selector has both families anyway', async () => {
    const { spec } = await created(allocatorOf(), service({ clusterIP: 'None', selector: undefined }));
    assert.deepEqual([spec.ipFamilyPolicy, spec.ipFamilies], ['RequireDualStack', ['IPv4', 'IPv6']]);
  });
});

describe('Node ports', () => {
  const nodePort = (...ports: NonNullable<Service['spec']['ports']>[number][]) => service({ type: 'NodePort', ports });
  const portsOf = (object: Service) => (object.spec.ports ?? []).map((port) => port.nodePort);

  it('come from the upper band', async () => {
    const [port] = portsOf(await created(allocatorOf(), nodePort({ port: 80 })));
    assert.ok(port! >= 30086 && port! <= 32767, String(port));
  });

  it('are shared by ports of one number over two protocols', async () => {
    const [tcp, udp] = portsOf(
      await created(
        allocatorOf(),
        nodePort({ name: 'a', port: 53, protocol: 'TCP', nodePort: 30053 }, { name: 'b', port: 53, protocol: 'UDP' }),
      ),
    );
    assert.deepEqual([tcp, udp], [30053, 30053]);
  });

  it('out of range are refused', async () => {
    assert.equal(
      await messageOf(created(allocatorOf(), nodePort({ port: 80, nodePort: 80 }))),
      'Service "s" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
  });

  it('are given back when a service needs them no more', async () => {
    const allocator = allocatorOf();
    const stored = await created(allocator, nodePort({ port: 80, nodePort: 30080 }));
    await updated(allocator, { ...stored, spec: { ...stored.spec, type: 'ClusterIP', ports: [{ port: 80 }] } }, stored);
    assert.deepEqual(portsOf(await created(allocator, nodePort({ port: 80, nodePort: 30080 }))), [30080]);
  });

  it('change one by one in an update', async () => {
    const allocator = allocatorOf();
    const stored = await created(
      allocator,
      nodePort({ name: 'a', port: 80, nodePort: 30080 }, { name: 'b', port: 81, nodePort: 30081 }),
    );
    const ports = [
      { name: 'a', port: 80, nodePort: 30080 },
      { name: 'b', port: 81, nodePort: 30082 },
    ];
    await updated(allocator, { ...stored, spec: { ...stored.spec, ports } }, stored);
    assert.deepEqual(portsOf(await created(allocator, nodePort({ port: 80, nodePort: 30081 }))), [30081]);
    assert.match(
      await messageOf(created(allocator, nodePort({ port: 80, nodePort: 30080 }))),
      /provided port is already allocated$/,
    );
  });

  it('are not given to a load balancer that wants none', async () => {
    const spec = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false } as const;
    assert.deepEqual(portsOf(await created(allocatorOf(), service(spec))), [undefined]);
  });

  it('of health checks come and go with the traffic policy', async () => {
    const allocator = allocatorOf();
    const balanced = service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30500 });
    const stored = await created(allocator, balanced);
    assert.equal(
      await messageOf(created(allocator, balanced)),
      'Internal error occurred: failed to allocate requested HealthCheck NodePort 30500: provided port is already allocated',
    );
    await updated(
      allocator,
      { ...stored, spec: { ...stored.spec, externalTrafficPolicy: 'Cluster', healthCheckNodePort: undefined } },
      stored,
    );
    assert.equal((await created(allocator, balanced)).spec.healthCheckNodePort, 30500);
  });

  it('of a failed write are all given back', async () => {
    const allocator = allocatorOf();
    await created(allocator, nodePort({ port: 80, nodePort: 30081 }));
    await messageOf(
      created(allocator, nodePort({ name: 'a', port: 80, nodePort: 30080 }, { name: 'b', port: 81, nodePort: 30081 })),
    );
    assert.deepEqual(portsOf(await created(allocator, nodePort({ port: 80, nodePort: 30080 }))), [30080]);
  });
});

describe('Ranges', () => {
  it("have upstream's lower bands", () => {
    const address = { step: 16n, least: 16n, most: 256n };
    const sizes = [
      [16n, 0n],
      [32n, 16n],
      [256n, 16n],
      [4096n, 256n],
      [65536n, 256n],
    ] as const;
    for (const [size, band] of sizes) assert.equal(lowerBandOf(size, address), band);
    assert.equal(lowerBandOf(2768n, { step: 32n, least: 16n, most: 128n }), 86n);
  });

  it('refuse what is no CIDR, or too wide', () => {
    assert.throws(() => new AddressRange('10.0.0.0', seededRandom(1)), { message: 'invalid CIDR address: 10.0.0.0' });
    assert.throws(() => new AddressRange('fd00::/48', seededRandom(1)), /shortest allowed prefix length/);
  });

  it('of IPv6 are handed out without being walked', () => {
    const range = new AddressRange('fd00::/64', seededRandom(1));
    assert.ok(range.numbers.findFree() !== undefined);
    assert.equal(range.firstAddress, 'fd00::1');
  });

  it('find the last free number', () => {
    const range = new NumberRange({ first: 1n, last: 8n, lowerBand: 3n, random: seededRandom(1) });
    for (let i = 1n; i <= 8n; i++) if (i !== 2n) range.take(i);
    assert.equal(range.findFree(), 2n);
    assert.equal(range.findFree(new Set([2n])), undefined);
  });
});

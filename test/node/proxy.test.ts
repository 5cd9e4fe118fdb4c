/** The service proxy against the real kernel: packets sent between network namespaces find their way as Services say. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Service, services } from '../../src/api/gen/core-v1.ts';
import { type EndpointSlice, endpointSlices } from '../../src/api/gen/discovery-v1.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { routeProtocol } from '../../src/cluster/node/node-routes.ts';
import { isMasquerading, masquerade } from '../../src/cluster/node/pod-network.ts';
import { serviceRouteKernel } from '../../src/cluster/node/service-routes.ts';
import { nftKernel } from '../../src/proxy/nft-kernel.ts';
import { runProxy } from '../../src/proxy/proxy.ts';
import { desiredRuleset, type Ruleset, type RulesetOptions } from '../../src/proxy/ruleset.ts';
import { servicePorts } from '../../src/proxy/service-ports.ts';
import { transactionTo } from '../../src/proxy/transaction.ts';
import { componentContext } from '../../src/reconcile/component.ts';
import { MemoryApi } from '../../src/testing/memory-api.ts';
import { MemoryInformers } from '../../src/testing/memory-informers.ts';
import { type TestHost, type TestNetwork, testNetwork } from '../../src/testing/network.ts';

const options: RulesetOptions = {
  family: 'ip',
  clusterCidrs: ['10.101.0.0/16'],
  serviceCidrs: ['10.96.0.0/16'],
  nodeIps: ['192.168.77.1'],
  masqueradeAll: false,
  masqueradeBit: 14,
};

let network: TestNetwork;
let node: TestHost;
let client: TestHost;
let first: TestHost;
let applied: Ruleset | undefined;
const folder = mkdtempSync(join(tmpdir(), 'coracle-proxy-'));

before(() => {
  network = testNetwork();
  node = network.host(['192.168.77.1/24']);
  client = network.pod(node, '10.101.1.9');
  [1, 2].forEach((number) => {
    const pod = network.pod(node, `10.101.1.${number}`);
    if (number === 1) first = pod;
    mkdirSync(join(folder, `www${number}`));
    writeFileSync(join(folder, `www${number}`, 'index.html'), `backend ${number}`);
    pod.start('/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', join(folder, `www${number}`));
  });
});

after(() => {
  network.close();
  rmSync(folder, { recursive: true, force: true });
});

function service(spec: Partial<NonNullable<Service['spec']>> = {}): Service {
  return {
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: '10.96.0.5', clusterIPs: ['10.96.0.5'], ports: [{ port: 80, nodePort: 30080 }], ...spec },
  };
}

function slice(numbers: readonly number[], nodeName = 'n1'): EndpointSlice {
  return {
    metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: numbers.map((number) => ({ addresses: [`10.101.1.${number}`], nodeName, conditions: { ready: true } })),
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  };
}

async function serve(subject: Service, slices: readonly EndpointSlice[]): Promise<void> {
  const kernel = nftKernel({ folder, nft: node.wrapper('nft') });
  const desired = desiredRuleset(servicePorts([subject], slices, { name: 'n1', zone: undefined }, 'ip'), options);
  await kernel.apply(transactionTo(desired, applied, options));
  applied = desired;
}

/** What an HTTP GET from this host brings, or `refused` at once, or `nothing` after a second. */
function get(from: TestHost, address: string): string {
  try {
    return from.run('timeout', '1', '/bin/busybox', 'wget', '-q', '-O', '-', `http://${address}/`);
  } catch (error) {
    return (error as { status?: number }).status === 124 ? 'nothing' : 'refused';
  }
}

const answers = (from: TestHost, address: string, times = 12) =>
  [...new Set(Array.from({ length: times }, () => get(from, address)))].sort();

test('a cluster IP answers from a Pod and from the node, by every endpoint', async () => {
  await serve(service(), [slice([1, 2])]);
  assert.deepEqual(answers(client, '10.96.0.5'), ['backend 1', 'backend 2']);
  assert.deepEqual(answers(node, '10.96.0.5'), ['backend 1', 'backend 2']);
});

test('a node without a way to anywhere still reaches Services, over a route of its own', async () => {
  await serve(service(), [slice([1, 2])]);
  const kernel = serviceRouteKernel(node.wrapper('ip'));
  assert.equal(await kernel.isRouted('10.96.0.0/16'), true);
  node.run('ip', 'route', 'del', 'default');
  try {
    assert.equal(await kernel.isRouted('10.96.0.0/16'), false);
    assert.equal(get(node, '10.96.0.5'), 'refused');
    await kernel.keepHere('10.96.0.0/16', '192.168.77.1');
    assert.equal(await kernel.isRouted('10.96.0.0/16'), true);
    assert.deepEqual(answers(node, '10.96.0.5'), ['backend 1', 'backend 2']);
  } finally {
    node.run('ip', 'route', 'add', 'default', 'dev', 'uplink');
    node.run('ip', 'route', 'flush', 'proto', routeProtocol);
  }
});

test('a node port answers on the address of the node', async () => {
  await serve(service(), [slice([1, 2])]);
  assert.deepEqual(answers(client, '192.168.77.1:30080'), ['backend 1', 'backend 2']);
  assert.deepEqual(answers(node, '192.168.77.1:30080'), ['backend 1', 'backend 2']);
});

test('a Pod reaches itself through its own Service', async () => {
  await serve(service(), [slice([1])]);
  assert.equal(get(first, '10.96.0.5'), 'backend 1');
});

test('an endpoint that goes takes its traffic with it, in one step', async () => {
  await serve(service(), [slice([1, 2])]);
  await serve(service(), [slice([2])]);
  assert.deepEqual(answers(client, '10.96.0.5'), ['backend 2']);
});

test('without endpoints a Service refuses at once, and a free address of the range is silent', async () => {
  await serve(service(), []);
  assert.equal(get(client, '10.96.0.5'), 'refused');
  assert.equal(get(node, '192.168.77.1:30080'), 'refused');
  assert.equal(get(client, '10.96.0.77'), 'nothing');
  await serve(service(), [slice([1])]);
  assert.equal(get(client, '10.96.0.5'), 'backend 1');
  assert.equal(get(client, '10.96.0.5:81'), 'refused', 'a port that is not the Service´s');
});

test('with client affinity a client stays with its endpoint', async () => {
  await serve(service({ sessionAffinity: 'ClientIP' }), [slice([1, 2])]);
  assert.equal(answers(client, '10.96.0.5').length, 1);
});

test('externalTrafficPolicy Local without a local endpoint is silent from outside, and works from Pods', async () => {
  await serve(service({ type: 'NodePort', externalTrafficPolicy: 'Local' }), [slice([1], 'n2')]);
  const outside = network.pod(node, '172.20.0.9');
  assert.equal(get(outside, '192.168.77.1:30080'), 'nothing');
  await serve(service({ type: 'NodePort', externalTrafficPolicy: 'Local' }), [slice([1], 'n1')]);
  assert.equal(get(outside, '192.168.77.1:30080'), 'backend 1');
});

test('a thousand Services are one transaction, and a change to one of them sends a few commands', async () => {
  const many = Array.from({ length: 1000 }, (_, i) => {
    const base = service({ clusterIPs: [`10.96.${8 + (i >> 8)}.${i & 255}`], ports: [{ port: 80 }] });
    return { ...base, metadata: { name: `s${i}`, namespace: 'default' } };
  });
  const slices = many.map((each) => ({
    ...slice([1]),
    metadata: {
      name: each.metadata.name,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': each.metadata.name },
    },
  }));
  const of = (endpoints: readonly EndpointSlice[]) =>
    desiredRuleset(servicePorts(many, endpoints, { name: 'n1', zone: undefined }, 'ip'), options);
  const kernel = nftKernel({ folder, nft: node.wrapper('nft') });
  const before = of(slices);
  await kernel.apply(transactionTo(before, undefined, options));
  const next = of([
    { ...slices[0]!, endpoints: [{ addresses: ['10.101.1.2'], conditions: { ready: true } }] },
    ...slices.slice(1),
  ]);
  const commands = transactionTo(next, before, options);
  assert.ok(commands.length <= 10, `${commands.length} commands`);
  await kernel.apply(commands);
  applied = next;
  assert.equal(get(client, '10.96.8.0'), 'backend 2');
  assert.equal(get(client, '10.96.8.1'), 'backend 1');
});

for (const flush of ['flush ruleset', 'delete table ip kube-proxy', 'flush table ip kube-proxy']) {
  test(`the proxy builds its tables anew after somebody's \`nft ${flush}\``, async () => {
    const api = new MemoryApi();
    api.put(services, service());
    api.put(endpointSlices, slice([1]));
    const stopping = new AbortController();
    let synced = Promise.withResolvers<void>();
    const running = runProxy(
      componentContext({
        client: api.client,
        informers: new MemoryInformers(api),
        clock: systemClock,
        random: systemRandom,
        log: silentLog,
        signal: stopping.signal,
      }),
      {
        kernel: nftKernel({ folder, nft: node.wrapper('nft') }),
        node: { name: 'n1', zone: undefined },
        families: [options],
        syncPeriodMs: 20,
        minSyncPeriodMs: 10,
        onSynced: () => synced.resolve(),
      },
    );
    await synced.promise;
    assert.equal(get(client, '10.96.0.5'), 'backend 1');
    node.run('nft', ...flush.split(' '));
    // One round may have been under way; the second has looked after the flush.
    for (let round = 0; round < 2; round++) {
      synced = Promise.withResolvers();
      await synced.promise;
    }
    assert.equal(get(client, '10.96.0.5'), 'backend 1');
    stopping.abort();
    await running;
    applied = undefined;
  });
}

test("the rules of the Pods' network are missed once somebody flushed them", async () => {
  const kernel = nftKernel({ folder, nft: node.wrapper('nft') });
  await masquerade(kernel, ['10.101.1.0/24'], { inside: ['10.101.0.0/16'] });
  assert.equal(await isMasquerading(kernel, ['10.101.1.0/24']), true);
  node.run('nft', 'flush', 'ruleset');
  assert.equal(await isMasquerading(kernel, ['10.101.1.0/24']), false);
});

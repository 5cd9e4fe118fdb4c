/**
 * What the kubelet does at the same time when it starts a Pod, and what it does not ask at all: no step waits for another that it does not need.
 * And how little it asks while the Pod runs.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { configMaps, events, type Pod, pods, secrets } from '../../api/gen/core-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { NodeHost } from '../host/host.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';

const node = 'node-1';
const container = { name: 'main', image: 'app:1' };

async function setUp(logs: Partial<NodeHost['logs']> = {}) {
  const clock = new FakeClock();
  const harness = kubeletHarness(clock);
  const runtime = new SimulatedRuntime({ clock, random: harness.random, podCidr: () => '10.244.1.0/24' });
  const simulated = simulatedHost();
  const host = { ...simulated, logs: { ...simulated.logs, ...logs } };
  const { context } = harness.context();
  await startKubelet(context, { nodeName: node, runtime, host });
  await clock.advance(500);
  const run = async (pod: Pod) => {
    await harness.client.create(pods, pod);
    await clock.advance(100);
    return (await getPod(harness.client, pod.metadata.name!))!;
  };
  return { ...harness, clock, runtime, host, run };
}

/** Keeps the sandbox from being made until `open` is called. */
function gate(mock: TestContext['mock'], runtime: SimulatedRuntime) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const make = runtime.runPodSandbox.bind(runtime);
  const sandboxes = mock.method(runtime, 'runPodSandbox', async (...args: Parameters<typeof make>) => {
    await promise;
    return make(...args);
  });
  return { open: resolve, isReached: () => sandboxes.mock.callCount() > 0 };
}

describe('the start of a Pod', () => {
  it('does not ask the runtime for a Pod that it cannot have', async ({ mock }) => {
    const { run, runtime } = await setUp();
    const lists = mock.method(runtime, 'listPodSandboxes');
    const sandbox = gate(mock, runtime);
    await run(testPod('web', node, { containers: [container] }));
    assert.ok(sandbox.isReached());
    assert.equal(lists.mock.callCount(), 0);
  });

  it('looks for images, writes files and reads pull secrets while the sandbox is made', async ({ mock }) => {
    const { run, client, clock, runtime, host } = await setUp();
    await client.create(configMaps, { metadata: { name: 'settings', namespace: 'default' }, data: { a: '1' } });
    await client.create(secrets, { metadata: { name: 'registry', namespace: 'default' }, data: {} });
    await run(testPod('earlier', node, { containers: [container] }));
    const looks = mock.method(runtime, 'imageStatus');
    const mounts = mock.method(host.volumes, 'mount');
    const reads = mock.method(client, 'get');
    const sandbox = gate(mock, runtime);
    const spec = {
      imagePullSecrets: [{ name: 'registry' }],
      containers: [{ ...container, volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
      volumes: [{ name: 'config', configMap: { name: 'settings' } }],
    };
    assert.equal((await run(testPod('web', node, spec))).status?.phase, 'Pending');
    assert.equal(looks.mock.callCount(), 1);
    assert.equal(mounts.mock.callCount(), 1);
    assert.ok(reads.mock.calls.some(({ arguments: [, key] }) => (key as { name?: string }).name === 'registry'));
    sandbox.open();
    await clock.advance(100);
    assert.equal((await getPod(client, 'web'))?.status?.phase, 'Running');
    assert.equal(looks.mock.callCount(), 1, 'an image that was found is not looked for again');
  });

  it('makes no sandbox while a volume has to be waited for', async ({ mock }) => {
    const { run, runtime } = await setUp();
    const sandbox = gate(mock, runtime);
    const volumeMounts = [{ name: 'config', mountPath: '/config' }];
    const volumes = [{ name: 'config', configMap: { name: 'late' } }];
    await run(testPod('web', node, { containers: [{ ...container, volumeMounts }], volumes }));
    assert.ok(!sandbox.isReached());
  });

  it('makes no sandbox before a folder of the node was found to be what it should be', async ({ mock }) => {
    const { run, runtime, host } = await setUp();
    mock.method(host.volumes, 'mount', async () => Promise.reject(new Error('hostPath type check failed')));
    const sandbox = gate(mock, runtime);
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const volumes = [{ name: 'data', hostPath: { path: '/data', type: 'Directory' as const } }];
    await run(testPod('web', node, { containers: [{ ...container, volumeMounts }], volumes }));
    assert.ok(!sandbox.isReached());
  });

  it('reads what all volumes are to hold before it tells that one of them cannot be had', async ({ mock }) => {
    const { run, client, clock } = await setUp();
    const slow = Promise.withResolvers<never>();
    const get = client.get.bind(client);
    mock.method(client, 'get', (...args: Parameters<typeof get>) =>
      (args[1] as { readonly name: string }).name === 'slow' ? slow.promise : get(...args),
    );
    const names = ['slow', 'missing'];
    await run(
      testPod('web', node, {
        containers: [{ ...container, volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) }],
        volumes: names.map((name) => ({ name, configMap: { name } })),
      }),
    );
    const failures = async () => (await client.list(events)).items.filter(({ reason }) => reason === 'FailedMount');
    assert.equal((await failures()).length, 0);
    slow.reject(new Error('late'));
    await clock.advance(100);
    assert.equal((await failures()).length, 1);
  });

  it('waits for a hook also when the container’s log cannot be linked', async ({ mock }) => {
    const { run, client, clock, host } = await setUp();
    mock.method(host.files, 'linkLog', () => Promise.reject(new Error('no space left')));
    const lifecycle = { postStart: { sleep: { seconds: 60 } } };
    await run(testPod('web', node, { containers: [{ ...container, lifecycle }] }));
    await clock.advance(50_000);
    assert.equal((await getPod(client, 'web'))?.status?.phase, 'Pending');
    await clock.advance(30_000);
    assert.equal((await getPod(client, 'web'))?.status?.phase, 'Running');
  });

  it('starts no container before its files are there', async ({ mock }) => {
    const { run, client, clock, runtime, host } = await setUp();
    await client.create(configMaps, { metadata: { name: 'settings', namespace: 'default' }, data: { a: '1' } });
    const written = Promise.withResolvers<string>();
    mock.method(host.volumes, 'mount', () => written.promise);
    const creations = mock.method(runtime, 'createContainer');
    const spec = {
      containers: [{ ...container, volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
      volumes: [{ name: 'config', configMap: { name: 'settings' } }],
    };
    await run(testPod('web', node, spec));
    assert.equal(creations.mock.callCount(), 0);
    written.resolve('/volumes/config');
    await clock.advance(100);
    assert.equal(creations.mock.callCount(), 1);
    assert.equal((await getPod(client, 'web'))?.status?.phase, 'Running');
  });

  it('finishes the start of a container whose Pod is deleted meanwhile, and stops it then', async ({ mock }) => {
    const { run, client, clock, runtime } = await setUp();
    const started = Promise.withResolvers<void>();
    const start = runtime.startContainer.bind(runtime);
    const signals: unknown[] = [];
    mock.method(runtime, 'startContainer', async (...[id, options]: Parameters<typeof start>) => {
      signals.push(options?.signal);
      await started.promise;
      return start(id, options);
    });
    const stops = mock.method(runtime, 'stopContainer');
    await run(testPod('web', node, { containers: [container] }));
    await client.delete(pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 1 });
    await clock.advance(1000);
    assert.deepEqual([signals, stops.mock.callCount()], [[undefined], 0]);

    started.resolve();
    await clock.advance(5000);
    assert.equal(stops.mock.callCount(), 1);
    assert.equal(await getPod(client, 'web'), undefined);
  });

  it('asks about a container that it has started while it lists all, and once', async ({ mock }) => {
    const { run, runtime } = await setUp();
    const order: string[] = [];
    const list = runtime.listContainers.bind(runtime);
    mock.method(runtime, 'listContainers', async (...args: Parameters<typeof list>) => {
      const answer = await list(...args);
      order.push('listed');
      return answer;
    });
    const status = runtime.containerStatus.bind(runtime);
    mock.method(runtime, 'containerStatus', (...args: Parameters<typeof status>) => {
      order.push('asked');
      return status(...args);
    });
    await run(testPod('web', node, { containers: [container] }));
    assert.deepEqual(order.slice(0, 2), ['asked', 'listed']);
    assert.equal(order.filter((what) => what === 'asked').length, 1);
  });
});

describe('a Pod that runs as it should', () => {
  it('costs one look at the runtime when it is looked after', async ({ mock }) => {
    const { run, clock, runtime } = await setUp();
    await run(testPod('web', node, { containers: [container] }));
    const lists = mock.method(runtime, 'listContainers');
    const own = () => lists.mock.calls.filter(({ arguments: [filter] }) => filter?.labels !== undefined).length;
    // Longer than the pace of looking after it, shorter than twice that.
    await clock.advance(91_000);
    assert.equal(own(), 1);
  });

  it('has its log looked at every ten seconds, but is asked only once where that lies', async ({ mock }) => {
    const rotated: string[] = [];
    const { run, clock, runtime } = await setUp({ rotate: async (path) => void rotated.push(path) });
    await run(testPod('web', node, { containers: [container] }));
    const asked = mock.method(runtime, 'containerStatus');
    await clock.advance(30_000);
    assert.equal(rotated.length, 3);
    assert.equal(new Set(rotated).size, 1);
    assert.equal(asked.mock.callCount(), 1);
  });
});

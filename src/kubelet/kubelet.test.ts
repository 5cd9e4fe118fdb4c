/** The kubelet as a whole on the simulated runtime and a fake clock: what a Pod's owner sees through the API. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leases } from '../api/gen/coordination-v1.ts';
import { configMaps, events, nodes, type Pod, type PodStatus, pods } from '../api/gen/core-v1.ts';
import { serviceUnavailable } from '../apimachinery/status.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { defaultConfiguration, type KubeletConfiguration } from './configuration.ts';
import type { PodCgroups, ProbeOutcome } from './host/host.ts';
import { simulatedHost } from './host/simulated-host.ts';
import { getNode, getPod, kubeletHarness, testPod } from './kubelet.fixture.ts';
import { type Kubelet, startKubelet } from './kubelet.ts';
import { SimulatedRuntime } from './runtime/simulated/simulated-runtime.ts';

const node = 'node-1';

interface Setup {
  readonly configuration?: Partial<KubeletConfiguration>;
  readonly probe?: (target: string) => ProbeOutcome;
  readonly cgroups?: Partial<PodCgroups>;
  readonly prepare?: (parts: ReturnType<typeof kubeletHarness>) => Promise<unknown>;
}

async function setUp({ configuration, probe, cgroups, prepare }: Setup = {}) {
  const simulated = simulatedHost({ probe });
  const clock = new FakeClock();
  const harness = kubeletHarness(clock);
  const runtime = new SimulatedRuntime({ clock, random: harness.random, podCidr: () => '10.244.1.0/24' });
  const host = { ...simulated, cgroups: { ...simulated.cgroups, ...cgroups } };
  await prepare?.(harness);
  const start = async () => {
    const { stop, context } = harness.context();
    const kubelet = await startKubelet(context, { nodeName: node, runtime, host, configuration });
    await clock.advance(500);
    return { kubelet, stop };
  };
  const running: { kubelet: Kubelet; stop: AbortController } = await start();
  return {
    ...harness,
    clock,
    runtime,
    ...running,
    start,
    run: async (pod: Pod, ms = 100) => {
      await harness.client.create(pods, pod);
      await clock.advance(ms);
      return (await getPod(harness.client, pod.metadata.name!))!;
    },
    pod: (name: string) => getPod(harness.client, name),
    eventsOf: async (name: string) =>
      (await harness.client.list(events)).items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)),
  };
}

const forever = { name: 'main', image: 'app:1' };
const condition = (pod: Pod | undefined, type: string) => pod?.status?.conditions?.find((one) => one.type === type);
const statusOf = (pod: Pod | undefined, name: string) =>
  [...(pod?.status?.containerStatuses ?? []), ...(pod?.status?.initContainerStatuses ?? [])].find(
    (one) => one.name === name,
  );

describe('registration', () => {
  it('makes a Node with labels, taints, addresses, capacity and conditions', async () => {
    const { client } = await setUp({
      configuration: {
        nodeLabels: { zone: 'a' },
        registerWithTaints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
        providerId: 'test://1',
        kubeReserved: { cpu: '500m', memory: '1Gi' },
        systemReserved: { cpu: '250m' },
      },
    });
    const made = await getNode(client, node);
    assert.equal(made?.metadata.labels?.zone, 'a');
    assert.equal(made.metadata.labels?.['kubernetes.io/hostname'], node);
    assert.deepEqual(made.spec, {
      taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
      providerID: 'test://1',
    });
    assert.equal(made.status?.capacity?.cpu, '8');
    assert.equal(made.status?.capacity?.memory, '32Gi');
    assert.equal(made.status?.allocatable?.cpu, '7250m');
    assert.equal(made.status?.allocatable?.memory, `${31 * 1024 - 100}Mi`);
    assert.deepEqual(
      made.status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
      [
        ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
        ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
        ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
        ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
      ],
    );
    assert.deepEqual(made.status?.addresses, [
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'Hostname', address: node },
    ]);
  });

  it('keeps the labels of a Node that exists already', async () => {
    const { client } = await setUp({
      configuration: { nodeLabels: { zone: 'b' } },
      prepare: ({ client }) => client.create(nodes, { metadata: { name: node, labels: { zone: 'a' } }, spec: {} }),
    });
    const found = await getNode(client, node);
    assert.deepEqual(found?.metadata.labels, { zone: 'a' });
    assert.equal(found?.status?.conditions?.at(-1)?.status, 'True');
  });

  it('makes no Node when told not to, and serves one that an administrator makes', async () => {
    const registerWithTaints = [{ key: 'k', effect: 'NoSchedule' as const }];
    const { client, clock } = await setUp({ configuration: { registerNode: false, registerWithTaints } });
    assert.equal(await getNode(client, node), undefined);
    await client.create(nodes, { metadata: { name: node }, spec: {} });
    await clock.advance(1000);
    const made = await getNode(client, node);
    assert.equal(made?.status?.nodeInfo?.kubeletVersion, 'v1.36.0');
    assert.equal(
      made?.spec.taints?.some(({ key }) => key === 'k') ?? false,
      false,
      'taints are for registration alone',
    );
  });

  it('writes its status when something changed, and else every five minutes', async () => {
    const { client, clock } = await setUp();
    const version = async () => (await getNode(client, node))?.metadata.resourceVersion;
    const first = await version();
    await clock.advance(200_000);
    assert.equal(await version(), first);
    await clock.advance(110_000);
    assert.notEqual(await version(), first);
  });

  it('renews its Lease every ten seconds, owned by the Node', async () => {
    const { client, clock } = await setUp();
    await clock.advance(11_000);
    const first = await client.get(leases, { namespace: 'kube-node-lease', name: node });
    assert.equal(first.spec?.holderIdentity, node);
    assert.equal(first.spec?.leaseDurationSeconds, 40);
    assert.equal(first.metadata.ownerReferences?.[0]?.kind, 'Node');
    await clock.advance(11_000);
    const second = await client.get(leases, { namespace: 'kube-node-lease', name: node });
    assert.ok(second.spec!.renewTime! > first.spec!.renewTime!);
  });

  it('retries a Lease that cannot be had from 200 ms up to 7 s', async () => {
    const tries: number[] = [];
    const { clock } = await setUp({
      prepare: async ({ api, clock }) =>
        api.failWith(({ path }) => {
          if (!path.includes('leases')) return undefined;
          tries.push(clock.monotonic());
          return serviceUnavailable('away');
        }),
    });
    await clock.advance(60_000);
    const gaps = tries.slice(1).map((at, i) => at - tries[i]!);
    assert.deepEqual(gaps.slice(0, 8), [200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
  });

  it('outlives an API server that is away for an hour: its Lease is held again, its Pods have not noticed', async () => {
    const { run, api, client, clock, runtime } = await setUp();
    await run(testPod('web', node, { containers: [forever] }));
    const lease = async () => client.get(leases, { namespace: 'kube-node-lease', name: node });
    const owner = (await lease()).metadata.ownerReferences?.[0];
    assert.deepEqual([owner?.kind, owner?.uid], ['Node', (await getNode(client, node))?.metadata.uid]);
    const [before] = await runtime.listContainers();
    api.failWith(() => serviceUnavailable('away'));
    await clock.advance(3_600_000);
    api.failWith(undefined);
    await clock.advance(20_000);
    const { renewTime, holderIdentity } = (await lease()).spec ?? {};
    assert.ok(clock.now() - Date.parse(renewTime ?? '') <= 20_000, `${renewTime}`);
    assert.equal(holderIdentity, node);
    const ready = (await getNode(client, node))?.status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'True');
    assert.deepEqual(await runtime.listContainers(), [before]);
  });
});

describe('a Pod', () => {
  it('runs, and shows it', async () => {
    const { run } = await setUp();
    const pod = await run(testPod('web', node, { containers: [forever] }));
    assert.equal(pod.status?.phase, 'Running');
    assert.match(pod.status?.podIP ?? '', /^10\.244\.1\./);
    assert.equal(pod.status?.hostIP, '192.0.2.1');
    assert.equal(pod.status?.qosClass, 'BestEffort');
    assert.equal(condition(pod, 'Ready')?.status, 'True');
    const status = statusOf(pod, 'main');
    assert.ok(status?.state?.running?.startedAt);
    assert.match(status.containerID ?? '', /^simulated:\/\//);
    assert.equal(status.restartCount, 0);
  });

  it('tells what is done for it as Events about the container', async () => {
    const { run, eventsOf } = await setUp();
    await run(testPod('web', node, { containers: [forever] }));
    const told = await eventsOf('web');
    assert.deepEqual(
      told.map(({ reason, message }) => [reason, message?.replace(/in .*\. Image/, 'in T. Image')]),
      [
        ['Pulling', 'Pulling image "app:1"'],
        ['Pulled', 'Successfully pulled image "app:1" in T. Image size: 5242880 bytes.'],
        ['Created', 'Container created'],
        ['Started', 'Container started'],
      ],
    );
    assert.equal(told[2]?.involvedObject.fieldPath, 'spec.containers{main}');
  });

  it('runs init containers one after the other before the rest', async () => {
    const { run, clock, pod } = await setUp();
    const first = await run(
      testPod('web', node, {
        initContainers: [
          { name: 'a', image: 'app:1', command: ['sleep', '2'] },
          { name: 'b', image: 'app:1', command: ['sleep', '2'] },
        ],
        containers: [forever],
      }),
    );
    assert.equal(first.status?.phase, 'Pending');
    assert.ok(statusOf(first, 'a')?.state?.running);
    assert.equal(statusOf(first, 'b')?.state?.waiting?.reason, 'PodInitializing');
    assert.equal(statusOf(first, 'main')?.state?.waiting?.reason, 'PodInitializing');
    assert.equal(condition(first, 'Initialized')?.message, 'containers with incomplete status: [a b]');
    await clock.advance(2000);
    const second = await pod('web');
    assert.equal(statusOf(second, 'a')?.state?.terminated?.reason, 'Completed');
    assert.ok(statusOf(second, 'b')?.state?.running);
    await clock.advance(2000);
    assert.equal((await pod('web'))?.status?.phase, 'Running');
    assert.equal(condition(await pod('web'), 'Initialized')?.status, 'True');
  });

  it('fails when an init container fails and it never restarts', async () => {
    const { run } = await setUp();
    const pod = await run(
      testPod('web', node, {
        restartPolicy: 'Never',
        initContainers: [{ name: 'a', image: 'app:1', command: ['false'] }],
        containers: [forever],
      }),
    );
    assert.equal(pod.status?.phase, 'Failed');
    assert.equal(statusOf(pod, 'a')?.state?.terminated?.exitCode, 1);
    assert.deepEqual(statusOf(pod, 'main')?.state, { waiting: { reason: 'PodInitializing' } });
  });

  it('keeps a sidecar running until the others are done, and then ends as they did', async () => {
    const { run, clock, pod } = await setUp();
    const first = await run(
      testPod('job', node, {
        restartPolicy: 'Never',
        initContainers: [{ name: 'side', image: 'app:1', restartPolicy: 'Always' }],
        containers: [{ name: 'main', image: 'app:1', command: ['sleep', '5'] }],
      }),
    );
    assert.equal(first.status?.phase, 'Running');
    assert.ok(statusOf(first, 'side')?.state?.running);
    await clock.advance(5000);
    const done = await pod('job');
    assert.equal(done?.status?.phase, 'Succeeded');
    assert.ok(statusOf(done, 'side')?.state?.terminated);
  });

  it('succeeds when its containers have, and is not run again', async () => {
    const { run, clock, pod } = await setUp();
    await run(
      testPod('job', node, {
        restartPolicy: 'OnFailure',
        containers: [{ name: 'main', image: 'app:1', command: ['sh', '-c', 'echo hi; sleep 3'] }],
      }),
    );
    await clock.advance(3000);
    const done = await pod('job');
    assert.equal(done?.status?.phase, 'Succeeded');
    assert.equal(condition(done, 'Ready')?.reason, 'PodCompleted');
    await clock.advance(600_000);
    assert.equal(statusOf(await pod('job'), 'main')?.restartCount, 0);
  });

  it('starts a failing container again at growing distances, and says so', async () => {
    const { run, clock, pod } = await setUp();
    await run(testPod('bad', node, { containers: [{ name: 'main', image: 'app:1', command: ['false'] }] }));
    const first = await pod('bad');
    assert.equal(statusOf(first, 'main')?.restartCount, 1, 'the first restart is immediate');
    assert.equal(statusOf(first, 'main')?.state?.waiting?.reason, 'CrashLoopBackOff');
    assert.match(
      statusOf(first, 'main')?.state?.waiting?.message ?? '',
      /^back-off 10s restarting failed container=main pod=bad_default\(/,
    );
    assert.equal(statusOf(first, 'main')?.lastState?.terminated?.exitCode, 1);
    assert.equal(first?.status?.phase, 'Running');
    await clock.advance(10_000);
    assert.equal(statusOf(await pod('bad'), 'main')?.restartCount, 2);
    await clock.advance(19_000);
    assert.equal(statusOf(await pod('bad'), 'main')?.restartCount, 2);
    await clock.advance(1500);
    assert.equal(statusOf(await pod('bad'), 'main')?.restartCount, 3);
  });

  it('starts a container again after the exit codes that its rules name, and no others', async () => {
    const { run, clock, pod } = await setUp();
    const ruled = (name: string, exitCode: number) =>
      testPod(name, node, {
        restartPolicy: 'Never',
        containers: [
          {
            name: 'main',
            image: 'app:1',
            command: ['sh', '-c', `sleep 5; exit ${exitCode}`],
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          },
        ],
      });
    await run(ruled('again', 42));
    await run(ruled('over', 41));
    await clock.advance(5500);
    assert.equal((await pod('again'))?.status?.phase, 'Running');
    assert.equal(statusOf(await pod('again'), 'main')?.restartCount, 1);
    assert.equal((await pod('over'))?.status?.phase, 'Failed');
  });

  it('begins anew with all its containers where a rule says so, and shows that while it does', async () => {
    const { run, clock, pod, client, runtime, kubelet } = await setUp();
    const restarting = (at: Pod | undefined) => condition(at, 'AllContainersRestarting');
    const first = await run(
      testPod('web', node, {
        restartPolicy: 'Never',
        initContainers: [{ name: 'setup', image: 'app:1', command: ['sleep', '2'] }],
        containers: [
          forever,
          {
            name: 'watcher',
            image: 'app:1',
            command: ['sh', '-c', 'sleep 10; exit 88'],
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } }],
          },
        ],
      }),
    );
    assert.equal(restarting(first)?.status, 'False');
    await clock.advance(2000);
    const [sandbox] = await runtime.listPodSandboxes();
    const shown: string[] = [];
    const watching = new AbortController();
    const watched = (async () => {
      for await (const event of client.watch(pods, { namespace: 'default', signal: watching.signal }))
        if (event.type === 'MODIFIED')
          shown.push(`${restarting(event.object)?.status} ${restarting(event.object)?.reason ?? ''}`);
    })().catch(() => undefined);
    await clock.advance(10_500);
    const second = await pod('web');
    assert.ok(shown.includes('True RestartAllContainersStarted'), shown.join());
    assert.equal(restarting(second)?.status, 'False');
    assert.equal(condition(second, 'Initialized')?.status, 'True');
    assert.ok(statusOf(second, 'setup')?.state?.running, 'init containers run again');
    for (const name of ['setup', 'main', 'watcher']) {
      const status = statusOf(second, name);
      assert.equal(status?.restartCount, 1, name);
      assert.equal(status?.lastState?.terminated?.reason, 'RestartingAllContainers', name);
      assert.equal(status?.lastState?.terminated?.exitCode, 137, name);
    }
    await clock.advance(2000);
    const third = await pod('web');
    assert.equal(third?.status?.phase, 'Running');
    assert.ok(statusOf(third, 'main')?.state?.running);
    assert.deepEqual(
      (await runtime.listPodSandboxes()).map(({ id }) => id),
      [sandbox?.id],
    );
    assert.deepEqual(kubelet.node?.status?.declaredFeatures, [
      'ExtendWebSocketsToKubelet',
      'RestartAllContainersOnContainerExits',
    ]);
    watching.abort(new Error('enough'));
    await watched;
  });

  it('waits for an image that cannot be pulled', async () => {
    const { run, clock, kubelet, pod, eventsOf } = await setUp();
    const first = await run(testPod('bad', node, { containers: [{ name: 'main', image: 'does-not-exist:1' }] }));
    assert.equal(statusOf(first, 'main')?.state?.waiting?.reason, 'ErrImagePull');
    assert.equal(first.status?.phase, 'Pending');
    await clock.advance(9000);
    await clock.advance(3000);
    const told = (await eventsOf('bad')).map(({ reason }) => reason);
    assert.ok(told.includes('Failed'));
    await clock.advance(5000);
    assert.match(statusOf(await pod('bad'), 'main')?.state?.waiting?.reason ?? '', /ErrImagePull|ImagePullBackOff/);
    const [cause] = kubelet.causes().items;
    assert.deepEqual(
      [cause?.by, cause?.about.name, cause?.message],
      ['kubelet', 'bad', 'container main could not be started and is tried again'],
    );
    assert.ok(Date.parse(cause?.until ?? '') > clock.now(), 'and when');
  });

  it('waits for a ConfigMap, and starts when it is there', async () => {
    const { run, client, clock, pod, eventsOf } = await setUp();
    const spec = {
      containers: [{ ...forever, volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
      volumes: [{ name: 'config', configMap: { name: 'late' } }],
    };
    const first = await run(testPod('web', node, spec));
    assert.equal(statusOf(first, 'main')?.state?.waiting?.reason, 'ContainerCreating');
    assert.equal(
      (await eventsOf('web'))[0]?.message,
      'MountVolume.SetUp failed for volume "config" : configmap "late" not found',
    );
    await client.create(configMaps, { metadata: { name: 'late', namespace: 'default' }, data: {} });
    await clock.advance(15_000);
    assert.equal((await pod('web'))?.status?.phase, 'Running');
  });

  it('shows a missing key of its environment as CreateContainerConfigError', async () => {
    const { run } = await setUp();
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'none', key: 'k' } } }];
    const pod = await run(testPod('web', node, { containers: [{ ...forever, env }] }));
    assert.deepEqual(statusOf(pod, 'main')?.state?.waiting, {
      reason: 'CreateContainerConfigError',
      message: 'secret "none" not found',
    });
  });

  it('ends within its grace period when it is deleted, and the object goes away', async () => {
    const { run, client, clock, kubelet, pod } = await setUp();
    const annotations = { 'simulation.coracle.io/stop-seconds': '5' };
    await run(testPod('web', node, { containers: [forever] }, { annotations }));
    await client.delete(pods, { namespace: 'default', name: 'web' });
    await clock.advance(4000);
    assert.ok(statusOf(await pod('web'), 'main')?.state?.running, 'still ending');
    assert.deepEqual(
      kubelet.causes().items.map(({ message }) => message),
      ['main still runs and is killed when the grace period is over'],
    );
    await clock.advance(1500);
    assert.equal(await pod('web'), undefined);
    assert.deepEqual(kubelet.causes().items, []);
  });

  it('is killed when its grace period is over', async () => {
    const { run, client, clock, pod, runtime } = await setUp();
    const annotations = { 'simulation.coracle.io/stop-seconds': '500' };
    await run(testPod('web', node, { containers: [forever], terminationGracePeriodSeconds: 10 }, { annotations }));
    await client.delete(pods, { namespace: 'default', name: 'web' });
    await clock.advance(9000);
    assert.ok(await pod('web'));
    await clock.advance(1500);
    assert.equal(await pod('web'), undefined);
    assert.deepEqual(await runtime.listContainers(), [], 'nothing is left behind');
    assert.deepEqual(await runtime.listPodSandboxes(), []);
  });

  it('ends sooner when it is deleted again with less grace', async () => {
    const { run, client, clock, pod } = await setUp();
    const annotations = { 'simulation.coracle.io/stop-seconds': '500' };
    await run(testPod('web', node, { containers: [forever], terminationGracePeriodSeconds: 300 }, { annotations }));
    await client.delete(pods, { namespace: 'default', name: 'web' });
    await clock.advance(2000);
    await client.delete(pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 3 });
    await clock.advance(4000);
    assert.equal(await pod('web'), undefined);
  });

  it('fails at its deadline', async () => {
    const { run, clock, pod } = await setUp();
    await run(testPod('web', node, { containers: [forever], activeDeadlineSeconds: 20 }));
    await clock.advance(21_000);
    const failed = await pod('web');
    assert.equal(failed?.status?.phase, 'Failed');
    assert.equal(failed.status.reason, 'DeadlineExceeded');
    assert.equal(failed.status.message, 'Pod was active on the node longer than the specified deadline');
  });

  it('puts right what others wrote into its status, as the node controller does while a node is silent', async () => {
    const { run, client, clock, pod } = await setUp();
    const made = await run(testPod('web', node, { containers: [forever] }));
    assert.equal(condition(made, 'Ready')?.status, 'True');
    const conditions = (made.status?.conditions ?? []).map((one) =>
      one.type === 'Ready' ? { ...one, status: 'False' } : one,
    );
    await client.updateStatus(pods, { ...made, status: { ...made.status, conditions } });
    await clock.advance(5000);
    assert.equal(condition(await pod('web'), 'Ready')?.status, 'True');
  });

  it('gets other resources while it runs, waits for what others have, and is told what never can be', async () => {
    const { run, client, clock, pod, eventsOf } = await setUp();
    const asking = (cpu: string) => ({ ...forever, resources: { requests: { cpu }, limits: {} } });
    const resize = async (name: string, cpu: string) => {
      const current = (await pod(name))!;
      const generation = (current.metadata.generation ?? 1) + 1;
      const spec = { ...current.spec, containers: [asking(cpu)] };
      await client.update(pods, { ...current, metadata: { ...current.metadata, generation }, spec });
      await clock.advance(1000);
      return (await pod(name))!;
    };
    await run(testPod('one', node, { containers: [asking('2')] }, { generation: 1 }));
    await run(testPod('two', node, { containers: [asking('2')] }, { generation: 1 }));
    const id = statusOf(await pod('one'), 'main')?.containerID;
    const more = await resize('one', '5');
    assert.deepEqual(statusOf(more, 'main')?.allocatedResources, { cpu: '5' });
    assert.deepEqual(statusOf(more, 'main')?.resources?.requests, { cpu: '5' });
    assert.equal(statusOf(more, 'main')?.containerID, id);
    assert.equal(statusOf(more, 'main')?.restartCount, 0);
    assert.equal(condition(more, 'PodResizeInProgress'), undefined);
    const waiting = await resize('two', '4');
    assert.deepEqual(statusOf(waiting, 'main')?.allocatedResources, { cpu: '2' });
    const pending = condition(waiting, 'PodResizePending');
    assert.deepEqual(
      [pending?.status, pending?.reason, pending?.message, pending?.observedGeneration],
      ['True', 'Deferred', "Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000", 2],
    );
    await resize('one', '3');
    const through = await pod('two');
    assert.deepEqual(statusOf(through, 'main')?.allocatedResources, { cpu: '4' });
    assert.equal(condition(through, 'PodResizePending'), undefined);
    const summary = '{"containers":[{"name":"main","resources":{"requests":{"cpu":"4"},"limits":{}}}],"generation":2';
    assert.deepEqual(
      (await eventsOf('two')).filter(({ reason }) => reason?.startsWith('Resize')).map(({ message }) => message),
      [
        `Pod resize Deferred: ${summary},"error":"${pending?.message}"}`,
        `Pod resize started: ${summary}}`,
        `Pod resize completed: ${summary}}`,
      ],
    );
  });

  it('is started anew for other resources where its policy says so', async () => {
    const { run, client, clock, pod } = await setUp();
    const policy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const asking = (memory: string) => ({ ...forever, resizePolicy: policy, resources: { requests: { memory } } });
    const made = await run(testPod('web', node, { containers: [asking('64Mi')] }, { generation: 1 }));
    const current = (await pod('web'))!;
    const spec = { ...current.spec, containers: [asking('128Mi')] };
    await client.update(pods, { ...current, metadata: { ...current.metadata, generation: 2 }, spec });
    await clock.advance(3000);
    const after = statusOf(await pod('web'), 'main');
    assert.notEqual(after?.containerID, statusOf(made, 'main')?.containerID);
    assert.equal(after?.restartCount, 1);
    assert.deepEqual(after?.resources?.requests, { memory: '128Mi' });
  });

  it('is refused when the node has not enough left', async () => {
    const { run } = await setUp();
    const container = { ...forever, resources: { requests: { cpu: '5' }, limits: {} } };
    await run(testPod('one', node, { containers: [container] }));
    const second = await run(testPod('two', node, { containers: [container] }));
    assert.equal(second.status?.phase, 'Failed');
    assert.equal(second.status?.reason, 'OutOfcpu');
    assert.equal(
      second.status?.message,
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 5000, capacity: 8000",
    );
  });

  it('never runs with the users of the node when it asks for users of its own', async () => {
    const { run, eventsOf } = await setUp();
    const made = await run(testPod('web', node, { containers: [forever], hostUsers: false }));
    assert.equal(made.status?.phase, 'Pending');
    assert.equal(
      (await eventsOf('web')).find(({ reason }) => reason === 'FailedCreatePodSandBox')?.message,
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    );
  });

  it('is refused when it changes settings of the whole machine', async () => {
    const { run } = await setUp();
    const sysctls = [{ name: 'vm.swappiness', value: '1' }];
    const made = await run(testPod('web', node, { containers: [forever], securityContext: { sysctls } }));
    assert.equal(made.status?.phase, 'Failed');
    assert.equal(made.status?.reason, 'SysctlForbidden');
  });

  it('is refused when it selects another node', async () => {
    const { run } = await setUp();
    const pod = await run(testPod('one', node, { containers: [forever], nodeSelector: { zone: 'other' } }));
    assert.equal(pod.status?.reason, 'NodeAffinity');
  });
});

describe('probes', () => {
  it('keep a container unready until the readiness probe succeeds', async () => {
    let answer: ProbeOutcome = { result: 'failure', output: 'HTTP probe failed with statuscode: 503' };
    const { run, clock, pod, eventsOf } = await setUp({ probe: () => answer });
    const container = { ...forever, readinessProbe: { httpGet: { port: 80, path: '/' }, periodSeconds: 5 } };
    const first = await run(testPod('web', node, { containers: [container] }), 2000);
    assert.equal(statusOf(first, 'main')?.ready, false);
    assert.equal(condition(first, 'Ready')?.message, 'containers with unready status: [main]');
    assert.ok(
      (await eventsOf('web')).some(
        ({ reason, message }) =>
          reason === 'Unhealthy' && message === 'Readiness probe failed: HTTP probe failed with statuscode: 503',
      ),
    );
    answer = { result: 'success', output: '' };
    await clock.advance(5000);
    assert.equal(condition(await pod('web'), 'Ready')?.status, 'True');
  });

  it('restart a container whose liveness probe fails three times', async () => {
    let answer: ProbeOutcome = { result: 'success', output: '' };
    const { run, clock, pod, eventsOf } = await setUp({ probe: () => answer });
    const container = { ...forever, livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 2 } };
    await run(testPod('web', node, { containers: [container] }), 1000);
    answer = { result: 'failure', output: 'refused' };
    await clock.advance(4500);
    assert.equal(statusOf(await pod('web'), 'main')?.restartCount, 0);
    await clock.advance(2000);
    assert.equal(statusOf(await pod('web'), 'main')?.restartCount, 1);
    assert.ok(
      (await eventsOf('web')).some(
        ({ message }) => message === 'Container main failed liveness probe, will be restarted',
      ),
    );
  });

  it('hold the others back until the startup probe has succeeded', async () => {
    let answer: ProbeOutcome = { result: 'failure', output: 'not yet' };
    const { run, clock, pod } = await setUp({ probe: () => answer });
    const startupProbe = { tcpSocket: { port: 80 }, periodSeconds: 1, failureThreshold: 30 };
    const container = {
      ...forever,
      startupProbe,
      livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1, failureThreshold: 1 },
    };
    const first = await run(testPod('web', node, { containers: [container] }), 10_000);
    assert.equal(statusOf(first, 'main')?.started, false);
    assert.equal(statusOf(first, 'main')?.restartCount, 0);
    answer = { result: 'success', output: '' };
    await clock.advance(2000);
    assert.equal(statusOf(await pod('web'), 'main')?.started, true);
    assert.equal(statusOf(await pod('web'), 'main')?.ready, true);
  });
});

describe('a kubelet that starts again', () => {
  it('adopts what runs, without a restart', async () => {
    const { run, clock, pod, stop, start } = await setUp();
    const before = await run(testPod('web', node, { containers: [forever] }));
    stop.abort(new Error('stop'));
    await clock.advance(60_000);
    await start();
    await clock.advance(2000);
    const after = await pod('web');
    assert.equal(statusOf(after, 'main')?.containerID, statusOf(before, 'main')?.containerID);
    assert.equal(statusOf(after, 'main')?.restartCount, 0);
    assert.equal(after?.status?.podIP, before.status?.podIP);
  });

  it('ends what nobody knows any more', async () => {
    const { run, api, clock, stop, start, runtime } = await setUp();
    await run(testPod('web', node, { containers: [forever] }));
    stop.abort(new Error('stop'));
    await clock.advance(1000);
    const path = '/api/v1/namespaces/default/pods/web';
    await api.send({ method: 'DELETE', path, body: { gracePeriodSeconds: 0 } });
    await start();
    await clock.advance(5000);
    assert.deepEqual(await runtime.listContainers(), []);
  });

  it('ends nothing while the API server is away', async () => {
    const { run, api, clock, stop, start, runtime } = await setUp();
    await run(testPod('web', node, { containers: [forever] }));
    stop.abort(new Error('stop'));
    await clock.advance(1000);
    api.failWith(() => serviceUnavailable('away'));
    await start();
    await clock.advance(300_000);
    assert.equal((await runtime.listContainers({ state: 'running' })).length, 1);
    api.failWith(undefined);
    await clock.advance(60_000);
    assert.equal((await runtime.listContainers({ state: 'running' })).length, 1);
  });
});

describe('while the API server is away', () => {
  it('containers are restarted, and the status arrives later', async () => {
    const { run, api, clock, pod, runtime } = await setUp();
    await run(testPod('web', node, { containers: [forever] }));
    api.failWith(() => serviceUnavailable('away'));
    const [container] = await runtime.listContainers();
    runtime.crash(container!.id, 3);
    await clock.advance(30_000);
    assert.equal((await runtime.listContainers({ state: 'running' })).length, 1, 'runs again');
    api.failWith(undefined);
    await clock.advance(30_000);
    assert.equal(statusOf(await pod('web'), 'main')?.restartCount, 1);
    assert.equal(statusOf(await pod('web'), 'main')?.lastState?.terminated?.exitCode, 3);
  });
});

it("has upstream's defaults", () => {
  assert.equal(defaultConfiguration.maxPods, 110);
});

describe('a container that the kernel killed', () => {
  it('was killed for its memory also where the runtime hears of that later, and nobody counts', async ({ mock }) => {
    const { run, clock, pod, runtime } = await setUp({ cgroups: { oomKills: async () => undefined } });
    const { containerStatus } = runtime;
    let looks = 0;
    mock.method(runtime, 'containerStatus', async (id: string) => {
      const status = await containerStatus.call(runtime, id);
      if (status.state !== 'exited') return status;
      looks += 1;
      return { ...status, exitCode: 137, reason: looks < 4 ? 'Error' : 'OOMKilled' };
    });
    const containers = [{ name: 'main', image: 'app:1', command: ['false'] }];
    await run(testPod('greedy', node, { containers, restartPolicy: 'Never' }));
    await clock.advance(5000);
    const { phase } = (await pod('greedy'))?.status ?? {};
    const { terminated } = statusOf((await pod('greedy'))!, 'main')?.state ?? {};
    assert.deepEqual([phase, terminated?.exitCode, terminated?.reason], ['Failed', 137, 'OOMKilled']);
  });

  it('was killed for its memory where only the kernel says so', async ({ mock }) => {
    const cgroups = { oomKills: async () => undefined, wasOomKilled: () => true };
    const { run, clock, pod, runtime } = await setUp({ cgroups });
    const { containerStatus } = runtime;
    mock.method(runtime, 'containerStatus', async (id: string) => {
      const status = await containerStatus.call(runtime, id);
      return status.state === 'exited' ? { ...status, exitCode: 137, reason: 'Error' } : status;
    });
    const containers = [{ name: 'main', image: 'app:1', command: ['false'] }];
    await run(testPod('greedy', node, { containers, restartPolicy: 'Never' }));
    await clock.advance(5000);
    assert.equal(statusOf((await pod('greedy'))!, 'main')?.state?.terminated?.reason, 'OOMKilled');
  });
});

describe('a Pod that the kubelet ends itself', () => {
  it('shows a final phase and its cause only when nothing runs any more', async () => {
    const { run, clock, pod, kubelet } = await setUp();
    const annotations = { 'simulation.coracle.io/stop-seconds': '5' };
    const before = await run(testPod('web', node, { containers: [forever] }, { annotations }));
    const message = 'The node was low on resource: memory. ';
    const condition = { type: 'DisruptionTarget', reason: 'TerminationByKubelet', message };
    kubelet.workers.terminate(before.metadata.uid!, {
      graceSeconds: 10,
      cause: { reason: 'Evicted', message, fails: true, condition },
    });
    await clock.advance(2000);
    const target = (status?: PodStatus) => status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.status;
    const during = (await pod('web'))?.status;
    assert.deepEqual([during?.phase, during?.reason, target(during)], ['Running', undefined, undefined]);
    await clock.advance(4000);
    const after = await pod('web');
    assert.deepEqual(
      [after?.status?.phase, after?.status?.reason, target(after?.status)],
      ['Failed', 'Evicted', 'True'],
    );
    assert.ok(statusOf(after, 'main')?.state?.terminated);
  });

  it('shows no final phase without its cause while its sandbox cannot be stopped', async ({ mock }) => {
    const { run, clock, pod, kubelet, runtime } = await setUp();
    const before = await run(testPod('job', node, { containers: [forever], restartPolicy: 'Never' }));
    const stopping = mock.method(runtime, 'stopPodSandbox', () => Promise.reject(new Error('no plugin answers')));
    kubelet.workers.terminate(before.metadata.uid!, {
      graceSeconds: 1,
      cause: { reason: 'Evicted', message: 'The node was low on resource: memory. ', fails: true },
    });
    await clock.advance(5000);
    const during = (await pod('job'))?.status;
    assert.ok(stopping.mock.callCount() > 0 && statusOf(await pod('job'), 'main')?.state?.terminated);
    assert.deepEqual([during?.phase, during?.reason], ['Running', undefined]);
    stopping.mock.restore();
    await clock.advance(60_000);
    const after = (await pod('job'))?.status;
    assert.deepEqual([after?.phase, after?.reason], ['Failed', 'Evicted']);
  });
});

describe('housekeeping', () => {
  it('keeps one dead container of each name', async () => {
    const { run, clock, runtime } = await setUp();
    await run(testPod('bad', node, { containers: [{ name: 'main', image: 'app:1', command: ['false'] }] }));
    await clock.advance(180_000);
    assert.ok((await runtime.listContainers()).length <= 2);
  });
});

/** The kubelet on a machine of its own: systemd, cgroup v2, a real power switch. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Container, Pod, PodSpec } from '../../src/api/gen/core-v1.ts';
import { priorityClasses } from '../../src/api/gen/scheduling-v1.ts';
import { systemRandom } from '../../src/base/random.ts';
import { freePorts } from '../../src/storage/etcd/process.fixture.ts';
import { needs } from '../../src/testing/needs.ts';
import { guestParts } from './guest.ts';
import { container, forever, GuestNode, slowly } from './node.ts';
import { clusterPort, startOwnCluster } from './own-cluster.ts';
import { survivesPowerCut } from './power-cut.ts';

const settings = {
  podPidsLimit: 200,
  shutdownGracePeriod: '800s',
  shutdownGracePeriodCriticalPods: '400s',
  failSwapOn: false,
  memorySwap: { swapBehavior: 'LimitedSwap' },
  kubeReserved: { cpu: '1', memory: '128Mi' },
  kubeReservedCgroup: '/kubereserved.slice',
  enforceNodeAllocatable: ['pods', 'kube-reserved'],
  featureGates: { MemoryQoS: true },
  memoryReservationPolicy: 'TieredReservation',
  cpuManagerPolicy: 'static',
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'single-numa-node',
  reservedMemory: [{ numaNode: 0, limits: { memory: '228Mi' } }],
};
const mebi = 1024 ** 2;
const critical = 'system-node-critical';

describe('a node with systemd and cgroup v2', { ...needs(...guestParts), timeout: 900_000 }, () => {
  let node: GuestNode;
  /** Of this machine, leads to the API server of a cluster that lives in the guest alone. */
  let port: number;
  before(async () => {
    [port] = (await freePorts(1)) as [number];
    node = await GuestNode.start(settings, {
      ports: { [port]: clusterPort },
      processors: 4,
      memoryMebibytes: 2048,
      arguments: [0, 1].flatMap((id) => [
        ...['-object', `memory-backend-ram,id=memory${id},size=1024M`],
        ...['-numa', `node,nodeid=${id},memdev=memory${id},cpus=${id * 2}-${id * 2 + 1}`],
      ]),
      prepare: [
        'systemd-run -q --slice=kubereserved.slice --unit=holder sleep infinity',
        // Sixteen pages of two mebibytes, of the second memory node.
        'echo 16 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages',
        'dd if=/dev/zero of=/swap bs=1M count=256 status=none; chmod 600 /swap; mkswap -q /swap; swapon /swap',
      ].join('\n'),
    });
  });
  after(() => node?.stop());

  it('registers, and runs a Pod', async () => {
    const { status } = await node.node();
    assert.equal(status?.nodeInfo?.operatingSystem, 'linux');
    assert.match(status?.nodeInfo?.osImage ?? '', /Debian/);
    const pod = await node.running('plain', { containers: [forever()] });
    assert.match(pod.status?.podIP ?? '', /^10\.103\.0\./);
  });

  it('lays the slices of Pods and the scopes of containers as systemd wants them', async () => {
    const { metadata, status } = await node.pod('plain');
    const id = status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '');
    const slice = `kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${metadata.uid?.replaceAll('-', '_')}.slice`;
    const path = `/sys/fs/cgroup/${slice}/cri-containerd-${id}.scope`;
    assert.match(await node.guest.run(`cat ${path}/cgroup.procs`), /\d+/);
    assert.equal((await node.guest.run('stat -fc %T /sys/fs/cgroup/')).trim(), 'cgroup2fs');
    const set = (folder: string, file: string) =>
      node.guest.run(`cat /sys/fs/cgroup/${folder}/${file}`).then((text) => text.trim());
    const { capacity } = (await node.node()).status ?? {};
    assert.equal(
      await set('kubepods.slice', 'memory.max'),
      String(Number.parseInt(capacity?.memory ?? '', 10) * 1024 - 128 * mebi),
    );
    assert.equal(await set('kubepods.slice/kubepods-besteffort.slice', 'cpu.weight'), '1');
    assert.equal(await set(slice, 'pids.max'), '200');
    assert.equal(await set(`${slice}/cri-containerd-${id}.scope`, 'memory.oom.group'), '1');
    assert.match(
      await node.guest.run(`systemctl show -p ActiveState ${slice.split('/').at(-1)}`),
      /ActiveState=active/,
    );
    await node.remove('plain');
    assert.equal((await node.guest.run(`ls -d /sys/fs/cgroup/${slice} 2>/dev/null || true`)).trim(), '');
  });

  const scopeOf = (pod: Pod, qos: '' | 'burstable') => {
    const name = pod.metadata.uid?.replaceAll('-', '_');
    const id = pod.status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '');
    const slices = qos ? `kubepods-${qos}.slice/kubepods-${qos}-pod${name}.slice` : `kubepods-pod${name}.slice`;
    return `/sys/fs/cgroup/kubepods.slice/${slices}/cri-containerd-${id}.scope`;
  };
  const read = async (path: string) => (await node.guest.run(`cat ${path}`)).trim();
  const summary = async () => JSON.parse(await node.fetch('/stats/summary'));

  it('gives a Guaranteed Pod processors and memory of one memory node, and refuses what no node has', async () => {
    const resources = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
    const pinned = await node.running('pinned', { containers: [forever({ resources: resources('2', '64Mi') })] });
    const shared = await node.running('shared', { containers: [forever()] });
    assert.equal(await read(`${scopeOf(pinned, '')}/cpuset.cpus`), '2-3', 'the node of which nothing is reserved');
    assert.equal(await read(`${scopeOf(pinned, '')}/cpuset.mems`), '1');
    assert.equal(
      await read(`${scopeOf(pinned, '')}/cpu.max`).then((text) => text.split(' ')[0]),
      'max',
      'no quota on what is its own',
    );
    const processes = shared.metadata.uid?.replaceAll('-', '_');
    assert.match(
      await read(
        `/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${processes}.slice/cri-*/cpuset.cpus`,
      ),
      /^0-1$/m,
    );
    await node.create('torn', { containers: [forever({ resources: resources('500m', '1200Mi') })] });
    assert.equal((await node.phase('torn', 'Failed')).status?.reason, 'TopologyAffinityError');
    const state = JSON.parse(await read('/var/lib/kubelet/cpu_manager_state'));
    assert.deepEqual(
      [state.policyName, state.defaultCpuSet, Object.values(state.entries)],
      ['static', '0-1', [{ main: '2-3' }]],
    );
    await node.remove('pinned', 'shared', 'torn');
  });

  it('lets Burstable containers swap by their share of the memory, and others not at all', async () => {
    const { nodeInfo, capacity } = (await node.node()).status ?? {};
    const swap = nodeInfo?.swap?.capacity ?? 0;
    assert.ok(swap > 255 * mebi, `${swap}`);
    const memory = Number.parseInt(capacity?.memory ?? '', 10) * 1024;
    const burstable = await node.running('swaps', {
      containers: [forever({ resources: { requests: { memory: '256Mi' } } })],
    });
    const expected = Math.floor(((256 * mebi) / memory) * swap);
    assert.equal(
      await read(`${scopeOf(burstable, 'burstable')}/memory.swap.max`),
      String(expected - (expected % 4096)),
    );
    await node.remove('swaps');
  });

  it('tells a container that was killed for its memory, each time', async () => {
    const spec = {
      restartPolicy: 'Never' as const,
      containers: [container('tail /dev/zero', { resources: { limits: { memory: '24Mi' } } })],
    };
    for (const name of ['hungry-1', 'hungry-2', 'hungry-3']) {
      await node.create(name, spec);
      const { state } = (await node.phase(name, 'Failed')).status?.containerStatuses?.[0] ?? {};
      assert.deepEqual([state?.terminated?.reason, state?.terminated?.exitCode], ['OOMKilled', 137]);
    }
    await node.remove('hungry-1', 'hungry-2', 'hungry-3');
  });

  const podSlice = (pod: Pod, qos: '' | 'burstable' | 'besteffort') => {
    const slice = `kubepods-${qos && `${qos}-`}pod${pod.metadata.uid?.replaceAll('-', '_')}.slice`;
    return `/sys/fs/cgroup/kubepods.slice/${qos && `kubepods-${qos}.slice/`}${slice}`;
  };
  const kept = (memory: string) => ({ cpu: '200m', memory });

  it('keeps memory for Pods and for itself where memory has qualities of service', async () => {
    const [guaranteed, burstable] = await Promise.all([
      node.running('guaranteed', {
        containers: [forever({ resources: { requests: kept('64Mi'), limits: kept('64Mi') } })],
      }),
      node.running('burstable', {
        containers: [forever({ resources: { requests: kept('48Mi'), limits: { memory: '128Mi' } } })],
      }),
    ]);
    const own = ['min', 'low', 'high', 'max'].map((name) => `memory.${name}`);
    const memoryOf = async (path: string, files = own) =>
      (await read(files.map((file) => `${path}/${file}`).join(' '))).split('\n');
    const bytes = (mebibytes: number) => String(mebibytes * mebi);
    assert.deepEqual(await memoryOf(podSlice(guaranteed, '')), [bytes(64), '0', 'max', bytes(64)]);
    assert.deepEqual(await memoryOf(scopeOf(guaranteed, '')), [bytes(64), '0', 'max', bytes(64)]);
    // Nine tenths of the way from what it asked for to what it may have, in whole pages.
    const high = String(Math.floor((48 + 0.9 * 80) * (mebi / 4096)) * 4096);
    assert.deepEqual(await memoryOf(podSlice(burstable, 'burstable')), ['0', bytes(48), 'max', bytes(128)]);
    assert.deepEqual(await memoryOf(scopeOf(burstable, 'burstable')), ['0', bytes(48), high, bytes(128)]);
    const above = '/sys/fs/cgroup/kubepods.slice';
    assert.deepEqual(await memoryOf(above, ['memory.min']), [bytes(112)], 'what both are kept is kept for all Pods');
    assert.deepEqual(await memoryOf(`${above}/kubepods-burstable.slice`, ['memory.low']), [bytes(48)]);
    assert.deepEqual(await memoryOf('/sys/fs/cgroup/kubereserved.slice', [...own, 'cpu.weight']), [
      bytes(128),
      '0',
      'max',
      bytes(128),
      '100',
    ]);
    const metrics = await node.fetch('/metrics');
    assert.match(metrics, new RegExp(`^kubelet_memory_qos_node_memory_min_bytes ${bytes(64)}$`, 'm'));
    assert.match(metrics, new RegExp(`^kubelet_memory_qos_node_memory_low_bytes ${bytes(48)}$`, 'm'));
    await node.remove('guaranteed', 'burstable');
    assert.deepEqual(await memoryOf(above, ['memory.min']), ['0'], 'given back');
  });

  it('gives a Pod its huge pages and no others, and refuses who asks for more than there are', async () => {
    assert.equal((await node.node()).status?.capacity?.['hugepages-2Mi'], '32Mi');
    const asking = (pages: string) => {
      const amounts = { ...kept('32Mi'), 'hugepages-2Mi': pages };
      return { containers: [forever({ resources: { requests: amounts, limits: amounts } })] };
    };
    const paged = await node.running('paged', asking('8Mi'));
    // Of the Pod as a whole: containerd sets no limits of its own unless its disable_hugetlb_controller is false.
    assert.equal(await read(`${podSlice(paged, '')}/hugetlb.2MB.max`), String(8 * mebi));
    assert.equal(await read(`/proc/$(head -n 1 ${scopeOf(paged, '')}/cgroup.procs)/oom_score_adj`), '-997');
    await node.create('too-many', asking('28Mi'));
    const { reason, message } = (await node.phase('too-many', 'Failed')).status ?? {};
    assert.equal(reason, 'OutOfhugepages-2Mi');
    assert.equal(
      message,
      `Pod was rejected: Node didn't have enough resource: hugepages-2Mi, requested: ${28 * mebi}, used: ${8 * mebi}, capacity: ${32 * mebi}`,
    );
    const plain = await node.running('plain', { containers: [forever()] });
    assert.equal(await read(`${podSlice(plain, 'besteffort')}/hugetlb.2MB.max`), '0');
    await node.remove('paged', 'too-many', 'plain');
  });

  it('lets a Pod have no more processes than it may', async () => {
    const script = 'for i in $(seq 300); do sleep 600 & done; wait';
    const terminationMessagePolicy = 'FallbackToLogsOnError' as const;
    await node.create('many', {
      restartPolicy: 'Never',
      containers: [container(script, { terminationMessagePolicy })],
    });
    const { state } = (await node.phase('many', 'Failed')).status?.containerStatuses?.[0] ?? {};
    assert.match(state?.terminated?.message ?? '', /can't fork: Resource temporarily unavailable/);
    await node.remove('many');
  });

  it('measures how long processes wait', async () => {
    const { node: whole } = await summary();
    for (const part of ['cpu', 'memory', 'io']) assert.equal(typeof whole[part].psi.some.total, 'number', part);
    assert.ok(whole.cpu.psi.some.total > 0);
  });

  it('evicts the Pod that takes the memory, and shows its pressure', async () => {
    const available = (await summary()).node.memory.availableBytes;
    await node.configure({ ...settings, evictionHard: { 'memory.available': String(available - 200 * mebi) } });
    await node.whenReady();
    const memory = { name: 'memory', emptyDir: { medium: 'Memory' } };
    const takes = container('dd if=/dev/zero of=/memory/all bs=1M count=400 2>/dev/null; sleep 600', {
      volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
    });
    await node.create('taker', { containers: [takes], volumes: [memory] });
    const { reason, message } = (await node.phase('taker', 'Failed')).status ?? {};
    assert.equal(reason, 'Evicted');
    assert.match(
      message ?? '',
      /^The node was low on resource: memory\. Threshold quantity: \d+\w*, available: \d+\w*\. Container main was using \d+\w*, request is 0, has larger consumption of memory\. $/,
    );
    await slowly(async () => (await node.condition('MemoryPressure'))?.status === 'True');
    await node.configure(settings);
    await node.whenReady();
    await node.remove('taker');
  });

  const imminent = ['Terminated', 'Pod was terminated in response to imminent node shutdown.'];
  const isShown = async () => {
    const { status, reason, message } = (await node.condition('Ready')) ?? {};
    return status === 'False' && reason === 'KubeletNotReady' && message === 'node is shutting down';
  };
  const locks = () => node.guest.run('systemd-inhibit --list --no-pager');
  const kubeletLock = /kubelet.*shutdown.*Kubelet needs time to handle node shutdown.*delay/;
  const shutdownMetric = async (which: 'start' | 'end') =>
    Number(
      new RegExp(`^kubelet_graceful_shutdown_${which}_time_seconds (\\d+)$`, 'm').exec(
        await node.fetch('/metrics'),
      )?.[1],
    );

  it('takes Pods again when a shutdown comes to nothing; those that it has ended stay so', async () => {
    assert.match(await node.guest.run('cat /etc/systemd/logind.conf.d/99-kubelet.conf'), /InhibitDelayMaxSec=800\n/);
    await slowly(async () => kubeletLock.test(await locks()));
    // Of those that ask a service to end, only this one is let go on by the test, so that there is a time to look at.
    const slow = container(
      "trap 'until [ -e /dev/shm/end ]; do sleep 0.2; done; exit 0' TERM; while true; do sleep 0.2; done",
    );
    await Promise.all([
      node.running('regular', { containers: [slow], terminationGracePeriodSeconds: 600 }),
      node.running('critical', { containers: [forever()], priorityClassName: critical }),
    ]);
    // logind finds that it cannot only when everyone who delays has let go; it calls the shutdown off then, and says so. It would
    // not even begin with what is masked already.
    await node.guest.run('systemctl poweroff; systemctl mask -q --runtime poweroff.target');
    await slowly(isShown);
    await node.create('late', { containers: [forever()] });
    await slowly(async () => (await node.pod('late')).status?.reason === 'NodeShutdown');
    assert.equal(
      (await node.pod('late')).status?.message,
      'Pod was rejected: Pod was rejected as the node is shutting down.',
    );
    assert.equal(
      (await node.pod('critical')).status?.phase,
      'Running',
      'critical Pods wait until the others have ended',
    );
    await node.guest.run('for pid in $(pgrep -f /dev/shm/end); do touch /proc/$pid/root/dev/shm/end || true; done');
    await slowly(async () => (await node.condition('Ready'))?.status === 'True');
    for (const name of ['regular', 'critical']) {
      const { phase, reason, message } = (await node.pod(name)).status ?? {};
      assert.deepEqual([phase, reason, message], ['Failed', ...imminent], name);
    }
    await slowly(async () => kubeletLock.test(await locks()));
    assert.ok((await shutdownMetric('end')) >= (await shutdownMetric('start')));
    await node.running('after', { containers: [forever()] });
    await node.remove('regular', 'critical', 'late', 'after');
    await node.guest.run('systemctl unmask -q --runtime poweroff.target');
  });

  it('ends Pods by their priority, each class in its time, and really goes off; what it wrote is there when it boots again', async () => {
    const classes = { 'class-a': 100_000, 'class-b': 10_000, 'class-c': 1000 };
    for (const [name, value] of Object.entries(classes))
      await node.client.create(priorityClasses, { metadata: { name }, value });
    const periods = { 100000: 30, 1000: 20, 0: 30 };
    const shutdownGracePeriodByPodPriority = Object.entries(periods).map(([priority, shutdownGracePeriodSeconds]) => ({
      priority: Number(priority),
      shutdownGracePeriodSeconds,
    }));
    // A table stands in the place of the two periods.
    const { shutdownGracePeriod: _, shutdownGracePeriodCriticalPods: __, ...others } = settings;
    await node.configure({ ...others, shutdownGracePeriodByPodPriority });
    await node.whenReady();
    await slowly(async () => kubeletLock.test(await locks()));
    const stubborn = container("trap '' TERM; while true; do sleep 0.2; done");
    const running = (name: string, containers: Container[], more: Partial<PodSpec> = {}) =>
      node.running(name, { containers, terminationGracePeriodSeconds: 600, ...more });
    await Promise.all([
      running('unset', [forever()]),
      running('c', [forever()], { priorityClassName: 'class-c' }),
      running('b', [stubborn], { priorityClassName: 'class-b' }),
      running('a', [forever()], { priorityClassName: 'class-a' }),
    ]);
    await node.guest.run('systemctl poweroff');
    await slowly(isShown);
    await node.guest.off;
    await node.guest.boot(systemRandom);
    const story = await node.guest.run('journalctl -b -1 -u kubelet -n 80 --no-pager -o short-precise');
    const endedAt = new Map<string, number>();
    for (const name of ['unset', 'c', 'b', 'a']) {
      const { phase, reason, message, conditions, containerStatuses } = (await node.pod(name)).status ?? {};
      assert.deepEqual([phase, reason, message], ['Failed', ...imminent], `${name}\n${story}`);
      const target = conditions?.find(({ type }) => type === 'DisruptionTarget');
      assert.deepEqual([target?.status, target?.reason], ['True', 'TerminationByKubelet']);
      const { exitCode, finishedAt } = containerStatuses?.[0]?.state?.terminated ?? {};
      assert.equal(exitCode, name === 'b' ? 137 : 0, name);
      endedAt.set(name, Date.parse(finishedAt ?? '') / 1000);
    }
    const between = (first: string, second: string) => endedAt.get(second)! - endedAt.get(first)!;
    assert.ok(between('unset', 'c') >= 0, 'the least important class goes first');
    assert.ok(between('c', 'b') >= 15, 'of one class, who does not obey is killed when the time of the class is over');
    assert.ok(between('c', 'a') >= 15, 'the most important class waits for that');
    assert.ok(between('c', 'b') < 300, 'and not as long as the Pod asked for');

    const state = JSON.parse(await node.guest.run('cat /var/lib/kubelet/graceful_node_shutdown_state'));
    assert.ok(Date.parse(state.endTime) > Date.parse(state.startTime));
    await node.guest.run('systemctl start kubelet');
    await node.whenReady();
    assert.equal(await shutdownMetric('start'), Math.floor(Date.parse(state.startTime) / 1000));
  });

  it('comes back by itself with its cluster from a power cut: all that was acknowledged, its node Ready, its Pods running', async () => {
    // The disk forgets from here on what was not flushed when the plug is pulled.
    await node.guest.run(
      'systemctl stop kubelet; rm -rf /var/lib/kubelet; mkdir /var/lib/kubelet; systemctl start containerd',
    );
    const cluster = await startOwnCluster(node.guest, port);
    try {
      await survivesPowerCut(cluster.client, node.guest);
    } catch (error) {
      const story = 'journalctl -n 120 --no-pager -o cat -u coracle@kube-apiserver -u kubelet';
      console.error(await node.guest.run(story).catch(String));
      throw error;
    } finally {
      await cluster.close();
    }
  });
});

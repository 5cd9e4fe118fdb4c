/** The kubelet on a machine of its own: systemd, cgroup v2, a real power switch. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../src/api/gen/core-v1.ts';
import { needs } from '../../src/testing/needs.ts';
import { guestParts } from './guest.ts';
import { container, forever, GuestNode, slowly } from './node.ts';

const settings = {
  podPidsLimit: 200,
  shutdownGracePeriod: '80s',
  shutdownGracePeriodCriticalPods: '40s',
  failSwapOn: false,
  memorySwap: { swapBehavior: 'LimitedSwap' },
  kubeReserved: { cpu: '1', memory: '128Mi' },
  cpuManagerPolicy: 'static',
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'single-numa-node',
  reservedMemory: [{ numaNode: 0, limits: { memory: '228Mi' } }],
};
const mebi = 1024 ** 2;
const critical = 'system-node-critical';

describe('a node with systemd and cgroup v2', { ...needs(...guestParts), timeout: 900_000 }, () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start(settings, {
      processors: 4,
      memoryMebibytes: 2048,
      arguments: [0, 1].flatMap((id) => [
        ...['-object', `memory-backend-ram,id=memory${id},size=1024M`],
        ...['-numa', `node,nodeid=${id},memdev=memory${id},cpus=${id * 2}-${id * 2 + 1}`],
      ]),
      prepare: 'dd if=/dev/zero of=/swap bs=1M count=256 status=none; chmod 600 /swap; mkswap -q /swap; swapon /swap',
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

  it('delays a shutdown, ends Pods in two phases and really goes off; what it wrote is there when it boots again', async () => {
    assert.match(await node.guest.run('cat /etc/systemd/logind.conf.d/99-kubelet.conf'), /InhibitDelayMaxSec=80\n/);
    assert.match(
      await node.guest.run('systemd-inhibit --list --no-pager'),
      /kubelet.*shutdown.*Kubelet needs time to handle node shutdown.*delay/,
    );
    const stubborn = container("trap '' TERM; while true; do sleep 0.2; done");
    await Promise.all([
      node.running('obedient', { containers: [forever()] }),
      node.running('stubborn', { containers: [stubborn], terminationGracePeriodSeconds: 600 }),
      node.running('last', { containers: [forever()], priorityClassName: critical }),
    ]);
    const startedMs = Date.now();
    await node.guest.run('systemctl poweroff');
    await slowly(async () => {
      const ready = await node.condition('Ready');
      return (
        ready?.status === 'False' && ready.reason === 'KubeletNotReady' && ready.message === 'node is shutting down'
      );
    });
    await node.create('late', { containers: [forever()] });
    await slowly(async () => (await node.pod('late')).status?.reason === 'NodeShutdown');
    assert.equal(
      (await node.pod('late')).status?.message,
      'Pod was rejected: Pod was rejected as the node is shutting down.',
    );
    await node.guest.off;
    const tookMs = Date.now() - startedMs;
    await node.guest.boot();
    const story = await node.guest.run('journalctl -b -1 -u kubelet -n 80 --no-pager -o short-precise');
    assert.ok(tookMs > 39_000, 'the stubborn Pod had the forty seconds of regular Pods');
    for (const name of ['obedient', 'stubborn', 'last']) {
      const { phase, reason, message, conditions } = (await node.pod(name)).status ?? {};
      assert.deepEqual(
        [phase, reason, message],
        ['Failed', 'Terminated', 'Pod was terminated in response to imminent node shutdown.'],
        `${name}\n${story}`,
      );
      const target = conditions?.find(({ type }) => type === 'DisruptionTarget');
      assert.deepEqual([target?.status, target?.reason], ['True', 'TerminationByKubelet']);
    }
    const ended = async (name: string) =>
      Date.parse((await node.pod(name)).status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? '');
    assert.ok(
      (await ended('last')) - (await ended('obedient')) > 10_000,
      'critical Pods wait until the others have had their time',
    );

    const state = JSON.parse(await node.guest.run('cat /var/lib/kubelet/graceful_node_shutdown_state'));
    assert.ok(Date.parse(state.endTime) > Date.parse(state.startTime));
    await node.guest.run('systemctl start kubelet');
    await node.whenReady();
    const metrics = await node.fetch('/metrics');
    assert.match(
      metrics,
      new RegExp(`kubelet_graceful_shutdown_start_time_seconds ${Math.floor(Date.parse(state.startTime) / 1000)}`),
    );
  });
});

/** The kubelet on a machine of its own: systemd, cgroup v2, a real power switch. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { guestMissing } from './guest.ts';
import { container, forever, GuestNode, until } from './node.ts';

const missing = guestMissing();
if (missing && process.env.CI) throw new Error(`no guest can run here: ${missing}`);

const critical = 'system-node-critical';

describe('a node with systemd and cgroup v2', { skip: missing ?? false, timeout: 480_000 }, () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({
      podPidsLimit: 200,
      shutdownGracePeriod: '40s',
      shutdownGracePeriodCriticalPods: '20s',
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
    assert.equal(await set('kubepods.slice', 'memory.max'), String(Number.parseInt(capacity?.memory ?? '', 10) * 1024));
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

  it('delays a shutdown, ends Pods in two phases and really goes off; what it wrote is there when it boots again', async () => {
    assert.match(await node.guest.run('cat /etc/systemd/logind.conf.d/99-kubelet.conf'), /InhibitDelayMaxSec=40\n/);
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
    await until('the node says that it is going', async () => {
      const ready = await node.condition('Ready');
      return (
        ready?.status === 'False' && ready.reason === 'KubeletNotReady' && ready.message === 'node is shutting down'
      );
    });
    await node.create('late', { containers: [forever()] });
    await until('the late Pod is refused', async () => (await node.pod('late')).status?.reason === 'NodeShutdown');
    assert.equal(
      (await node.pod('late')).status?.message,
      'Pod was rejected: Pod was rejected as the node is shutting down.',
    );
    await node.guest.off;
    const tookMs = Date.now() - startedMs;
    await node.guest.boot();
    const story = await node.guest.run('journalctl -b -1 -u kubelet -n 80 --no-pager -o short-precise');
    assert.ok(tookMs > 19_000, 'the stubborn Pod had the twenty seconds of regular Pods');
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
    assert.ok((await ended('last')) >= (await ended('stubborn')), 'critical Pods end after the others');

    const state = JSON.parse(await node.guest.run('cat /var/lib/kubelet/graceful_node_shutdown_state'));
    assert.ok(Date.parse(state.endTime) > Date.parse(state.startTime));
    await node.guest.run('systemctl start kubelet');
    await node.whenReady();
    const metrics = await node.guest.run(
      '/opt/coracle/bin/node -e "process.env.NODE_TLS_REJECT_UNAUTHORIZED=0;fetch(\'https://127.0.0.1:10250/metrics\').then(r=>r.text()).then(console.log)"',
    );
    assert.match(
      metrics,
      new RegExp(`kubelet_graceful_shutdown_start_time_seconds ${Math.floor(Date.parse(state.startTime) / 1000)}`),
    );
  });
});

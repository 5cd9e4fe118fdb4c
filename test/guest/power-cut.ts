/** A cluster whose machine loses its power under it, and what has to be there when the machine is switched on again. */
import assert from 'node:assert/strict';
import { type ConfigMap, configMaps, nodes, type Pod, pods } from '../../src/api/gen/core-v1.ts';
import type { Client } from '../../src/client/index.ts';
import type { Guest } from './guest.ts';
import { container, nodeName, slowly } from './node.ts';

/** Throws when anything is lost. The guest's disk is volatile, and its services begin with it. */
export async function survivesPowerCut(client: Client, guest: Guest): Promise<void> {
  const inDefault = { namespace: 'default' };
  const isReady = async (sinceMs: number) => {
    const all = await client.list(nodes).catch(() => undefined);
    const ready = all?.items[0]?.status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime ?? '') >= sinceMs;
  };
  const runningPods = async () => {
    const all = (await client.list(pods, inDefault).catch(() => undefined))?.items ?? [];
    return all.filter(({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined);
  };
  await slowly(() => isReady(0));
  // Each start of the container leaves a line on the node's disk.
  const script = 'echo start >>/data/starts; trap "exit 0" TERM; while true; do sleep 0.2; done';
  for (const name of ['first', 'second'])
    await client.create(pods, {
      metadata: { name, ...inDefault },
      spec: {
        nodeName,
        containers: [container(script, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
        volumes: [{ name: 'data', emptyDir: {} }],
      },
    });
  await slowly(async () => (await runningPods()).length === 2);
  const before = await runningPods();
  const startsOf = async ({ metadata }: Pod) =>
    (await guest.run(`cat /var/lib/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~empty-dir/data/starts`)).trim();
  for (const pod of before) await slowly(async () => (await startsOf(pod)) === 'start');
  await guest.run('sync');
  const acknowledged: ConfigMap[] = [];
  for (let i = 0; i < 20; i++)
    acknowledged.push(await client.create(configMaps, { metadata: { name: `kept-${i}`, ...inDefault } }));
  await guest.cut();
  await guest.boot();
  const bootedMs = Number(await guest.run('date -d "$(uptime -s)" +%s')) * 1000;
  await slowly(() => client.list(configMaps, inDefault).then(Boolean, () => false));
  for (const { metadata } of acknowledged)
    assert.deepEqual((await client.get(configMaps, { ...inDefault, name: metadata.name! })).metadata, metadata);
  await slowly(() => isReady(bootedMs));
  await slowly(
    async () =>
      (await runningPods()).filter(({ status }) => status?.containerStatuses?.[0]?.restartCount === 1).length === 2,
  );
  const after = await runningPods();
  const uids = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.uid).sort();
  assert.deepEqual(uids(after), uids(before), 'the same Pods, not others in their place');
  // What was synced is there, too.
  for (const pod of after) await slowly(async () => (await startsOf(pod)) === 'start\nstart');
}

/** What a node on which nothing happens sends to the API server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pods } from '../../api/gen/core-v1.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';

const node = 'node-1';
const hourMs = 3_600_000;

it('a quiet node with Pods that are probed sends its Lease, every five minutes its status, and nothing else but watches', async ({
  mock,
}) => {
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
  await startKubelet(context().context, { nodeName: node, runtime, host: simulatedHost() });
  const readinessProbe = { httpGet: { port: 8080 } };
  for (let index = 0; index < 10; index++)
    await client.create(
      pods,
      testPod(`web-${index}`, node, { containers: [{ name: 'web', image: 'app:1', readinessProbe }] }),
    );
  await clock.advance(30_000);
  assert.equal((await getPod(client, 'web-9'))?.status?.phase, 'Running');

  const sent = new Map<string, number>();
  for (const verb of ['get', 'list', 'create', 'createSubresource', 'update', 'patch', 'delete'] as const) {
    const send = client[verb].bind(client) as (...args: unknown[]) => unknown;
    mock.method(client, verb, (...args: unknown[]) => {
      const what = `${verb} ${(args[0] as ResourceType<never>).resource}`;
      sent.set(what, (sent.get(what) ?? 0) + 1);
      return send(...args);
    });
  }
  await clock.advance(hourMs);
  assert.deepEqual([...sent.keys()].sort(), ['patch nodes', 'update leases']);
  // Both are spread by up to 4 % of their period.
  const leases = sent.get('update leases') ?? 0;
  const statuses = sent.get('patch nodes') ?? 0;
  assert.ok(leases >= 346 && leases <= 360, `${leases} renewals`);
  assert.ok(statuses >= 11 && statuses <= 12, `${statuses} statuses`);
});

/** The resize of a Pod that asks for resources as a whole, as its owner sees it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { events, type Pod, pods } from '../../api/gen/core-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { getPod, kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';

it('gives a Pod other resources as a whole, and tells what it was given and what it has', async () => {
  const clock = new FakeClock();
  const { client, context, random } = kubeletHarness(clock);
  const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
  const running = context();
  await startKubelet(running.context, { nodeName: 'n', runtime, host: simulatedHost({}) });
  await clock.advance(500);
  const asking = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  const container = { name: 'main', image: 'app:1' };
  const shown = (pod: Pod | undefined) => [pod?.status?.allocatedResources, pod?.status?.resources];
  const containerId = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.containerID;
  await client.create(
    pods,
    testPod('web', 'n', { containers: [container], resources: asking('1') }, { generation: 1 }),
  );
  await clock.advance(1000);
  const made = (await getPod(client, 'web'))!;
  assert.deepEqual(shown(made), [{ cpu: '1' }, asking('1')]);
  const spec = { ...made.spec, resources: asking('2') };
  await client.update(pods, { ...made, metadata: { ...made.metadata, generation: 2 }, spec });
  await clock.advance(3000);
  const after = await getPod(client, 'web');
  assert.deepEqual(shown(after), [{ cpu: '2' }, asking('2')]);
  assert.equal(containerId(after), containerId(made), 'no container is started anew');
  const told = (await client.list(events)).items.map(({ reason }) => reason);
  assert.deepEqual(
    told.filter((reason) => reason?.startsWith('Resize')),
    ['ResizeStarted', 'ResizeCompleted'],
  );
  running.stop.abort();
});

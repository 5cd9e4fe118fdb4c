/** What a running kubelet shows its server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { kubeletHarness } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';
import { viewOf } from './kubelet-view.ts';

it('has a place for checkpoints of containers, unless their gate is off', async () => {
  const clock = new FakeClock();
  const places = [];
  for (const featureGates of [{}, { ContainerCheckpoint: false }]) {
    const { context, random } = kubeletHarness(clock);
    const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
    const running = context();
    const configuration = { featureGates, rootDirectory: '/kubelet' };
    const kubelet = await startKubelet(running.context, {
      nodeName: 'n',
      runtime,
      host: simulatedHost({}),
      configuration,
    });
    places.push(viewOf(kubelet, { clock }).checkpointDirectory);
    running.stop.abort();
  }
  assert.deepEqual(places, ['/kubelet/checkpoints', undefined]);
});

/** What the kubelet tells of its own work: upstream's names and labels, counted where the work is done. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods } from '../../api/gen/core-v1.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { simulatedHost } from '../host/simulated-host.ts';
import { kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { startKubelet } from '../kubelet.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';
import { imageSizeClass, KubeletMetrics } from './kubelet-metrics.ts';
import { measuredRuntime } from './measured-runtime.ts';

/** The samples of a page, without what describes them and without buckets. */
const samplesOf = (page: string) =>
  new Map(
    page
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket'))
      .map((line) => line.split(/ (?=[^ ]*$)/) as [string, string]),
  );

describe('metrics of the kubelet', () => {
  it('count Pods, containers, images and calls of the runtime as they come', async () => {
    const clock = new FakeClock();
    const { client, context, random } = kubeletHarness(clock);
    const runtime = new SimulatedRuntime({ clock, random, podCidr: () => '10.244.1.0/24' });
    const running = context();
    const kubelet = await startKubelet(running.context, { nodeName: 'n', runtime, host: simulatedHost({}) });
    await clock.advance(500);
    const container = { name: 'main', image: 'app:1', imagePullPolicy: 'IfNotPresent' } as const;
    await client.create(pods, testPod('web', 'n', { containers: [container] }));
    await clock.advance(5000);
    const tooMuch = { ...container, resources: { requests: { cpu: '1000' } } };
    await client.create(pods, testPod('huge', 'n', { containers: [tooMuch] }));
    await clock.advance(5000);
    const samples = samplesOf(kubelet.metrics.families());
    running.stop.abort();
    const told = (name: string) => samples.get(`kubelet_${name}`);
    assert.deepEqual(
      [
        'started_pods_total',
        'started_containers_total{container_type="container"}',
        'admission_rejections_total{reason="OutOfcpu"}',
        'image_manager_ensure_image_requests_total{pull_policy="ifnotpresent",present_locally="false",pull_required="true"}',
        'runtime_operations_total{operation_type="run_podsandbox"}',
        'runtime_operations_duration_seconds_count{operation_type="start_container"}',
        'run_podsandbox_duration_seconds_count{runtime_handler=""}',
        'pod_start_duration_seconds_count',
        'pod_worker_duration_seconds_count{operation_type="create"}',
      ].map(told),
      ['1', '1', '1', '1', '1', '1', '1', '1', '1'],
    );
    assert.equal(told('started_containers_errors_total{container_type="container"}'), undefined);
    for (const name of ['pleg_relist_duration_seconds_count', 'pleg_relist_interval_seconds_count'])
      assert.ok(Number(told(name)) > 0, name);
  });

  it('count calls of the runtime that fail, and leave the others and what they answer alone', async () => {
    const clock = new FakeClock();
    const metrics = new KubeletMetrics();
    const calls: unknown[] = [];
    const runtime = {
      startContainer: async (id: string) => {
        calls.push(id);
        await clock.advance(2000);
        throw new Error('no');
      },
      listImages: async () => [{ id: 'a' }],
      close: () => calls.push('closed'),
    } as unknown as ContainerRuntime;
    const measured = measuredRuntime(runtime, { clock, metrics });
    await assert.rejects(measured.startContainer('c'), { message: 'no' });
    assert.deepEqual(await measured.listImages(), [{ id: 'a' }]);
    measured.close();
    assert.deepEqual(calls, ['c', 'closed']);
    const samples = samplesOf(metrics.families());
    assert.equal(samples.get('kubelet_runtime_operations_errors_total{operation_type="start_container"}'), '1');
    assert.equal(samples.get('kubelet_runtime_operations_errors_total{operation_type="list_images"}'), undefined);
    assert.equal(samples.get('kubelet_runtime_operations_duration_seconds_sum{operation_type="start_container"}'), '2');
  });

  it('tell pulls apart by the size of the image', () => {
    const mebibyte = 1024 ** 2;
    assert.deepEqual(
      [0, 1, 10 * mebibyte, 10 * mebibyte + 1, 2048 * mebibyte, 200_000 * mebibyte].map(imageSizeClass),
      ['N/A', '0-10MB', '0-10MB', '10MB-100MB', '1GB-5GB', 'GT100GB'],
    );
  });
});

it('facts are told by their labels', () => {
  const metrics = new KubeletMetrics();
  metrics.show('credential_provider_config_info', { hash: 'sha256:1' });
  const samples = samplesOf(metrics.families());
  assert.deepEqual([...samples], [['kubelet_credential_provider_config_info{hash="sha256:1"}', '1']]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Job, type JobSpec, jobs } from '../../api/gen/batch-v1.ts';
import { type Pod, pods } from '../../api/gen/core-v1.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runJobController } from './job-controller.ts';

const job = (spec: Partial<JobSpec> = {}): Job => ({
  metadata: { namespace: 'default', name: 'pi' },
  spec: {
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    selector: { matchLabels: { job: 'pi' } },
    template: {
      metadata: { labels: { job: 'pi' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    },
    ...spec,
  },
});

async function start(spec: Partial<JobSpec> = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runJobController);
  await cluster.client.create(jobs, job(spec));
  await cluster.settle();
  return cluster;
}

const live = (cluster: MemoryCluster) => cluster.api.find(jobs, 'default/pi')!;
const running = (cluster: MemoryCluster) =>
  cluster.api
    .all(pods)
    .filter(
      ({ status, metadata }) => !['Succeeded', 'Failed'].includes(status?.phase ?? '') && !metadata.deletionTimestamp,
    );
const conditions = (cluster: MemoryCluster) =>
  (live(cluster).status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);

async function end(
  cluster: MemoryCluster,
  pod: Pod,
  phase: 'Succeeded' | 'Failed',
  exitCode = phase === 'Failed' ? 1 : 0,
): Promise<void> {
  cluster.api.alter(pods, `default/${pod.metadata.name}`, (one) => {
    const finishedAt = new Date(cluster.clock.now()).toISOString();
    const terminated = { exitCode, finishedAt };
    one.status = {
      phase,
      containerStatuses: [
        { name: 'c', image: 'i', imageID: 'i', ready: false, restartCount: 0, state: { terminated } },
      ],
    };
  });
  await cluster.settle();
}

test('runs to completion and tells so in status, conditions and Events', async () => {
  await using cluster = await start();
  const [pod] = running(cluster);
  assert.deepEqual(pod?.metadata.finalizers, ['batch.kubernetes.io/job-tracking']);
  assert.deepEqual([live(cluster).status?.active, live(cluster).status?.startTime !== undefined], [1, true]);
  await end(cluster, pod!, 'Succeeded');
  const { status } = live(cluster);
  assert.deepEqual([status?.active ?? 0, status?.succeeded, status?.failed ?? 0], [0, 1, 0]);
  assert.deepEqual(status?.uncountedTerminatedPods, {});
  assert.ok(status?.completionTime);
  assert.deepEqual(conditions(cluster), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ]);
  assert.deepEqual(cluster.reasons(), ['SuccessfulCreate', 'Completed']);
  assert.deepEqual(cluster.api.all(pods)[0]?.metadata.finalizers ?? [], []);
  assert.deepEqual(cluster.complaints, []);
});

test('keeps the wanted number of Pods running until all completions are reached', async () => {
  await using cluster = await start({ parallelism: 2, completions: 3 });
  assert.equal(running(cluster).length, 2);
  await end(cluster, running(cluster)[0]!, 'Succeeded');
  assert.equal(running(cluster).length, 2);
  await end(cluster, running(cluster)[0]!, 'Succeeded');
  assert.equal(running(cluster).length, 1);
  await end(cluster, running(cluster)[0]!, 'Succeeded');
  assert.equal(live(cluster).status?.succeeded, 3);
  assert.ok(conditions(cluster).includes('Complete=True CompletionsReached'));
});

test('replaces a failed Pod after a growing delay, and fails past the limit', async () => {
  await using cluster = await start({ backoffLimit: 1 });
  await end(cluster, running(cluster)[0]!, 'Failed');
  assert.equal(running(cluster).length, 0);
  await cluster.clock.advance(10_000);
  await cluster.settle();
  assert.equal(running(cluster).length, 1);
  await end(cluster, running(cluster)[0]!, 'Failed');
  assert.deepEqual(conditions(cluster), [
    'FailureTarget=True BackoffLimitExceeded',
    'Failed=True BackoffLimitExceeded',
  ]);
  assert.equal(live(cluster).status?.failed, 2);
  const last = cluster.events.at(-1);
  assert.deepEqual(
    [last?.type, last?.reason, last?.message],
    ['Warning', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'],
  );
});

test('ends at its deadline and deletes what still runs', async () => {
  await using cluster = await start({ activeDeadlineSeconds: 30 });
  assert.equal(running(cluster).length, 1);
  await cluster.clock.advance(31_000);
  await cluster.settle();
  assert.equal(running(cluster).length, 0);
  assert.deepEqual(conditions(cluster), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded']);
  assert.equal(live(cluster).status?.failed, 1);
});

test('an Indexed Job gives each Pod its index by annotation, label, environment and hostname', async () => {
  await using cluster = await start({ completionMode: 'Indexed', completions: 3, parallelism: 2 });
  const indexes = () =>
    running(cluster).map(({ metadata }) => metadata.annotations?.['batch.kubernetes.io/job-completion-index']);
  assert.deepEqual(indexes(), ['0', '1']);
  const [first] = running(cluster);
  assert.match(first?.metadata.name ?? '', /^pi-0-/);
  assert.equal(first?.spec.hostname, 'pi-0');
  assert.equal(first?.spec.containers[0]?.env?.[0]?.name, 'JOB_COMPLETION_INDEX');
  await end(cluster, first!, 'Succeeded');
  assert.deepEqual(indexes(), ['1', '2']);
  for (const pod of running(cluster)) await end(cluster, pod, 'Succeeded');
  assert.equal(live(cluster).status?.completedIndexes, '0-2');
  assert.ok(conditions(cluster).includes('Complete=True CompletionsReached'));
});

test('with a limit per index a hopeless index is given up and the others go on', async () => {
  await using cluster = await start({
    completionMode: 'Indexed',
    completions: 2,
    parallelism: 2,
    backoffLimit: 100,
    backoffLimitPerIndex: 1,
  });
  const of = (index: string) =>
    running(cluster).find(
      ({ metadata }) => metadata.annotations?.['batch.kubernetes.io/job-completion-index'] === index,
    );
  await end(cluster, of('0')!, 'Failed');
  await cluster.clock.advance(12_000);
  await cluster.settle();
  assert.equal(of('0')?.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count'], '1');
  await end(cluster, of('0')!, 'Failed');
  assert.equal(live(cluster).status?.failedIndexes, '0');
  await end(cluster, of('1')!, 'Succeeded');
  assert.deepEqual(conditions(cluster), ['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes']);
  assert.equal(live(cluster).status?.completedIndexes, '1');
});

test('a success policy ends the Job early and stops the rest', async () => {
  await using cluster = await start({
    completionMode: 'Indexed',
    completions: 3,
    parallelism: 3,
    successPolicy: { rules: [{ succeededIndexes: '1' }] },
  });
  const second = running(cluster).find(({ spec }) => spec.hostname === 'pi-1');
  await end(cluster, second!, 'Succeeded');
  assert.deepEqual(conditions(cluster), ['SuccessCriteriaMet=True SuccessPolicy', 'Complete=True SuccessPolicy']);
  assert.equal(running(cluster).length, 0);
});

test('a pod failure policy can end the Job or forgive the failure', async () => {
  const onExitCodes = (values: number[]) => ({ operator: 'In' as const, values });
  await using cluster = await start({
    podFailurePolicy: {
      rules: [
        { action: 'Ignore', onExitCodes: onExitCodes([7]) },
        { action: 'FailJob', onExitCodes: onExitCodes([42]) },
      ],
    },
  });
  await end(cluster, running(cluster)[0]!, 'Failed', 7);
  await cluster.clock.advance(12_000);
  await cluster.settle();
  assert.equal(live(cluster).status?.failed ?? 0, 0);
  const [pod] = running(cluster);
  await end(cluster, pod!, 'Failed', 42);
  assert.deepEqual(conditions(cluster), ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy']);
  assert.equal(
    live(cluster).status?.conditions?.[0]?.message,
    `Container c for pod default/${pod?.metadata.name} failed with exit code 42 matching FailJob rule at index 1`,
  );
});

test('suspending deletes the Pods, resuming starts anew', async () => {
  await using cluster = await start({ parallelism: 2, completions: 2 });
  const suspend = async (value: boolean) => {
    const body = { spec: { suspend: value } };
    await cluster.client.patch(jobs, { namespace: 'default', name: 'pi' }, { type: 'merge', body });
    await cluster.settle();
  };
  await suspend(true);
  assert.equal(running(cluster).length, 0);
  assert.deepEqual(conditions(cluster), ['Suspended=True JobSuspended']);
  await suspend(false);
  await cluster.clock.advance(11_000);
  await cluster.settle();
  assert.equal(running(cluster).length, 2);
  assert.deepEqual(conditions(cluster), ['Suspended=False JobResumed']);
  assert.ok(cluster.reasons().includes('Suspended') && cluster.reasons().includes('Resumed'));
});

test('Pods of a Job that is gone lose their finalizer', async () => {
  await using cluster = await start();
  const name = running(cluster)[0]!.metadata.name;
  cluster.api.erase(jobs, 'default/pi');
  await cluster.settle();
  assert.deepEqual(cluster.api.find(pods, `default/${name}`)?.metadata.finalizers ?? [], []);
});

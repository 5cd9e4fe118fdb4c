import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobs } from '../../api/gen/batch-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runTtlAfterFinishedController } from './ttl-after-finished-controller.ts';

test('a finished Job goes when its time is over, one without such a time or not finished stays', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTtlAfterFinishedController);
  const add = async (name: string, ttlSecondsAfterFinished: number | undefined, finished: boolean) => {
    const template = { spec: { containers: [] } };
    await cluster.client.create(jobs, {
      metadata: { namespace: 'a', name },
      spec: { template, ttlSecondsAfterFinished },
    });
    if (!finished) return;
    cluster.api.alter(jobs, `a/${name}`, (job) => {
      job.status = {
        conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: formatTime(cluster.clock.now()) }],
      };
    });
  };
  await add('short', 60, true);
  await add('kept', undefined, true);
  await add('running', 0, false);
  await cluster.settle();
  const names = () =>
    cluster.api
      .all(jobs)
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ['short', 'kept', 'running']);
  await cluster.clock.advance(60_000);
  assert.deepEqual(names(), ['kept', 'running']);
});

/** A Job that has failed just now. */
async function failed(cluster: MemoryCluster, ttlSecondsAfterFinished: number): Promise<void> {
  await cluster.client.create(jobs, {
    metadata: { namespace: 'a', name: 'j' },
    spec: { template: { spec: { containers: [] } }, ttlSecondsAfterFinished },
  });
  cluster.api.alter(jobs, 'a/j', (job) => {
    job.status = {
      conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: formatTime(cluster.clock.now()) }],
    };
  });
  await cluster.settle();
}

test('a failed Job goes as well, its Pods before it', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTtlAfterFinishedController);
  await failed(cluster, 0);
  const { method, body } = cluster.api.writes.at(-1)!;
  const { propagationPolicy } = body as { propagationPolicy: string };
  assert.deepEqual([method, propagationPolicy], ['DELETE', 'Foreground']);
});

test('a life that is lengthened in time is respected', async () => {
  await using cluster = new MemoryCluster();
  cluster.run(runTtlAfterFinishedController);
  await failed(cluster, 60);
  await cluster.clock.advance(30_000);
  const body = { spec: { ttlSecondsAfterFinished: 600 } };
  await cluster.client.patch(jobs, { namespace: 'a', name: 'j' }, { type: 'merge', body });
  await cluster.clock.advance(60_000);
  assert.equal(cluster.api.find(jobs, 'a/j')?.metadata.deletionTimestamp, undefined);
});

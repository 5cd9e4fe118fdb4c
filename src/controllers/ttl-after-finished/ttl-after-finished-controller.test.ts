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

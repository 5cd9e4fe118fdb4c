import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { QueueStatistics } from './queue-statistics.ts';
import { workQueue } from './work-queue.ts';

function opened(name = 'deployment') {
  const clock = new FakeClock();
  const statistics = new QueueStatistics();
  const queue = workQueue({ clock, counts: statistics.of(name) });
  const figure = (series: string) => {
    const line = statistics
      .families(clock.monotonic())
      .split('\n')
      .find((text) => text.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };
  return { clock, statistics, queue, figure };
}

test('a key is counted when it is added, taken and done', async () => {
  const { clock, queue, figure } = opened();
  queue.add('a');
  queue.add('a');
  queue.add('b');
  assert.equal(figure('workqueue_adds_total{name="deployment"}'), 2);
  assert.equal(figure('workqueue_depth{name="deployment"}'), 2);
  await clock.advance(2000);
  assert.equal(await queue.next(), 'a');
  assert.equal(figure('workqueue_depth{name="deployment"}'), 1);
  assert.equal(figure('workqueue_queue_duration_seconds_sum{name="deployment"}'), 2);
  assert.equal(figure('workqueue_queue_duration_seconds_bucket{name="deployment",le="1"}'), 0);
  assert.equal(figure('workqueue_queue_duration_seconds_bucket{name="deployment",le="10"}'), 1);
  await clock.advance(500);
  assert.equal(await queue.next(), 'b');
  await clock.advance(3000);
  assert.equal(figure('workqueue_unfinished_work_seconds{name="deployment"}'), 6.5);
  assert.equal(figure('workqueue_longest_running_processor_seconds{name="deployment"}'), 3.5);
  queue.done('a');
  assert.equal(figure('workqueue_work_duration_seconds_sum{name="deployment"}'), 3.5);
  assert.equal(figure('workqueue_unfinished_work_seconds{name="deployment"}'), 3);
});

test('a key added while it is worked on waits from then on', async () => {
  const { clock, queue, figure } = opened();
  queue.add('a');
  await queue.next();
  queue.add('a');
  queue.add('a');
  assert.equal(figure('workqueue_adds_total{name="deployment"}'), 2);
  assert.equal(figure('workqueue_depth{name="deployment"}'), 1);
  await clock.advance(4000);
  queue.done('a');
  await queue.next();
  assert.equal(figure('workqueue_queue_duration_seconds_sum{name="deployment"}'), 4);
  assert.equal(figure('workqueue_queue_duration_seconds_count{name="deployment"}'), 2);
});

test('what comes later is a retry; queues of one name are one, and one that is shut down is no longer there', () => {
  const { clock, statistics, queue, figure } = opened();
  const other = workQueue({ clock, counts: statistics.of('deployment') });
  queue.addRateLimited('a');
  other.addAfter('b', 10);
  other.add('c');
  assert.equal(figure('workqueue_retries_total{name="deployment"}'), 2);
  assert.equal(figure('workqueue_depth{name="deployment"}'), 1);
  other.shutDown();
  assert.equal(figure('workqueue_depth{name="deployment"}'), 0);
  assert.equal(figure('workqueue_adds_total{name="deployment"}'), 1);
});

test('the limits are printed as upstream prints them', async () => {
  const { queue, statistics } = opened('job');
  queue.add('a');
  await queue.next();
  const limits = [...statistics.families(0).matchAll(/queue_duration_seconds_bucket\{name="job",le="([^"]+)"/g)];
  const texts = [
    '1e-08',
    '1e-07',
    '1e-06',
    '9.999999999999999e-06',
    '9.999999999999999e-05',
    '0.001',
    '0.01',
    '0.1',
    '1',
    '10',
  ];
  assert.deepEqual(
    limits.map(([, limit]) => limit),
    [...texts, '+Inf'],
  );
});

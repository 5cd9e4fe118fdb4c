import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CronJob, type CronJobSpec, cronJobs, jobs } from '../../api/gen/batch-v1.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { MemoryCluster } from '../common/memory-cluster.fixture.ts';
import { runCronJobController } from './cronjob-controller.ts';
import { parseSchedule } from './schedule.ts';

const fires: readonly {
  readonly schedule: string;
  readonly zone?: string;
  readonly after: string;
  readonly next: string;
}[] = [
  { schedule: '* * * * *', after: '2026-01-01T00:00:30Z', next: '2026-01-01T00:01:00Z' },
  { schedule: '*/15 * * * *', after: '2026-01-01T00:15:00Z', next: '2026-01-01T00:30:00Z' },
  { schedule: '0 9-17/4 * * mon-fri', after: '2026-01-02T17:30:00Z', next: '2026-01-05T09:00:00Z' },
  { schedule: '0 0 29 2 *', after: '2026-01-01T00:00:00Z', next: '2028-02-29T00:00:00Z' },
  { schedule: '0 0 13 * 5', after: '2026-01-01T00:00:00Z', next: '2026-01-02T00:00:00Z' },
  { schedule: '@monthly', after: '2026-01-31T12:00:00Z', next: '2026-02-01T00:00:00Z' },
  { schedule: '@every 90s', after: '2026-01-01T00:00:10Z', next: '2026-01-01T00:01:40Z' },
  { schedule: '0 9 * * *', zone: 'Europe/Berlin', after: '2026-07-01T00:00:00Z', next: '2026-07-01T07:00:00Z' },
  { schedule: 'TZ=America/New_York 0 9 * * *', after: '2026-01-01T00:00:00Z', next: '2026-01-01T14:00:00Z' },
  // Clocks jump from 02:00 to 03:00 on 29 March: half past two does not happen.
  { schedule: '30 2 * * *', zone: 'Europe/Berlin', after: '2026-03-28T12:00:00Z', next: '2026-03-30T00:30:00Z' },
  { schedule: '5/20 * * * *', after: '2026-01-01T00:26:00Z', next: '2026-01-01T00:45:00Z' },
];

for (const { schedule, zone, after, next } of fires) {
  test(`${schedule} ${zone ?? ''} fires after ${after} at ${next}`, () => {
    assert.equal(formatTime(parseSchedule(schedule, zone).next(Date.parse(after)) ?? 0), next);
  });
}

test('a day that never comes has no next start', () => {
  assert.equal(parseSchedule('0 0 31 2 *').next(0), undefined);
});

for (const bad of ['', '* * * *', '61 * * * *', '*/0 * * * *', 'x * * * *', '5-1 * * * *', '@never']) {
  test(`${JSON.stringify(bad)} is refused`, () => {
    assert.throws(() => parseSchedule(bad), Error);
  });
}

const nightly = (spec: Partial<CronJobSpec> = {}): CronJob => ({
  metadata: { namespace: 'default', name: 'nightly' },
  spec: {
    schedule: '*/5 * * * *',
    concurrencyPolicy: 'Allow',
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
    jobTemplate: { metadata: { labels: { a: 'b' } }, spec: { template: { spec: { containers: [] } } } },
    ...spec,
  },
});

async function start(spec: Partial<CronJobSpec> = {}): Promise<MemoryCluster> {
  const cluster = new MemoryCluster();
  cluster.run(runCronJobController);
  await cluster.client.create(cronJobs, nightly(spec));
  await cluster.settle();
  return cluster;
}

const minutes = (cluster: MemoryCluster, count: number) => cluster.clock.advance(count * 60_000);
const names = (cluster: MemoryCluster) => cluster.api.all(jobs).map(({ metadata }) => metadata.name);
const status = (cluster: MemoryCluster) => cluster.api.find(cronJobs, 'default/nightly')?.status;

async function finish(cluster: MemoryCluster, name: string, type: 'Complete' | 'Failed'): Promise<void> {
  cluster.api.alter(jobs, `default/${name}`, (job) => {
    const completionTime = formatTime(cluster.clock.now());
    job.status = { startTime: completionTime, completionTime, conditions: [{ type, status: 'True' }] };
  });
  await cluster.settle();
}

test('starts a Job at each due time, named after it, owned and noted', async () => {
  await using cluster = await start();
  assert.deepEqual(names(cluster), []);
  await minutes(cluster, 5);
  const minute = Math.floor(Date.UTC(2026, 0, 1, 0, 5) / 60_000);
  assert.deepEqual(names(cluster), [`nightly-${minute}`]);
  const [job] = cluster.api.all(jobs);
  assert.deepEqual(job?.metadata.annotations, {
    'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:05:00Z',
  });
  assert.deepEqual(job?.metadata.labels, { a: 'b' });
  assert.equal(job?.metadata.ownerReferences?.[0]?.kind, 'CronJob');
  assert.deepEqual([status(cluster)?.lastScheduleTime, status(cluster)?.active?.length], ['2026-01-01T00:05:00Z', 1]);
  await finish(cluster, `nightly-${minute}`, 'Complete');
  assert.deepEqual(status(cluster)?.active ?? [], []);
  assert.ok(status(cluster)?.lastSuccessfulTime);
  assert.deepEqual(cluster.reasons(), ['SuccessfulCreate', 'SawCompletedJob']);
  await minutes(cluster, 5);
  assert.equal(names(cluster).length, 2);
  assert.deepEqual(cluster.complaints, []);
});

test('Forbid does not start while one runs, Replace ends the one that does', async () => {
  await using forbid = await start({ concurrencyPolicy: 'Forbid' });
  await minutes(forbid, 11);
  assert.equal(names(forbid).length, 1);
  assert.ok(forbid.reasons().includes('JobAlreadyActive'));
  await using replace = await start({ concurrencyPolicy: 'Replace' });
  await minutes(replace, 5);
  const [first] = names(replace);
  await minutes(replace, 6);
  assert.equal(names(replace).length, 1);
  assert.notEqual(names(replace)[0], first);
});

test('a suspended CronJob starts nothing', async () => {
  await using cluster = await start({ suspend: true });
  await minutes(cluster, 30);
  assert.deepEqual(names(cluster), []);
});

test('only the newest finished Jobs are kept', async () => {
  await using cluster = await start({ successfulJobsHistoryLimit: 1 });
  for (let run = 0; run < 3; run++) {
    await minutes(cluster, 5);
    for (const name of names(cluster)) {
      if (!cluster.api.find(jobs, `default/${name}`)?.status?.conditions) await finish(cluster, name ?? '', 'Complete');
    }
  }
  assert.equal(names(cluster).length, 1);
});

test('a schedule or a zone that cannot be understood is told in an Event', async () => {
  await using cluster = await start({ schedule: 'often' });
  assert.deepEqual(cluster.reasons(), ['UnparseableSchedule']);
  await using zone = await start({ timeZone: 'Mars/Olympus' });
  assert.deepEqual(zone.reasons(), ['UnknownTimeZone']);
});

test('of many missed starts the last one is made, once', async () => {
  await using cluster = new MemoryCluster();
  await cluster.client.create(cronJobs, nightly());
  await cluster.clock.advance(24 * 3_600_000 + 60_000);
  cluster.run(runCronJobController);
  await cluster.settle();
  assert.deepEqual(names(cluster), [`nightly-${Math.floor(Date.UTC(2026, 0, 2) / 60_000)}`]);
  assert.ok(cluster.reasons().includes('TooManyMissedTimes'));
});

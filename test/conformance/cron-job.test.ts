/** CronJobs that run every minute, in a cluster whose minutes last two seconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CronJob, type CronJobSpec, cronJobs, jobs } from '../../src/api/gen/batch-v1.ts';
import { pods } from '../../src/api/gen/core-v1.ts';
import { follow, startCluster, when, whenAll } from './cluster.ts';
import { fastClock } from './fast-clock.ts';
import { startNode } from './nodes.ts';
import { referenceTo } from './operations.ts';
import { image } from './workloads.ts';

const clock = fastClock(30);
const cluster = await startCluster({ clock });
const { client, namespace: makeNamespace } = cluster;
await startNode(cluster, 'node-1', { clock });

/** Its Jobs take five minutes. */
function everyMinute(namespace: string, spec: Partial<CronJobSpec>): CronJob {
  const containers = [{ name: 'c', image, command: ['sleep', '300'] }];
  const pod = { restartPolicy: 'OnFailure', terminationGracePeriodSeconds: 1, containers } as const;
  const jobTemplate = { spec: { parallelism: 1, completions: 1, template: { spec: pod } } };
  return { metadata: { namespace, name: 'every-minute' }, spec: { schedule: '*/1 * * * ?', jobTemplate, ...spec } };
}

const whenActive = (made: CronJob, count: number) =>
  when(client, cronJobs, referenceTo(made), (object) => (object?.status?.active?.length ?? 0) >= count);

/** Two times at which a Job would start. */
const twoMinutes = () => new Promise<void>((resolve) => void clock.after(130_000, resolve));

test('[sig-apps] CronJob should schedule multiple jobs concurrently [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(cronJobs, everyMinute(namespace, { concurrencyPolicy: 'Allow' }));
  await whenActive(made, 2);
  const all = await whenAll(client, jobs, { namespace }, (present) => present.length >= 2);
  for (const job of all.slice(0, 2)) assert.equal(job.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
  await whenAll(client, pods, { namespace }, (present) => present.length >= 2);
});

test('[sig-apps] CronJob should not schedule jobs when suspended [Slow] [Conformance]', async () => {
  const namespace = await makeNamespace();
  await client.create(cronJobs, everyMinute(namespace, { suspend: true }));
  await twoMinutes();
  assert.deepEqual((await client.list(jobs, { namespace })).items, []);
});

test('[sig-apps] CronJob should not schedule new jobs when ForbidConcurrent [Slow] [Conformance]', async () => {
  const namespace = await makeNamespace();
  const made = await client.create(cronJobs, everyMinute(namespace, { concurrencyPolicy: 'Forbid' }));
  const active = await whenActive(made, 1);
  assert.equal(active?.status?.active?.length, 1);
  await twoMinutes();
  const { items } = await client.list(jobs, { namespace });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.uid),
    active?.status?.active?.map(({ uid }) => uid),
  );
});

test('[sig-apps] CronJob should replace jobs when ReplaceConcurrent [Conformance]', async () => {
  const namespace = await makeNamespace();
  using changes = await follow(client, jobs, { namespace });
  await client.create(cronJobs, everyMinute(namespace, { concurrencyPolicy: 'Replace' }));
  const first = await changes.until(({ type }) => type === 'ADDED');
  const gone = await changes.until(
    ({ type, object }) => type === 'DELETED' || object.metadata.deletionTimestamp !== undefined,
  );
  assert.equal(gone.object.metadata.uid, first.object.metadata.uid);
  const [job] = await whenAll(
    client,
    jobs,
    { namespace },
    (all) => all.length === 1 && all[0]?.metadata.uid !== first.object.metadata.uid,
  );
  assert.equal(job?.metadata.deletionTimestamp, undefined);
});
